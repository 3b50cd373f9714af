// SPDX-License-Identifier: Apache-2.0

/// What a hash or a wrap is for; each context of the format, once.
///
/// Format: keys and states, 1.1 and 1.2.
package enum DerivationContext: String, CaseIterable, Sendable {
    /// The name of a key.
    case keyID = "valet/1/key-id"
    /// What proves a key to be the right one.
    case commitment = "valet/1/commit"
    /// The associated data of a wrapped key.
    case wrap = "valet/1/wrap"
    /// The device key, from the device secret.
    case deviceKEK = "valet/1/device-kek"
    /// What wraps a class key.
    case classKEK = "valet/1/class-kek"
    /// What wraps a class key that stays on this device.
    case classKEKDevice = "valet/1/class-kek-device"
    /// What wraps the class key that exists only while a passcode does.
    case classKEKPasscode = "valet/1/class-kek-passcode"
    /// The subkey of attributes.
    case sealAttributes = "valet/1/seal-attributes"
    /// The subkey of values.
    case sealValue = "valet/1/seal-value"
    /// What wraps the index key.
    case indexKEK = "valet/1/index-kek"
    /// The hash of a searchable attribute.
    case index = "valet/1/index"
    /// The hash of a primary key.
    case primaryKey = "valet/1/primary-key"
    /// The authentication code of the keybag.
    case keybagMAC = "valet/1/keybag-mac"
    /// The associated data of a row's sealed parts.
    case row = "valet/1/row"
    /// The recovery pair, from its seed.
    case recovery = "valet/1/recovery"
    /// What wraps the root key for recovery.
    case rootRecovery = "valet/1/root-recovery"
    /// The passcode key, at level `passcode`.
    case passcodeKEK = "valet/1/passcode-kek"
    /// The passcode key, at level `tpm+passcode`.
    case passcodeKEKTPM = "valet/1/passcode-kek-tpm"
    /// The authorization value of the TPM's object.
    case tpmAuth = "valet/1/tpm-auth"
    /// What wraps the secret of the presence pair that needs the passcode.
    case presencePasscode = "valet/1/presence-passcode"
    /// What wraps the secret of the presence pair that needs a person.
    case presencePerson = "valet/1/presence-person"
    /// What seals a value to a presence pair.
    case presenceValue = "valet/1/presence-value"
    /// What seals a value under an application's password.
    case applicationPassword = "valet/1/application-password"
    /// The associated data of a value that is sealed under an application's password.
    case applicationPasswordBox = "valet/1/application-password-box"
    /// The hash and the associated data of a program's record.
    case program = "valet/1/program"
    /// What wraps the key of a backup.
    case backup = "valet/1/backup"
    /// What tells which mark a sharing key was made under.
    case sharingID = "valet/1/sharing-id"
    /// Under which opened keys are sealed for the kernel, from a sharing key.
    case sharing = "valet/1/sharing"
    /// The key of a sync circle.
    case sync = "valet/1/sync"
}
