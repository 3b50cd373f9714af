// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetAppleKeychainRequests
internal import ValetKeychainModel

/// The keychain behind `KeychainSwift` on Apple's systems: SecItem dictionaries.
///
/// On macOS the dictionaries do not choose between its two keychains, so that items of older
/// versions of an application are found.
struct SecItemPasswords: PasswordKeychain {
    let functions: any SecItemFunctions

    init(_ functions: any SecItemFunctions = PlatformSecItem()) {
        self.functions = functions
    }

    func set(
        _ item: NewItem, value: Data, replacing query: ItemQuery
    ) throws(KeychainFailure) {
        // Several attempts: another process may add or delete the item in between.
        for _ in 0..<4 {
            var found = try own(query)
            let alike = found.firstIndex { $0.isSynchronizable == item.isSynchronizable }
            guard let chosen = alike ?? found.indices.first else {
                if try add(item, value) { return }
                continue
            }
            guard try update(found.remove(at: chosen), item, value) else { continue }
            // The new value is stored: now the other items can be deleted.
            for other in found {
                let status = functions.delete(other.query)
                guard status != KeychainFailure.Code.itemNotFound.status else { continue }
                try functions.check(status, Self.setting)
            }
            return
        }
        throw KeychainFailure(.duplicateItem, during: Self.setting)
    }

    func value(_ query: ItemQuery) throws(KeychainFailure) -> Data? {
        var dictionary = Self.first(query)
        dictionary[SecItemKey.returnData] = true
        return try functions.copy(dictionary, Self.reading) as? Data
    }

    func reference(_ query: ItemQuery) throws(KeychainFailure) -> Data {
        var dictionary = Self.first(query)
        dictionary[SecItemKey.returnPersistentReference] = true
        guard let data = try functions.copy(dictionary, Self.reading) as? Data else {
            throw KeychainFailure(.internalFault, during: Self.reading)
        }
        return data
    }

    func accounts(_ query: ItemQuery) throws(KeychainFailure) -> [String] {
        try attributes(query)
            .compactMap { $0[Attribute.account.rawValue] as? String }
    }

    func delete(_ query: ItemQuery) throws(KeychainFailure) {
        try functions.check(
            functions.delete(Self.plain(query.dictionary)), "delete items")
    }

    private static let setting = "set an item"
    private static let reading = "read an item"

    private static func plain(_ dictionary: [String: Any]) -> [String: Any] {
        dictionary.filter { $0.key != SecItemKey.usesDataProtectionKeychain }
    }

    private static func first(_ query: ItemQuery) -> [String: Any] {
        var query = query
        query.limit = 1
        return plain(query.searchDictionary)
    }

    private struct OwnItem {
        let reference: Data
        let isSynchronizable: Bool

        var query: [String: Any] {
            [
                SecItemKey.itemClass: ItemClass.genericPassword.code,
                SecItemKey.persistentReference: reference,
            ]
        }
    }

    /// The items of `query` with an empty service. Filters the result itself, because file-based
    /// keychains cannot search for an empty service.
    private func own(_ query: ItemQuery) throws(KeychainFailure) -> [OwnItem] {
        var query = query
        query.attributes[.service] = nil
        do {
            return try attributes(query)
                .filter { ($0[Attribute.service.rawValue] as? String ?? "").isEmpty }
                .compactMap { item in
                    guard let reference = item[SecItemKey.persistentReference] as? Data else {
                        return nil
                    }
                    let flag = item[Attribute.synchronizable.rawValue] as? NSNumber
                    return OwnItem(
                        reference: reference, isSynchronizable: flag?.boolValue ?? false)
                }
        } catch {
            // A new item replaces a damaged one.
            guard error.code == .itemNotFound || error.code == .damaged else { throw error }
            return []
        }
    }

    private func attributes(
        _ query: ItemQuery
    ) throws(KeychainFailure) -> [[String: Any]] {
        var dictionary = Self.plain(query.searchDictionary)
        dictionary[SecItemKey.returnAttributes] = true
        dictionary[SecItemKey.returnPersistentReference] = true
        let result = try functions.copy(dictionary, "read items")
        guard let found = result as? [[String: Any]] else {
            throw KeychainFailure(.internalFault, during: "read items")
        }
        return found
    }

    /// - Returns: false if another process added the item first.
    private func add(_ item: NewItem, _ value: Data) throws(KeychainFailure) -> Bool {
        var attributes = Self.plain(item.dictionary)
        attributes[SecItemKey.data] = value
        let status = functions.add(attributes).status
        guard status != KeychainFailure.Code.duplicateItem.status else { return false }
        try functions.check(status, Self.setting)
        return true
    }

    /// - Returns: false if the item no longer exists, or another item has its new name.
    private func update(
        _ target: OwnItem, _ item: NewItem, _ value: Data
    ) throws(KeychainFailure) -> Bool {
        var changes: [String: Any] = [
            SecItemKey.data: value, Attribute.accessible.rawValue: item.protectionClass.code,
        ]
        if item.isSynchronizable, !target.isSynchronizable {
            changes[Attribute.synchronizable.rawValue] = true
        }
        let status = functions.update(target.query, changes)
        let outdated: [KeychainFailure.Code] = [.itemNotFound, .duplicateItem]
        guard !outdated.contains(where: { $0.status == status }) else { return false }
        try functions.check(status, Self.setting)
        return true
    }
}
