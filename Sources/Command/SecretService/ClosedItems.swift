// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing

/// The items of a collection that is closed to a program: they look locked or absent to it.
struct ClosedItems: UnchangedItems {
    let items: any SecretItems
    let isHidden: Bool

    func isLocked() throws(KeychainFailure) -> Bool { true }

    func ids(having attributes: [LookupName: String]?) throws(KeychainFailure) -> [String] {
        isHidden ? [] : try items.ids(having: attributes)
    }

    func exists(_ id: String) throws(KeychainFailure) -> Bool {
        isHidden ? false : try items.exists(id)
    }

    func record(of id: String) throws(KeychainFailure) -> SecretRecord? { throw Self.closed }

    func secret(
        of id: String
    ) throws(KeychainFailure) -> (value: SecretValue, contentType: String)? {
        throw Self.closed
    }

    var refusal: KeychainFailure { Self.closed }

    static let closed = KeychainFailure(
        .locked, during: "use a collection", message: "your policy does not let this program use it"
    )
}
