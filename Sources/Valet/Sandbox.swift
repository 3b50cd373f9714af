// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel

/// The items that a valet reads and writes.
struct Sandbox: Hashable, Sendable {
    let service: String
    /// nil for every group of the application when reading, for its default one when writing.
    let accessGroup: AccessGroup?
    let isSynchronizable: Bool
    let protectionClass: ProtectionClass

    /// A search for all items of the sandbox.
    var query: ItemQuery {
        var query = ItemQuery(
            .genericPassword, attributes: [.service: .text(service)], accessGroup: accessGroup,
            synchronizable: isSynchronizable ? .synchronizedOnly : .localOnly)
        query.protectionClass = protectionClass
        return query
    }

    /// The item in which the value of `key` is kept.
    func item(_ key: String) -> NewItem {
        NewItem(
            .genericPassword, attributes: [.account: .text(key), .service: .text(service)],
            accessGroup: accessGroup, isSynchronizable: isSynchronizable,
            protectionClass: protectionClass)
    }
}
