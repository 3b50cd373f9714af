// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// docs/FORMAT.md §4.6.
extension LockedKeybag {
    static let recovering = "recover the keybag"

    /// The public half of the recovery key; nil if none was made.
    ///
    /// To be believed only of a keybag that was unlocked, or whose digest is that of one: a
    /// writer of the database could have put another one here.
    /// - Throws: ``KeybagError/Code/malformed`` unless the record has 32 bytes.
    package var recoveryPublicKey: PublicKey? {
        get throws(KeybagError) {
            guard let body = records[.recoveryPublicKey] else { return nil }
            do throws(SealingError) {
                return try PublicKey(body)
            } catch {
                throw KeybagError(error)
            }
        }
    }

    /// The same keybag, to be opened by the owner of a recovery key, too.
    ///
    /// A recovery key that it had before opens it no longer, but still opens copies made before:
    /// to revoke one takes a new epoch.
    /// - Throws: As ``unlock(with:settings:)``; ``KeybagError/Code/malformed`` for a public key
    ///   that nothing can be sealed to.
    package func addingRecoveryKey(
        _ publicKey: PublicKey, with protector: borrowing some Protector & ~Copyable,
        settings: [UInt8]
    ) throws(KeybagError) -> LockedKeybag {
        let root = try authenticatedRootKey(protector, settings: settings)
        var keybag = self
        try keybag.seal(root, to: publicKey)
        keybag.mac = keybag.authenticationCode(root: root, settings: settings)
        return keybag
    }

    /// Writes the two records of recovery.
    mutating func seal(
        _ root: borrowing RootKey, to publicKey: PublicKey
    ) throws(KeybagError) {
        do throws(SealingError) {
            let sealed = try SealedToPublicKey(
                wrapping: root, to: publicKey, binding: binding(.rootByRecoveryKey))
            records[.rootByRecoveryKey] = sealed.bytes
            records[.recoveryPublicKey] = publicKey.bytes
        } catch {
            throw KeybagError(error, during: "add a recovery key")
        }
    }

    /// Opens what a recovery key opens: the classes that may migrate and the index key; with the
    /// device secret also those of this device only, but never the one that needs the passcode.
    ///
    /// For re-sealing what they open in a new epoch, and not for writing: without the device secret
    /// nothing proves that nobody else made this keybag for the same public key.
    /// - Parameter settings: The bytes beside the keybag that its MAC covers: docs/FORMAT.md §4.3.
    /// - Throws: ``KeybagError``: `noRecoveryKey`, `wrongRecoveryKey`, `wrongDeviceSecret` if one
    ///   is at hand and not the keybag's, `tampered`, `malformed`, `newer`.
    package func unlock(
        with protector: borrowing RecoveryProtector, settings: [UInt8]
    ) throws(KeybagError) -> UnlockedKeybag {
        let keys = try protector.wrappingKeys(of: self)
        try checkMAC(root: keys.root, settings: settings)
        return try open(with: keys)
    }
}
