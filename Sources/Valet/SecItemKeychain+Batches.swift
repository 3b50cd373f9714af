// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetSecItemRequests

extension SecItemKeychain {
    /// Sets all items. The system has no transactions, so that what was set is set back when a
    /// later one fails; what cannot be set back stays.
    func set(_ items: [(item: NewItem, value: Data)]) throws(KeychainFailure) {
        var done: [(item: NewItem, before: Data?)] = []
        do throws(KeychainFailure) {
            for (item, value) in items {
                let before = try self.value(matching: item.query)
                try set(item, value: value)
                done.append((item, before))
            }
        } catch {
            for (item, before) in done.reversed() { setBack(item, to: before) }
            throw error
        }
    }

    func values(
        of accounts: Set<String>, in service: PasswordService
    ) throws(KeychainFailure) -> [String: Data] {
        var values: [String: Data] = [:]
        for account in accounts {
            values[account] = try value(matching: PasswordName(account, in: service).query)
        }
        return values
    }

    private func value(matching query: ItemQuery) throws(KeychainFailure) -> Data? {
        var query = query
        query.limit = 1
        var dictionary = query.searchDictionary
        dictionary[SecItemKey.returnData] = true
        do throws(KeychainFailure) {
            return try functions.copy(dictionary, "read an item") as? Data
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return nil
        }
    }

    private func setBack(_ item: NewItem, to value: Data?) {
        if let value {
            try? set(item, value: value)
        } else {
            try? delete(item.query)
        }
    }
}
