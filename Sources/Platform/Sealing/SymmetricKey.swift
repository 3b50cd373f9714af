// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// A secret key of 256 bits with one purpose.
public struct SymmetricKey<P: KeyPurpose>: ~Copyable, Sendable {
    /// 32, for every purpose.
    @inlinable public static var byteCount: Int { 32 }

    @usableFromInline let secret: SecretBytes

    /// Copies a key. Wiping the original remains its owner's duty.
    ///
    /// - Throws: `malformed` unless there are 32 bytes.
    package init(copying bytes: Span<UInt8>) throws(SystemError) {
        try self.init(SecretBytes(copying: bytes, for: .keys))
    }

    /// Takes over a key.
    ///
    /// - Throws: `malformed` unless there are 32 bytes.
    package init(_ secret: consuming SecretBytes) throws(SystemError) {
        guard secret.byteCount == Self.byteCount else {
            throw SystemError.sealing(.malformed, during: .parse, of: "key")
        }
        self.secret = secret.asKeys()
    }

    /// Calls `body` to fill in the 32 bytes, which start as zeros.
    init<E>(initializingWith body: (inout MutableSpan<UInt8>) throws(E) -> Void) throws(E) {
        secret = try SecretBytes(
            byteCount: Self.byteCount, for: .keys, initializingWith: body)
    }

    private init(randomByteCount: Int) {
        secret = SecretBytes(randomByteCount: randomByteCount, for: .keys)
    }

    package static func random() -> SymmetricKey { SymmetricKey(randomByteCount: byteCount) }

    package borrowing func copied() -> SymmetricKey {
        withBytes { bytes in
            SymmetricKey { copy in
                for index in bytes.indices { copy[index] = bytes[index] }
            }
        }
    }

    /// A copy of a key, if there is one.
    package static func copy(of key: borrowing SymmetricKey?) -> SymmetricKey? {
        switch key {
        case .some(let key): key.copied()
        case .none: nil
        }
    }

    /// Lends the 32 bytes to `body`.
    @inlinable @inline(__always)
    public borrowing func withBytes<R: ~Copyable, E>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        try secret.withBytes(body)
    }

    /// Tells whether both are the same key, in constant time.
    package borrowing func isEqual(to other: borrowing SymmetricKey) -> Bool {
        secret.isEqual(to: other.secret)
    }

    /// The name of the key, not secret: the first 16 bytes of `H(K; "valet/1/key-id")`.
    package var id: KeyID {
        let digest = KeyedHash(anyPurpose: self, .keyID).finish()
        return KeyID { (id: inout MutableSpan<UInt8>) in
            digest.withBytes { digest in
                for index in id.indices { id[index] = digest[index] }
            }
        }
    }

    /// Proves that this is the right key, not secret: `H(K; "valet/1/commit")`.
    package var commitment: Digest { KeyedHash(anyPurpose: self, .commitment).finish() }
}

/// The purpose of a key: the type parameter of ``SymmetricKey``.
public protocol KeyPurpose {}

/// A key that other keys and hashes are made from; it opens nothing itself.
///
/// No purpose is both this and ``SealsData``, ``SealsStreams`` or ``WrapsKeys``: the key of a hash
/// is never an AEAD key. Only key id and commitment are made from all keys.
package protocol DerivesKeys: KeyPurpose {}

/// A key of the AEAD under which data is sealed.
package protocol SealsData: KeyPurpose {}

/// A key of the secretstream under which one stream of chunks is sealed.
package protocol SealsStreams: KeyPurpose {}

/// A key of the AEAD under which other keys are wrapped.
package protocol WrapsKeys: KeyPurpose {}

