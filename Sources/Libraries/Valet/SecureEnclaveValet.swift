// SPDX-License-Identifier: Apache-2.0

// The calls of `SecureEnclaveValet`, which asks the user at each read. `Enclave` does the work; the
// class is declared in SecureEnclaveValet+ObjectiveC.swift.

public import Foundation

extension SecureEnclaveValet {
    /// Returns the valet of that identifier, which this application alone can use.
    public class func valet(
        with identifier: Identifier, accessControl: SecureEnclaveAccessControl
    ) -> SecureEnclaveValet {
        shared(.standard(identifier), accessControl)
    }

    /// Returns a valet of an access group, which every application of the group can use.
    ///
    /// A group can have several valets, each with an `identifier` of its own, and one without.
    public class func sharedGroupValet(
        with groupIdentifier: SharedGroupIdentifier, identifier: Identifier? = nil,
        accessControl: SecureEnclaveAccessControl
    ) -> SecureEnclaveValet {
        shared(.sharedGroup(groupIdentifier, identifier), accessControl)
    }

    private class func shared(
        _ naming: Configuration.Naming, _ accessControl: SecureEnclaveAccessControl
    ) -> SecureEnclaveValet {
        let enclave = Enclave(naming, accessControl, asksOnce: false, backend: Platform.backend)
        return Platform.registry.valet(enclave.configuration) { SecureEnclaveValet(enclave) }
    }

    /// Returns whether the keychain works here, whatever the access control. Tries a canary item
    /// that can be read without asking the user.
    ///
    /// True also if the user could not meet the access control now; see ``canMeetAccessControl()``.
    public func canAccessKeychain() -> Bool { enclave.canAccessKeychain }

    /// Returns whether the user could meet the access control here. Does not ask the user.
    ///
    /// False for `biometricAny` and `biometricCurrentSet` if no finger or face is enrolled; on
    /// Linux also in programs that are built without the trait `Fingerprint`.
    /// `KeychainFailure.last` says why and what helps. The other access controls need the passcode
    /// alone.
    public func canMeetAccessControl() -> Bool { enclave.canMeetAccessControl }

    /// Stores `object` under `key` and replaces what was stored there. Does not ask the user. On
    /// return it is on disk.
    ///
    /// - Throws: `emptyKey`, `emptyValue`, `missingEntitlement`; `couldNotAccessKeychain`, also
    ///   while no passcode is set and, for `biometricCurrentSet`, while no finger is enrolled.
    public func setObject(_ object: Data, forKey key: String) throws(KeychainError) {
        try enclave.set(object, key)
    }

    /// Returns the bytes that are stored under `key`. Asks the user.
    ///
    /// - Parameter userPrompt: What the value is needed for. The question shows it.
    /// - Throws: `userCancelled` if the user declines or cannot authenticate; `emptyKey`,
    ///   `itemNotFound`, `missingEntitlement`; `couldNotAccessKeychain`, also if the user cannot be
    ///   asked.
    public func object(
        forKey key: String, withPrompt userPrompt: String
    ) throws(KeychainError) -> Data {
        try enclave.object(key, enclave.authentication().saying(userPrompt))
    }

    /// Returns the bytes that are stored under `key`. Asks the user without giving a reason.
    ///
    /// - Throws: The errors of ``object(forKey:withPrompt:)``.
    public func object(forKey key: String) throws(KeychainError) -> Data {
        try object(forKey: key, withPrompt: "")
    }

    /// Returns whether something is stored under `key`. Does not read the value and does not ask
    /// the user.
    ///
    /// - Throws: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func containsObject(forKey key: String) throws(KeychainError) -> Bool {
        try enclave.contains(key)
    }

    /// Stores the UTF-8 of `string` under `key` and replaces what was stored there. Does not ask
    /// the user. On return it is on disk.
    ///
    /// - Throws: The errors of ``setObject(_:forKey:)``.
    public func setString(_ string: String, forKey key: String) throws(KeychainError) {
        try setObject(Data(string.utf8), forKey: key)
    }

    /// Returns the text that is stored under `key`. Asks the user.
    ///
    /// - Parameter userPrompt: What the text is needed for. The question shows it.
    /// - Throws: The errors of ``object(forKey:withPrompt:)``; `itemNotFound` also if the stored
    ///   bytes are not UTF-8.
    public func string(
        forKey key: String, withPrompt userPrompt: String
    ) throws(KeychainError) -> String {
        try enclave.string(key, enclave.authentication().saying(userPrompt))
    }

    /// Returns the text that is stored under `key`. Asks the user without giving a reason.
    ///
    /// - Throws: The errors of ``string(forKey:withPrompt:)``.
    public func string(forKey key: String) throws(KeychainError) -> String {
        try string(forKey: key, withPrompt: "")
    }

    /// Removes what is stored under `key`, if anything. Does not ask the user.
    ///
    /// - Throws: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func removeObject(forKey key: String) throws(KeychainError) {
        try enclave.remove(key)
    }

    /// Removes everything that is stored. Does not ask the user.
    ///
    /// - Throws: `missingEntitlement`, `couldNotAccessKeychain`.
    public func removeAllObjects() throws(KeychainError) {
        try enclave.removeAll()
    }

    /// Copies the generic passwords that a query finds into this valet.
    ///
    /// - Parameters:
    ///   - query: A SecItem dictionary that names `kSecClassGenericPassword` and no access control.
    ///     The migration sets `kSecMatchLimit` and the `kSecReturn…` keys.
    ///   - removeOnCompletion: Whether to remove the copied items from their old place.
    /// - Throws: ``MigrationError``; ``KeychainError/itemNotFound`` if nothing is found, and other
    ///   ``KeychainError``s. The keychain is unchanged then.
    public func migrateObjects(
        matching query: [String: AnyHashable], removeOnCompletion: Bool
    ) throws {
        try enclave.migrate(matching: query, removing: removeOnCompletion)
    }

    /// Copies the items of the ``SinglePromptSecureEnclaveValet`` with the same identifier, group
    /// and access control into this valet. Asks the user once, to read them.
    ///
    /// - Parameters:
    ///   - userPrompt: What the values are needed for. The question shows it.
    ///   - removeOnCompletion: Whether to remove the copied items from the other valet.
    /// - Throws: The errors of ``migrateObjects(matching:removeOnCompletion:)``;
    ///   ``KeychainError/userCancelled`` if the user declines or cannot authenticate.
    public func migrateObjectsFromSinglePromptSecureEnclaveValet(
        withPrompt userPrompt: String = "", removeOnCompletion: Bool
    ) throws {
        let other = Configuration(
            enclave: enclave.configuration.naming, accessControl, asksOnce: true)
        let authentication = enclave.authentication().saying(userPrompt)
        let items = try enclave.backend.find(other.sandbox.query, authentication)
        try enclave.migrate(items, removing: removeOnCompletion)
    }

    /// Copies the items of a plain valet into this one.
    ///
    /// - Parameters:
    ///   - valet: The valet with the items. Reading them does not ask the user.
    ///   - removeOnCompletion: Whether to remove the copied items from the other valet.
    /// - Throws: The errors of ``migrateObjects(matching:removeOnCompletion:)``.
    public func migrateObjects(from valet: Valet, removeOnCompletion: Bool) throws {
        try enclave.migrate(from: valet, removing: removeOnCompletion)
    }
}
