// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension SecureEnclaveValet {
    /// Whether the keychain works here, as far as that can be tried without asking a person: with
    /// a value that nobody has to be there for. It is not among the keys.
    ///
    /// False for `biometricAny` and `biometricCurrentSet` where nobody has a finger or face
    /// enrolled: on Linux, also in programs that are built without the trait `Fingerprint`.
    public func canAccessKeychain() -> Bool { enclave.canAccessKeychain }

    /// Stores `object` under `key`, in place of what was there; asks nobody. On return it is on
    /// disk.
    ///
    /// - Throws: `emptyKey`, `emptyValue`, `missingEntitlement`, `couldNotAccessKeychain`, also
    ///   while no passcode is set, and for `biometricCurrentSet` while no finger is enrolled.
    public func setObject(_ object: Data, forKey key: String) throws(KeychainError) {
        try enclave.set(object, key)
    }

    /// The bytes that are stored under `key`. Asks a person.
    ///
    /// - Parameter userPrompt: What the person reads: what the value is needed for.
    /// - Throws: `userCancelled` if the person declines, or does not prove who they are;
    ///   `emptyKey`, `itemNotFound`, `missingEntitlement`, `couldNotAccessKeychain`, also where
    ///   nobody can be asked.
    public func object(
        forKey key: String, withPrompt userPrompt: String
    ) throws(KeychainError) -> Data {
        try enclave.object(key, enclave.authentication().saying(userPrompt))
    }

    /// The bytes that are stored under `key`. Asks a person, without words of the application's.
    ///
    /// - Throws: As ``object(forKey:withPrompt:)``.
    public func object(forKey key: String) throws(KeychainError) -> Data {
        try object(forKey: key, withPrompt: "")
    }

    /// Whether something is stored under `key`; does not read it, and asks nobody.
    ///
    /// - Throws: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func containsObject(forKey key: String) throws(KeychainError) -> Bool {
        try enclave.contains(key)
    }

    /// Stores the UTF-8 of `string` under `key`, in place of what was there; asks nobody.
    ///
    /// - Throws: As ``setObject(_:forKey:)``.
    public func setString(_ string: String, forKey key: String) throws(KeychainError) {
        try setObject(Data(string.utf8), forKey: key)
    }

    /// The text that is stored under `key`. Asks a person.
    ///
    /// - Parameter userPrompt: What the person reads: what the text is needed for.
    /// - Throws: As ``object(forKey:withPrompt:)``; `itemNotFound` also when the bytes stored are
    ///   not UTF-8.
    public func string(
        forKey key: String, withPrompt userPrompt: String
    ) throws(KeychainError) -> String {
        try enclave.string(key, enclave.authentication().saying(userPrompt))
    }

    /// The text that is stored under `key`. Asks a person, without words of the application's.
    ///
    /// - Throws: As ``string(forKey:withPrompt:)``.
    public func string(forKey key: String) throws(KeychainError) -> String {
        try string(forKey: key, withPrompt: "")
    }

    /// Removes what is stored under `key`, if anything is; asks nobody.
    ///
    /// - Throws: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func removeObject(forKey key: String) throws(KeychainError) {
        try enclave.remove(key)
    }

    /// Removes everything that is stored; asks nobody.
    ///
    /// - Throws: `missingEntitlement`, `couldNotAccessKeychain`.
    public func removeAllObjects() throws(KeychainError) {
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

    /// Copies the items that a ``SinglePromptSecureEnclaveValet`` of the same identifier, group and
    /// access control keeps. Asks a person, once, to read them.
    ///
    /// - Parameters:
    ///   - userPrompt: What the person reads: what the values are needed for.
    ///   - removeOnCompletion: Whether what was copied is removed from the other valet.
    /// - Throws: As ``migrateObjects(matching:removeOnCompletion:)``;
    ///   ``KeychainError/userCancelled`` if the person declines, or does not prove who they are.
    public func migrateObjectsFromSinglePromptSecureEnclaveValet(
        withPrompt userPrompt: String = "", removeOnCompletion: Bool
    ) throws {
        let other = Configuration(
            enclave: enclave.configuration.naming, accessControl, asksOnce: true)
        let person = enclave.authentication().saying(userPrompt)
        let items = try enclave.backend.find(other.sandbox.query, person)
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
