// SPDX-License-Identifier: Apache-2.0

/// The purpose of a hash, a seal, a signature or a wrap: each context of the format, once.
///
/// ``KeyedHash``, ``UnkeyedHash``, ``HedgedSeal`` and ``SigningPair`` take one. Format:
/// docs/FORMAT.md §1, docs/SYNC.md §2.
package enum DerivationContext: String, CaseIterable, Sendable {
    /// The name of a key.
    case keyID = "valet/1/key-id"
    /// The commitment, which proves a key to be the right one.
    case commitment = "valet/1/commit"
    case wrap = "valet/1/wrap"
    /// The device key, from the device secret.
    case deviceKEK = "valet/1/device-kek"
    case classKEK = "valet/1/class-kek"
    /// What wraps a class key that stays on this device.
    case classKEKDevice = "valet/1/class-kek-device"
    /// What wraps the class key that exists only while a passcode does.
    case classKEKPasscode = "valet/1/class-kek-passcode"
    case sealAttributes = "valet/1/seal-attributes"
    case sealValue = "valet/1/seal-value"
    case indexKEK = "valet/1/index-kek"
    /// The hash of a searchable attribute.
    case index = "valet/1/index"
    /// The hash of a place.
    case place = "valet/1/place"
    case keybagMAC = "valet/1/keybag-mac"
    /// The associated data of a row's sealed parts.
    case row = "valet/1/row"
    /// The recovery pair, from its seed.
    case recovery = "valet/1/recovery"
    case rootRecovery = "valet/1/root-recovery"
    /// The passcode key, at level `passcode`.
    case passcodeKEK = "valet/1/passcode-kek"
    /// The passcode key, at level `tpm+passcode`.
    case passcodeKEKTPM = "valet/1/passcode-kek-tpm"
    /// The authorization value of the TPM's object.
    case tpmAuth = "valet/1/tpm-auth"
    /// What wraps the secret of the presence pair that needs the passcode.
    case presencePasscode = "valet/1/presence-passcode"
    /// What wraps the secret of the presence pair `person`.
    case presencePerson = "valet/1/presence-person"
    /// What seals a value to a presence pair.
    case presenceValue = "valet/1/presence-value"
    /// What seals a value under an application's password.
    case applicationPassword = "valet/1/application-password"
    /// The associated data of a value that is sealed under an application's password.
    case applicationPasswordBox = "valet/1/application-password-box"
    /// The seal of a former row.
    case former = "valet/1/former"
    /// What wraps the key of a backup.
    case backup = "valet/1/backup"
    /// The id that names the mark under which a sharing key was made.
    case sharingID = "valet/1/sharing-id"
    /// The key that seals opened keys for the kernel, from a sharing key.
    case sharing = "valet/1/sharing"
    /// The associated data of an entry of sync.
    case syncEntry = "valet/1/sync-entry"
    case syncKEK = "valet/1/sync-kek"
    /// The seed of a signing pair, from a sync secret.
    case syncSign = "valet/1/sync-sign"
    /// The secret half of an agreement pair, from a sync secret.
    case syncAgree = "valet/1/sync-agree"
    /// The sync secret of the recovery member, scope `f`.
    case syncRecoveryF = "valet/1/sync-recovery-f"
    /// The sync secret of the recovery member, scope `u`.
    case syncRecoveryU = "valet/1/sync-recovery-u"
    /// The id of a device in a circle.
    case syncDevice = "valet/1/sync-device"
    /// The second half of a log's id.
    case syncLog = "valet/1/sync-log"
    /// The hash of a message, and its signature.
    case syncMessage = "valet/1/sync-message"
    /// The tag of a record.
    case syncRecord = "valet/1/sync-record"
    /// The hash of a roster entry, and its signature.
    case syncRoster = "valet/1/sync-roster"
    /// The signature by which a member proves its keys.
    case syncMember = "valet/1/sync-member"
    /// The hash in a file's name.
    case syncFile = "valet/1/sync-file"
    /// The nonce of every seal of a circle.
    case syncNonce = "valet/1/sync-nonce"
    case syncBatch = "valet/1/sync-batch"
    case syncBase = "valet/1/sync-base"
    /// The seal and the hash of a base's part.
    case syncPart = "valet/1/sync-part"
    /// The seal of a circle's key for one member, and the key of that seal.
    case syncBox = "valet/1/sync-box"
    /// The seal of a circle's former key.
    case syncFormer = "valet/1/sync-former"
    case syncInvitation = "valet/1/sync-invitation"
    /// The name of an invitation's mailbox.
    case syncMailbox = "valet/1/sync-mailbox"
    case syncMail = "valet/1/sync-mail"
    /// The sponsor's commitment to its random bytes.
    case syncCommit = "valet/1/sync-commit"
    /// The hash of all mails before the words are shown.
    case syncTranscript = "valet/1/sync-transcript"
    /// The words that both sides show.
    case syncWords = "valet/1/sync-words"
    /// The signature of a sponsor's names for the devices of its circle.
    case syncNames = "valet/1/sync-names"
}
