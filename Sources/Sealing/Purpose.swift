// SPDX-License-Identifier: Apache-2.0

/// What a key is for: the type parameter of ``SymmetricKey``.
package protocol KeyPurpose {}

/// A key that other keys and hashes are made from; it opens nothing itself.
///
/// No purpose is both this and ``SealsData``, ``SealsStreams`` or ``WrapsKeys``: a key that goes
/// into a hash as its key is never an AEAD key. Only key id and commitment are made from all keys.
package protocol DerivesKeys: KeyPurpose {}

/// A key of the AEAD under which data is sealed.
package protocol SealsData: KeyPurpose {}

/// A key of the secretstream under which one stream of chunks is sealed.
package protocol SealsStreams: KeyPurpose {}

/// A key of the AEAD under which other keys are wrapped.
package protocol WrapsKeys: KeyPurpose {}

/// The purposes. Format: keys and states, 1.2.
package enum Purpose {
    /// D, the secret of a device.
    package enum Device: DerivesKeys {}
    /// Kdev, from the device secret.
    package enum DeviceKEK: WrapsKeys {}
    /// W, from a passcode.
    package enum StretchedPasscode: DerivesKeys {}
    /// T, which a TPM gives out for the right passcode.
    package enum TPMPasscode: KeyPurpose {}
    /// What a TPM takes for T, from a stretched passcode.
    package enum TPMAuthorization: KeyPurpose {}
    /// Kpass, from the passcode and the device secret.
    package enum PasscodeKEK: WrapsKeys {}
    /// Root.
    package enum Root: DerivesKeys {}
    /// What wraps the root key for recovery.
    package enum RecoveryKEK: WrapsKeys {}
    /// What wraps a class key.
    package enum ClassKEK: WrapsKeys {}
    /// The key of one protection class.
    package enum Class: DerivesKeys {}
    /// Under which attributes of one protection class are sealed.
    package enum Attributes: SealsData {}
    /// Under which values of one protection class are sealed.
    package enum Value: SealsData {}
    /// What wraps the index key.
    package enum IndexKEK: WrapsKeys {}
    /// What searchable attributes are hashed with.
    package enum Index: DerivesKeys {}
    /// What wraps the secret half of a presence pair.
    package enum PresenceKEK: WrapsKeys {}
    /// Under which one value is sealed to a presence pair.
    package enum PresenceValue: SealsData {}
    /// Under which one value is sealed for an application's password.
    package enum ApplicationPassword: SealsData {}
    /// What wraps the key of a backup.
    package enum BackupKEK: WrapsKeys {}
    /// Under which one backup is sealed.
    package enum Backup: SealsStreams {}
    /// What seals of opened keys are made from: in a file of the user's, new at each unlock.
    package enum Sharing: DerivesKeys {}
    /// Under which opened keys are sealed for the kernel.
    package enum SharedPayload: SealsData {}
    /// The secret half of an X25519 pair.
    package enum Agreement: KeyPurpose {}
    /// What an X25519 agreement gives both sides.
    package enum SharedSecret: DerivesKeys {}
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
/// What wraps a class key.
package typealias ClassKEK = SymmetricKey<Purpose.ClassKEK>
/// The key of one protection class.
package typealias ClassKey = SymmetricKey<Purpose.Class>
/// Under which attributes of one protection class are sealed.
package typealias AttributesSubkey = SymmetricKey<Purpose.Attributes>
/// Under which values of one protection class are sealed.
package typealias ValueSubkey = SymmetricKey<Purpose.Value>
/// What wraps the index key.
package typealias IndexKEK = SymmetricKey<Purpose.IndexKEK>
/// What searchable attributes are hashed with.
package typealias IndexKey = SymmetricKey<Purpose.Index>
/// What seals of opened keys are made from: in a file of the user's, new at each unlock.
package typealias SharingKey = SymmetricKey<Purpose.Sharing>
/// Under which opened keys are sealed for the kernel.
package typealias SharedPayloadKey = SymmetricKey<Purpose.SharedPayload>
/// The secret half of an X25519 pair.
package typealias AgreementSecret = SymmetricKey<Purpose.Agreement>
/// What wraps the secret half of a presence pair.
package typealias PresenceKEK = SymmetricKey<Purpose.PresenceKEK>
/// Under which one value is sealed to a presence pair.
package typealias PresenceValueKey = SymmetricKey<Purpose.PresenceValue>
/// Under which one value is sealed for an application's password.
package typealias ApplicationPasswordKey = SymmetricKey<Purpose.ApplicationPassword>
/// What wraps the key of a backup.
package typealias BackupKEK = SymmetricKey<Purpose.BackupKEK>
/// Under which one backup is sealed.
package typealias BackupKey = SymmetricKey<Purpose.Backup>
