// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension SinglePromptSecureEnclaveValet {
    /// Whether the keychain works here, as far as that can be tried without asking a person: with
    /// a value that nobody has to be there for. It is not among ``allKeys(userPrompt:)``.
    ///
    /// False for `biometricAny` and `biometricCurrentSet` where nobody has a finger or face
    /// enrolled: on Linux, also in programs that are built without the trait `Fingerprint`.
    public func canAccessKeychain() -> Bool { enclave.canAccessKeychain }

    /// Stores `object` under `key`, in place of what was there; asks nobody. On return it is on
    /// disk.
    ///
    /// - Throws: ``KeychainError``: `emptyKey`, `emptyValue`, `missingEntitlement`,
    ///   `couldNotAccessKeychain`, also while no passcode is set, and for `biometricCurrentSet`
    ///   while no finger is enrolled.
    public func setObject(_ object: Data, forKey key: String) throws {
        try enclave.set(object, key)
    }

    /// The bytes that are stored under `key`. Asks a person, unless one was asked before.
    ///
    /// - Parameter userPrompt: What the person reads: what the value is needed for.
    /// - Throws: ``KeychainError``: `userCancelled` if the person declines, or does not prove who
    ///   they are; `emptyKey`, `itemNotFound`, `missingEntitlement`, `couldNotAccessKeychain`, also
    ///   where nobody can be asked.
    public func object(forKey key: String, withPrompt userPrompt: String) throws -> Data {
        try enclave.object(key, remembered.current.saying(userPrompt))
    }

    /// Whether something is stored under `key`; does not read it, and asks nobody. What a person
    /// proved before does not count.
    ///
    /// - Throws: ``KeychainError``: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func containsObject(forKey key: String) throws -> Bool {
        try enclave.contains(key)
    }

    /// Stores the UTF-8 of `string` under `key`, in place of what was there; asks nobody.
    ///
    /// - Throws: As ``setObject(_:forKey:)``.
    public func setString(_ string: String, forKey key: String) throws {
        try setObject(Data(string.utf8), forKey: key)
    }

    /// The text that is stored under `key`. Asks a person, unless one was asked before.
    ///
    /// - Parameter userPrompt: What the person reads: what the text is needed for.
    /// - Throws: As ``object(forKey:withPrompt:)``; `itemNotFound` also when the bytes stored are
    ///   not UTF-8.
    public func string(forKey key: String, withPrompt userPrompt: String) throws -> String {
        try enclave.string(key, remembered.current.saying(userPrompt))
    }

    /// Has the next read ask a person. A question that is open ends, as if the person had failed.
    public func requirePromptOnNextAccess() {
        remembered.forget()
    }

    /// The keys under which something is stored, none if there are none. Asks a person, unless one
    /// was asked before, or nothing is stored.
    ///
    /// - Parameter userPrompt: What the person reads: what the keys are needed for.
    /// - Throws: ``KeychainError``: `userCancelled`, `missingEntitlement`,
    ///   `couldNotAccessKeychain`.
    public func allKeys(userPrompt: String) throws -> Set<String> {
        try enclave.allKeys(remembered.current.saying(userPrompt))
    }

    /// Removes what is stored under `key`, if anything is; asks nobody.
    ///
    /// - Throws: ``KeychainError``: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func removeObject(forKey key: String) throws {
        try enclave.remove(key)
    }

    /// Removes everything that is stored; asks nobody.
    ///
    /// - Throws: ``KeychainError``: `missingEntitlement`, `couldNotAccessKeychain`.
    public func removeAllObjects() throws {
        try enclave.removeAll()
    }

    /// Copies the generic passwords that a query finds into this valet.
    ///
    /// - Parameters:
    ///   - query: A SecItem dictionary. It names `kSecClassGenericPassword`, holds no access
    ///     control, and leaves `kSecMatchLimit` and the `kSecReturn…` keys to the migration.
    ///   - removeOnCompletion: Whether what was copied is removed from where it was.
    /// - Throws: ``MigrationError``; ``KeychainError/itemNotFound`` when nothing is found, and
    ///   other ``KeychainError``s. The keychain is then as it was.
    public func migrateObjects(
        matching query: [String: AnyHashable], removeOnCompletion: Bool
    ) throws {
        let items = try enclave.backend.find(try Migration.dictionary(query))
        try enclave.migrate(items, removing: removeOnCompletion)
    }

    /// Copies the items of a valet into this one.
    ///
    /// - Parameters:
    ///   - valet: A valet whose items ask for nobody.
    ///   - removeOnCompletion: Whether what was copied is removed from the other valet.
    /// - Throws: As ``migrateObjects(matching:removeOnCompletion:)``.
    public func migrateObjects(from valet: Valet, removeOnCompletion: Bool) throws {
        try enclave.migrate(try enclave.backend.find(valet.query), removing: removeOnCompletion)
    }
}
