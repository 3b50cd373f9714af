// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import ValetKeychainModel

extension KeychainSwift {
    /// The methods of ``KeychainSwift``, as they throw what goes wrong.
    ///
    /// A failure says what was being done, where, what the system said and what helps. What is not
    /// there is `itemNotFound`.
    public struct Throwing: Sendable {
        let keyPrefix: String
        let accessGroup: String?
        let synchronizable: Bool
        let keychain: any PasswordKeychain

        /// Stores the UTF-8 of `value` under `key`, in place of what was there.
        ///
        /// - Parameter access: When it may be read; nil for when the keychain is unlocked.
        /// - Throws: ``KeychainFailure``: `missingEntitlement` for a group that is not the
        ///   application's, `locked`, `passcodeNotSet`, `valueTooLarge`, and what keeps the
        ///   keychain from working. What was there is as it was then.
        public func set(
            _ value: String, forKey key: String,
            withAccess access: KeychainSwiftAccessOptions? = nil
        ) throws(KeychainFailure) {
            try set(Data(value.utf8), forKey: key, withAccess: access)
        }

        /// Stores `value` under `key`, in place of what was there.
        ///
        /// - Parameter access: When it may be read; nil for when the keychain is unlocked.
        /// - Throws: As for text.
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

        /// Stores `value` under `key` as one byte, 1 or 0, in place of what was there.
        ///
        /// - Parameter access: When it may be read; nil for when the keychain is unlocked.
        /// - Throws: As for text.
        public func set(
            _ value: Bool, forKey key: String,
            withAccess access: KeychainSwiftAccessOptions? = nil
        ) throws(KeychainFailure) {
            try set(Data([value ? 1 : 0]), forKey: key, withAccess: access)
        }

        /// The text that is stored under `key`.
        ///
        /// - Throws: ``KeychainFailure``: `itemNotFound`, `invalidEncoding` if it is not UTF-8,
        ///   `locked`, `damaged`, `missingEntitlement`, and what keeps the keychain from working.
        public func get(_ key: String) throws(KeychainFailure) -> String {
            try Self.text(getData(key))
        }

        /// The bytes that are stored under `key`, or the item's persistent reference.
        ///
        /// - Throws: As ``get(_:)``, but for `invalidEncoding`.
        public func getData(
            _ key: String, asReference: Bool = false
        ) throws(KeychainFailure) -> Data {
            // Two programs may use the account: our own items come first.
            var own = query(key)
            own.attributes[.service] = .text("")
            do throws(KeychainFailure) {
                return try read(own, asReference: asReference)
            } catch {
                guard error.code == .itemNotFound else { throw error }
                return try read(query(key), asReference: asReference)
            }
        }

        /// The Boolean that is stored under `key`: whether its first byte is 1.
        ///
        /// - Throws: As ``get(_:)``; `invalidEncoding` if the value is empty.
        public func getBool(_ key: String) throws(KeychainFailure) -> Bool {
            try Self.bool(getData(key))
        }

        /// Deletes what is stored under `key`.
        ///
        /// - Throws: ``KeychainFailure``: `itemNotFound` if nothing is, `missingEntitlement`, and
        ///   what keeps the keychain from working.
        public func delete(_ key: String) throws(KeychainFailure) {
            try keychain.delete(query(key))
        }

        /// All keys as they are stored, with the prefix, each once and sorted; none if there are
        /// none. The cost grows with the number of items.
        ///
        /// - Throws: ``KeychainFailure``: `locked`, `damaged`, `missingEntitlement`, and what keeps
        ///   the keychain from working.
        public func allKeys() throws(KeychainFailure) -> [String] {
            do throws(KeychainFailure) {
                return try Set(keychain.accounts(query(nil))).sorted()
            } catch {
                guard error.code == .itemNotFound else { throw error }
                return []
            }
        }

        /// Deletes every generic password in the group, or in those of the application, whatever
        /// its prefix and service. On Linux more than 1,000 go in batches: an error or a crash may
        /// leave some, which another call deletes.
        ///
        /// - Throws: As ``delete(_:)``.
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

        /// A search for the items of `key`; for nil, for all.
        private func query(_ key: String?) -> ItemQuery {
            ItemQuery(
                .genericPassword,
                attributes: key.map { [.account: .text(keyPrefix + $0)] } ?? [:],
                accessGroup: accessGroup.map(AccessGroup.init),
                synchronizable: synchronizable ? .any : .localOnly)
        }
    }
}
