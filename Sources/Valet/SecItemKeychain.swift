// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel
internal import ValetSecItemRequests

/// A keychain that is asked through the SecItem functions: the one of Apple's systems.
struct SecItemKeychain: KeychainBackend {
    let functions: any SecItemFunctions

    /// The keychain behind these functions.
    init(_ functions: any SecItemFunctions = PlatformSecItem()) {
        self.functions = functions
    }

    func set(_ item: NewItem, value: Data) throws(KeychainFailure) {
        try set(item.dictionary, value) {
            functions.update(item.query.dictionary, [SecItemKey.data: value])
        }
    }

    /// Updating would ask the person, so that an item that is there is deleted first: the system
    /// has no call that does both at once.
    func set(
        _ item: NewItem, value: Data, _ authentication: Authentication
    ) throws(KeychainFailure) {
        try set(authentication.added(to: item.dictionary), value) {
            let status = functions.delete(item.query.dictionary)
            return status == 0 ? KeychainFailure.Code.itemNotFound.status : status
        }
    }

    /// Adds an item unless `update` does away with the need, which is told by another status than
    /// "not found".
    private func set(
        _ attributes: [String: Any], _ value: Data, unless update: () -> Int32
    ) throws(KeychainFailure) {
        var attributes = attributes
        attributes[SecItemKey.data] = value
        // Two rounds: another process may add the item in between, or delete it.
        for _ in 0..<2 {
            let status = update()
            guard status == KeychainFailure.Code.itemNotFound.status else {
                return try functions.check(status, "set an item")
            }
            let added = functions.add(attributes).status
            guard added == KeychainFailure.Code.duplicateItem.status else {
                return try functions.check(added, "set an item")
            }
        }
        throw KeychainFailure(.duplicateItem, during: "set an item")
    }

    func value(of name: PasswordName) throws(KeychainFailure) -> Data? {
        try value(name.query.searchDictionary)
    }

    func value(
        of name: PasswordName, _ authentication: Authentication
    ) throws(KeychainFailure) -> Data? {
        try value(authentication.added(to: name.query.searchDictionary))
    }

    private func value(_ query: [String: Any]) throws(KeychainFailure) -> Data? {
        var query = query
        query[SecItemKey.returnData] = true
        return try functions.copy(query, "read an item") as? Data
    }

    func contains(_ name: PasswordName) throws(KeychainFailure) -> Bool {
        try contains(functions.copy(name.query.searchDictionary).status)
    }

    func contains(
        _ name: PasswordName, _ authentication: Authentication
    ) throws(KeychainFailure) -> Bool {
        var query = authentication.added(to: name.query.searchDictionary)
        query[SecItemKey.authenticationUI] = SecItemKey.authenticationUIFail
        let status = functions.copy(query).status
        // A person would be asked for it, so that it is there. A locked device says the same.
        guard status != KeychainFailure.Code.interactionNotAllowed.status else { return true }
        return try contains(status)
    }

    private func contains(_ status: Int32) throws(KeychainFailure) -> Bool {
        guard status != KeychainFailure.Code.itemNotFound.status else { return false }
        try functions.check(status, "look for an item")
        return true
    }

    func accounts(of service: PasswordService) throws(KeychainFailure) -> Set<String> {
        try accounts(service.query.searchDictionary)
    }

    func accounts(
        of service: PasswordService, _ authentication: Authentication
    ) throws(KeychainFailure) -> Set<String> {
        try accounts(authentication.added(to: service.query.searchDictionary))
    }

    private func accounts(_ query: [String: Any]) throws(KeychainFailure) -> Set<String> {
        do {
            let items = try items(matching: query, withValues: false)
            return Set(items.compactMap { $0.account.base as? String })
        } catch  where error.code == .itemNotFound {
            return []
        }
    }

    func copy(_ query: ItemQuery, withValues: Bool) throws(KeychainFailure) -> [FoundItem] {
        try items(matching: query.searchDictionary, withValues: withValues)
    }

    func copy(
        _ query: ItemQuery, _ authentication: Authentication
    ) throws(KeychainFailure) -> [FoundItem] {
        try items(
            matching: authentication.added(to: query.searchDictionary), withValues: true)
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
