// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import ValetKeychainModel

// The methods of `KeychainSwift` that throw. The methods with result codes call them.

extension KeychainSwift {
    /// The methods of ``KeychainSwift`` in a form that throws.
    ///
    /// A failure names the operation, the path, the system's error and a remedy. If nothing is
    /// stored under a key, it is `itemNotFound`.
    public struct Throwing: Sendable {
        let keyPrefix: String
        let accessGroup: String?
        let synchronizable: Bool
        let keychain: any PasswordKeychain

        /// Stores the UTF-8 of `value` under `key` and replaces what was stored there.
        ///
        /// - Parameter access: When it may be read; nil means while the keychain is unlocked.
        /// - Throws: ``KeychainFailure``: `missingEntitlement` for a group that is not the
        ///   application's, `locked`, `passcodeNotSet`, `valueTooLarge`, and every failure of the
        ///   keychain itself. The old value is unchanged then.
        public func set(
            _ value: String, forKey key: String,
            withAccess access: KeychainSwiftAccessOptions? = nil
        ) throws(KeychainFailure) {
            try set(Data(value.utf8), forKey: key, withAccess: access)
        }

        /// Stores `value` under `key` and replaces what was stored there.
        ///
        /// - Parameter access: When it may be read; nil means while the keychain is unlocked.
        /// - Throws: The failures of `set` for text.
        public func set(
            _ value: Data, forKey key: String,
            withAccess access: KeychainSwiftAccessOptions? = nil
        ) throws(KeychainFailure) {
            var query = query(key)
            query.attributes[.service] = .text("")
            let item = NewItem(
                .genericPassword, attributes: [.account: .text(keyPrefix + key)],
                accessGroup: query.accessGroup, isSynchronizable: synchronizable,
                protectionClass: (access ?? .accessibleWhenUnlocked).protectionClass)
            try keychain.set(item, value: value, replacing: query)
        }

        /// Stores `value` under `key` as one byte, 1 or 0, and replaces what was stored there.
        ///
        /// - Parameter access: When it may be read; nil means while the keychain is unlocked.
        /// - Throws: The failures of `set` for text.
        public func set(
            _ value: Bool, forKey key: String,
            withAccess access: KeychainSwiftAccessOptions? = nil
        ) throws(KeychainFailure) {
            try set(Data([value ? 1 : 0]), forKey: key, withAccess: access)
        }

        /// Returns the text that is stored under `key`.
        ///
        /// - Throws: ``KeychainFailure``: `itemNotFound`, `invalidEncoding` if it is not UTF-8,
        ///   `locked`, `damaged`, `missingEntitlement`, and every failure of the keychain itself.
        public func get(_ key: String) throws(KeychainFailure) -> String {
            try Self.text(getData(key))
        }

        /// Returns the bytes that are stored under `key`; with `asReference`, the persistent
        /// reference of the item.
        ///
        /// - Throws: The failures of ``get(_:)`` except `invalidEncoding`.
        public func getData(
            _ key: String, asReference: Bool = false
        ) throws(KeychainFailure) -> Data {
            // Another program may use the same account with a service: our own items, which have an
            // empty service, come first.
            var own = query(key)
            own.attributes[.service] = .text("")
            do {
                return try read(own, asReference: asReference)
            } catch {
                guard error.code == .itemNotFound else { throw error }
                return try read(query(key), asReference: asReference)
            }
        }

        /// Returns the Boolean that is stored under `key`: whether the first byte is 1.
        ///
        /// - Throws: The failures of ``get(_:)``; `invalidEncoding` only if the value is empty.
        public func getBool(_ key: String) throws(KeychainFailure) -> Bool {
            try Self.bool(getData(key))
        }

        /// Deletes what is stored under `key`.
        ///
        /// - Throws: ``KeychainFailure``: `itemNotFound` if nothing is stored,
        ///   `missingEntitlement`, and every failure of the keychain itself.
        public func delete(_ key: String) throws(KeychainFailure) {
            try keychain.delete(query(key))
        }

        /// Returns all keys as they are stored, with the prefix, each once and sorted; an empty
        /// array if there are none. The cost grows with the number of items. If items are damaged,
        /// returns the other keys, and `KeychainFailure.last` is `damaged`.
        ///
        /// - Throws: ``KeychainFailure``: `locked`, `missingEntitlement`, and every failure of the
        ///   keychain itself; `damaged` if all items are damaged.
        public func allKeys() throws(KeychainFailure) -> [String] {
            do {
                return try Set(keychain.accounts(query(nil)).map { ExactName($0) }).map(\.text)
                    .sorted()
            } catch {
                guard error.code == .itemNotFound else { throw error }
                return []
            }
        }

        /// Deletes every generic password in the access group, or in all groups of the application
        /// if none is set, whatever its prefix and service.
        ///
        /// On Linux more than 1,000 items are deleted in batches. After an error or a crash some
        /// may be left; another call deletes them.
        ///
        /// - Throws: The failures of ``delete(_:)``.
        public func clear() throws(KeychainFailure) {
            try keychain.delete(query(nil))
        }

        /// - Throws: `invalidEncoding`.
        static func text(_ data: Data) throws(KeychainFailure) -> String {
            guard let text = String(utf8: data) else {
                throw KeychainFailure(
                    .invalidEncoding, during: reading, message: "the value is not UTF-8")
            }
            return text
        }

        /// - Throws: `invalidEncoding`.
        static func bool(_ data: Data) throws(KeychainFailure) -> Bool {
            guard let byte = data.first else {
                throw KeychainFailure(
                    .invalidEncoding, during: reading, message: "the value is empty")
            }
            return byte == 1
        }

        private static let reading = "read an item"

        private func read(
            _ query: ItemQuery, asReference: Bool
        ) throws(KeychainFailure) -> Data {
            if asReference { return try keychain.reference(query) }
            guard let value = try keychain.value(query) else {
                throw KeychainFailure(
                    .itemNotFound, during: Self.reading, message: "the item has no value")
            }
            return value
        }

        /// A search for the items of `key`; for all items if it is nil.
        private func query(_ key: String?) -> ItemQuery {
            ItemQuery(
                .genericPassword,
                attributes: key.map { [.account: .text(keyPrefix + $0)] } ?? [:],
                accessGroup: accessGroup.map(AccessGroup.init),
                synchronizable: synchronizable ? .any : .localOnly)
        }
    }
}