/// The purposes. The names of keys below say what each is for. Format: docs/FORMAT.md §1.
package enum Purpose {
    package enum Device: DerivesKeys {}
    package enum DeviceKEK: WrapsKeys {}
    package enum StretchedPasscode: DerivesKeys {}
    package enum TPMPasscode: KeyPurpose {}
    /// The authorization value that a TPM takes for T, from a stretched passcode.
    package enum TPMAuthorization: KeyPurpose {}
    package enum PasscodeKEK: WrapsKeys {}
    package enum Root: DerivesKeys {}
    /// The key that wraps the root key for recovery.
    package enum RecoveryKEK: WrapsKeys {}
    package enum ClassKEK: WrapsKeys {}
    package enum Class: DerivesKeys {}
    package enum Attributes: SealsData {}
    package enum Value: SealsData {}
    package enum IndexKEK: WrapsKeys {}
    package enum Index: DerivesKeys {}
    package enum PresenceKEK: WrapsKeys {}
    package enum PresenceValue: SealsData {}
    package enum ApplicationPassword: SealsData {}
    package enum BackupKEK: WrapsKeys {}
    package enum Backup: SealsStreams {}
    /// A sharing key, in a file of the user's, new at each unlock: the keys that seal opened keys
    /// are derived from it.
    package enum Sharing: DerivesKeys {}
    package enum SharedPayload: SealsData {}
    package enum Agreement: KeyPurpose {}
    /// What an X25519 agreement gives both sides.
    package enum SharedSecret: DerivesKeys {}
    package enum SyncKEK: WrapsKeys {}
    package enum SyncSecret: DerivesKeys {}
    /// What an Ed25519 pair is made from.
    package enum SigningSeed: KeyPurpose {}
    package enum Circle: DerivesKeys {}
    /// X, the key that seals a circle's key for one member.
    package enum SyncBox: DerivesKeys {}
    package enum Invitation: DerivesKeys {}
    package enum SponsorRandom: DerivesKeys {}
    /// The key that seals one context of a circle.
    package enum SyncSeal: SealsData {}
}

/// D, the secret of a device.
package typealias DeviceSecret = SymmetricKey<Purpose.Device>
/// Kdev, from the device secret.
package typealias DeviceKEK = SymmetricKey<Purpose.DeviceKEK>
/// W, from a passcode.
package typealias StretchedPasscode = SymmetricKey<Purpose.StretchedPasscode>
/// T, which a TPM gives out for the right passcode.
package typealias TPMPasscodeSecret = SymmetricKey<Purpose.TPMPasscode>
/// Kpass, from the passcode and the device secret.
package typealias PasscodeKEK = SymmetricKey<Purpose.PasscodeKEK>
/// The root key of an epoch.
package typealias RootKey = SymmetricKey<Purpose.Root>
/// The key that wraps a class key.
package typealias ClassKEK = SymmetricKey<Purpose.ClassKEK>
/// The key of one protection class.
package typealias ClassKey = SymmetricKey<Purpose.Class>
/// The key that seals attributes of one protection class.
package typealias AttributesSubkey = SymmetricKey<Purpose.Attributes>
/// The key that seals values of one protection class.
package typealias ValueSubkey = SymmetricKey<Purpose.Value>
/// The key that wraps the index key.
package typealias IndexKEK = SymmetricKey<Purpose.IndexKEK>
/// The key that searchable attributes are hashed with.
package typealias IndexKey = SymmetricKey<Purpose.Index>
/// A sharing key, in a file of the user's, new at each unlock: the keys that seal opened keys
/// are derived from it.
package typealias SharingKey = SymmetricKey<Purpose.Sharing>
/// The key that seals opened keys for the kernel.
package typealias SharedPayloadKey = SymmetricKey<Purpose.SharedPayload>
/// The secret half of an X25519 pair.
package typealias AgreementSecret = SymmetricKey<Purpose.Agreement>
/// The key that wraps the secret half of a presence pair.
package typealias PresenceKEK = SymmetricKey<Purpose.PresenceKEK>
/// The key under which one value is sealed to a presence pair.
package typealias PresenceValueKey = SymmetricKey<Purpose.PresenceValue>
/// The key under which one value is sealed for an application's password.
package typealias ApplicationPasswordKey = SymmetricKey<Purpose.ApplicationPassword>
/// The key that wraps the key of a backup.
package typealias BackupKEK = SymmetricKey<Purpose.BackupKEK>
/// The key that seals one backup.
package typealias BackupKey = SymmetricKey<Purpose.Backup>
/// The key that wraps a sync secret.
package typealias SyncKEK = SymmetricKey<Purpose.SyncKEK>
/// S, the secret that a device's keys of one scope in a circle are made from.
package typealias SyncSecret = SymmetricKey<Purpose.SyncSecret>
/// K, the key of one scope and epoch that the devices of a circle share.
package typealias CircleKey = SymmetricKey<Purpose.Circle>
/// K_inv, from the characters of an invitation.
package typealias InvitationKey = SymmetricKey<Purpose.Invitation>
/// r, the random bytes that a sponsor commits to.
package typealias SponsorRandom = SymmetricKey<Purpose.SponsorRandom>
