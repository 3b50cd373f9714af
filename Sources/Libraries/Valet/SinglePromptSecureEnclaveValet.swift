// SPDX-License-Identifier: Apache-2.0

// The calls of `SinglePromptSecureEnclaveValet`, which asks the user once. `Enclave` does the work;
// the class is declared in SinglePromptSecureEnclaveValet+ObjectiveC.swift.

public import Foundation

extension SinglePromptSecureEnclaveValet {
    /// Returns the valet of that identifier, which this application alone can use.
    public class func valet(
        with identifier: Identifier, accessControl: SecureEnclaveAccessControl
    ) -> SinglePromptSecureEnclaveValet {
        shared(.standard(identifier), accessControl)
    }

    /// Returns a valet of an access group, which every application of the group can use.
    ///
    /// A group can have several valets, each with an `identifier` of its own, and one without.
    public class func sharedGroupValet(
        with groupIdentifier: SharedGroupIdentifier, identifier: Identifier? = nil,
        accessControl: SecureEnclaveAccessControl
    ) -> SinglePromptSecureEnclaveValet {
        shared(.sharedGroup(groupIdentifier, identifier), accessControl)
    }

    private class func shared(
        _ naming: Configuration.Naming, _ accessControl: SecureEnclaveAccessControl
    ) -> SinglePromptSecureEnclaveValet {
        let enclave = Enclave(naming, accessControl, asksOnce: true, backend: Platform.backend)
        return Platform.registry.valet(enclave.configuration) {
            SinglePromptSecureEnclaveValet(enclave)
        }
    }

    /// Returns whether the keychain works here, whatever the access control. Tries a canary item
    /// that can be read without asking the user. ``allKeys(userPrompt:)`` leaves the canary
    /// out.
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
    /// - Throws: ``KeychainError``: `emptyKey`, `emptyValue`, `missingEntitlement`;
    ///   `couldNotAccessKeychain`, also while no passcode is set and, for `biometricCurrentSet`,
    ///   while no finger is enrolled.
    public func setObject(_ object: Data, forKey key: String) throws {
        try enclave.set(object, key)
    }

    /// Returns the bytes that are stored under `key`. Asks the user, unless an earlier answer still
    /// counts.
    ///
    /// - Parameter userPrompt: What the value is needed for. The question shows it.
    /// - Throws: ``KeychainError``: `userCancelled` if the user declines or cannot authenticate;
    ///   `emptyKey`, `itemNotFound`, `missingEntitlement`; `couldNotAccessKeychain`, also if the
    ///   user cannot be asked.
    public func object(forKey key: String, withPrompt userPrompt: String) throws -> Data {
        try enclave.object(key, remembered.current.saying(userPrompt))
    }

    /// Returns whether something is stored under `key`. Does not read the value and does not ask
    /// the user. An earlier answer of the user does not count.
    ///
    /// - Throws: ``KeychainError``: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func containsObject(forKey key: String) throws -> Bool {
        try enclave.contains(key)
    }

    /// Stores the UTF-8 of `string` under `key` and replaces what was stored there. Does not ask
    /// the user. On return it is on disk.
    ///
    /// - Throws: The errors of ``setObject(_:forKey:)``.
    public func setString(_ string: String, forKey key: String) throws {
        try setObject(Data(string.utf8), forKey: key)
    }

    /// Returns the text that is stored under `key`. Asks the user, unless an earlier answer still
    /// counts.
    ///
    /// - Parameter userPrompt: What the text is needed for. The question shows it.
    /// - Throws: The errors of ``object(forKey:withPrompt:)``; `itemNotFound` also if the stored
    ///   bytes are not UTF-8.
    public func string(forKey key: String, withPrompt userPrompt: String) throws -> String {
        try enclave.string(key, remembered.current.saying(userPrompt))
    }

    /// Makes the next read ask the user. Ends an open question as a failed authentication.
    public func requirePromptOnNextAccess() {
        remembered.forget()
    }

    /// Returns the keys under which something is stored; an empty set if there are none. Asks the
    /// user, unless an earlier answer still counts or nothing is stored.
    ///
    /// - Parameter userPrompt: What the keys are needed for. The question shows it.
    /// - Throws: ``KeychainError``: `userCancelled`, `missingEntitlement`,
    ///   `couldNotAccessKeychain`.
    public func allKeys(userPrompt: String) throws -> Set<String> {
        try enclave.allKeys(remembered.current.saying(userPrompt))
    }

    /// Removes what is stored under `key`, if anything. Does not ask the user.
    ///
    /// - Throws: ``KeychainError``: `emptyKey`, `missingEntitlement`, `couldNotAccessKeychain`.
    public func removeObject(forKey key: String) throws {
        try enclave.remove(key)
    }

    /// Removes everything that is stored. Does not ask the user.
    ///
    /// - Throws: ``KeychainError``: `missingEntitlement`, `couldNotAccessKeychain`.
    public func removeAllObjects() throws {
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

final class RememberedAuthentication: Sendable {
    private let make: @Sendable () -> Authentication
    private let authentication: Guarded<Authentication>

    init(_ make: @escaping @Sendable () -> Authentication) {
        self.make = make
        authentication = Guarded(make())
    }

    var current: Authentication { authentication.withLock { $0 } }

    func forget() {
        let forgotten = authentication.withLock { authentication in
            defer { authentication = make() }
            return authentication
        }
        forgotten.forget()
    }
}
