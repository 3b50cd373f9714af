// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSecItem

struct StorePasswords: PasswordKeychain {
    func set(
        _ item: NewItem, value: Data, replacing query: ItemQuery
    ) throws(KeychainFailure) {
        try KeychainSession.current().replace(
            query, with: item, value: .copy(of: value))
    }

    func value(_ query: ItemQuery) throws(KeychainFailure) -> Data? {
        try KeychainSession.current().value(of: query).map(\.data)
    }

    func reference(_ query: ItemQuery) throws(KeychainFailure) -> Data {
        var query = query
        query.limit = 1
        let found = try KeychainSession.current().copy(query, [])
        guard let item = try found.itemsUnlessDamaged().first else {
            throw KeychainFailure(.itemNotFound, during: "read an item")
        }
        return Data(item.reference.bytes)
    }

    func accounts(_ query: ItemQuery) throws(KeychainFailure) -> [String] {
        let found = try KeychainSession.current().copy(query, .attributes)
        return found.itemsReportingDamage().compactMap { $0.attributes[.account]?.text }
    }

    func delete(_ query: ItemQuery) throws(KeychainFailure) {
        try KeychainSession.current().delete(query)
    }
}
