// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import KeychainModel
internal import SecItemRequests

/// A keychain that is asked through the SecItem functions: the one of Apple's systems.
struct SecItemKeychain: KeychainBackend {
    let functions: any SecItemFunctions

    /// The keychain behind these functions.
    init(_ functions: any SecItemFunctions = PlatformSecItem()) {
        self.functions = functions
    }

    func set(_ item: NewItem, value: Data) throws(KeychainFailure) {
        // Two rounds: another process may add the item in between, or delete it.
        for _ in 0..<2 {
            let status = functions.update(item.query.dictionary, [SecItemKey.data: value])
            guard status == KeychainFailure.Code.itemNotFound.status else {
                return try functions.check(status, "set an item")
            }
            var attributes = item.dictionary
            attributes[SecItemKey.data] = value
            let added = functions.add(attributes).status
            guard added == KeychainFailure.Code.duplicateItem.status else {
                return try functions.check(added, "set an item")
            }
        }
        throw KeychainFailure(.duplicateItem, during: "set an item")
    }

    func value(of name: PasswordName) throws(KeychainFailure) -> Data? {
        var dictionary = name.query.searchDictionary
        dictionary[SecItemKey.returnData] = true
        return try functions.copy(dictionary, "read an item") as? Data
    }

    func contains(_ name: PasswordName) throws(KeychainFailure) -> Bool {
        let status = functions.copy(name.query.searchDictionary).status
        guard status != KeychainFailure.Code.itemNotFound.status else { return false }
        try functions.check(status, "look for an item")
        return true
    }

    func accounts(of service: PasswordService) throws(KeychainFailure) -> Set<String> {
        do {
            let items = try copy(service.query, withValues: false)
            return Set(items.compactMap { $0.account.base as? String })
        } catch  where error.code == .itemNotFound {
            return []
        }
    }

    func copy(_ query: ItemQuery, withValues: Bool) throws(KeychainFailure) -> [FoundItem] {
        try items(matching: query.searchDictionary, withValues: withValues)
    }

    func copy(matching dictionary: [String: Any]) throws(KeychainFailure) -> [FoundItem] {
        var dictionary = dictionary
        if dictionary[SecItemKey.limit] == nil {
            dictionary[SecItemKey.limit] = SecItemKey.limitAll
        }
        return try items(matching: dictionary, withValues: true)
    }

    func delete(_ query: ItemQuery) throws(KeychainFailure) {
        try functions.check(functions.delete(query.dictionary), "delete items")
    }
}
