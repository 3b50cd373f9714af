// SPDX-License-Identifier: Apache-2.0

public import Foundation
internal import ValetKeychainModel

extension Valet {
    /// Whether the keychain works here, which is tried by reading a canary, and by writing it
    /// when it is not there. The canary is not among ``allKeys()``.
    ///
    /// Valets of one explicitly set identifier share the canary, whatever their accessibilities.
    public func canAccessKeychain() -> Bool {
        let canary = PasswordName(ServiceName.canaryAccount, in: sandbox)
        let value = Data(ServiceName.canaryValue.utf8)
        do throws(KeychainFailure) {
            if let found = try? backend.value(of: canary) { return found == value }
            try backend.set(sandbox.item(canary.account), value: value)
            return try backend.value(of: canary) == value
        } catch {
            return error.code == .duplicateItem && canAccessOtherCanary(canary, value)
        }
    }

    /// Whether the canary works that a valet of another accessibility has stored under this name.
    ///
    /// The keychain reports a duplicate only after it has found the class of this valet's items
    /// open. So a canary that is locked with its own class says nothing against this valet.
    private func canAccessOtherCanary(_ canary: PasswordName, _ value: Data) -> Bool {
        var query = canary.query
        query.protectionClass = nil
        query.limit = nil
        do throws(KeychainFailure) {
            return try backend.copy(query, withValues: true).allSatisfy { $0.value == value }
        } catch {
            return [.locked, .interactionNotAllowed, .itemNotFound].contains(error.code)
        }
    }

    /// Stores `object` under `key`, in place of what was there. On return it is on disk.
    ///
    /// - Throws: `emptyKey`, `emptyValue`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func setObject(_ object: Data, forKey key: String) throws(KeychainError) {
        try check(key)
        guard !object.isEmpty else { throw .emptyValue }
        do {
            try backend.set(sandbox.item(key), value: object)
        } catch {
            throw KeychainError(error)
        }
    }

    /// The bytes that are stored under `key`.
    ///
    /// - Throws: `emptyKey`, `itemNotFound`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func object(forKey key: String) throws(KeychainError) -> Data {
        try check(key)
        do throws(KeychainFailure) {
            guard let value = try backend.value(of: PasswordName(key, in: sandbox)) else {
                throw KeychainFailure(.itemNotFound, during: "read an item")
            }
            return value
        } catch {
            keep(error, missing: key)
            throw KeychainError(error)
        }
    }

    /// Whether something is stored under `key`; does not read it.
    ///
    /// - Throws: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func containsObject(forKey key: String) throws(KeychainError) -> Bool {
        try check(key)
        do {
            return try backend.contains(PasswordName(key, in: sandbox))
        } catch {
            throw KeychainError(error)
        }
    }

    /// Stores the UTF-8 of `string` under `key`, in place of what was there.
    ///
    /// - Throws: `emptyKey`, `emptyValue`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func setString(_ string: String, forKey key: String) throws(KeychainError) {
        try setObject(Data(string.utf8), forKey: key)
    }

    /// The text that is stored under `key`.
    ///
    /// - Throws: `itemNotFound` also when the bytes stored are not UTF-8; `emptyKey`,
    ///   `missingEntitlement`, `couldNotAccessKeychain`.
    public func string(forKey key: String) throws(KeychainError) -> String {
        guard let string = String(utf8: try object(forKey: key)) else {
            Platform.keep(
                KeychainFailure(
                    .itemNotFound, during: "read an item", message: "the value is not UTF-8"))
            throw .itemNotFound
        }
        return string
    }

    /// The keys under which something is stored, none if there are none.
    ///
    /// Items whose account is not text, which other software may have stored, are left out. The
    /// cost grows with the number of keys.
    ///
    /// - Throws: `missingEntitlement`, `couldNotAccessKeychain`.
    public func allKeys() throws(KeychainError) -> Set<String> {
        do {
            var keys = try backend.accounts(of: sandbox)
            keys.remove(ServiceName.canaryAccount)
            return keys
        } catch {
            throw KeychainError(error)
        }
    }

    /// Removes what is stored under `key`, if anything is.
    ///
    /// - Throws: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func removeObject(forKey key: String) throws(KeychainError) {
        try check(key)
        try remove(PasswordName(key, in: sandbox).query)
    }

    /// Removes everything that is stored, the canary of ``canAccessKeychain()`` included.
    ///
    /// On Linux more than 1,000 objects are removed in batches, so that other programs can write
    /// meanwhile: an error or a crash may leave some, which another call removes.
    /// - Throws: `missingEntitlement`, `couldNotAccessKeychain`.
    public func removeAllObjects() throws(KeychainError) {
        try remove(query)
    }

    private func remove(_ query: ItemQuery) throws(KeychainError) {
        do {
            try backend.delete(query)
        } catch  where error.code == .itemNotFound {
            return
        } catch {
            throw KeychainError(error)
        }
    }

    private func check(_ key: String) throws(KeychainError) {
        guard !key.isEmpty else { throw .emptyKey }
    }
}
