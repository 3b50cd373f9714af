// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
internal import ValetSystem

// The values that `status` and `doctor` report: the status of a keychain, a finding, a TPM's
// summary. The command prints them.

/// The properties of a keychain that can be read without opening an item.
package struct KeychainStatus: Sendable {
    /// The lock state now.
    package var state: LockState
    /// The folder of the keychain.
    package var folder: String
    /// The path of the device key; nil if there is no keychain.
    package var deviceKeyPath: String?
    /// The kind of source of the device key; nil if there is no keychain.
    package var deviceKeySource: DeviceKeySource?
    /// The PCRs of the TPM that the device key is bound to, in rising order; empty without a TPM.
    package var pcrs: [Int] = []
    /// The state of the TPM that has the device key; nil without one, or if it does not answer.
    package var tpm: TPMSummary?
    /// The level recorded in the keychain; nil if there is no keychain.
    package var level: ProtectionLevel?
    /// 32 hexadecimal digits; nil while there is no keychain.
    package var keychainID: String?
    /// The version of the file format; nil while there is no keychain.
    package var formatVersion: Int?
    /// The generation of keys; nil while there is no keychain.
    package var epoch: UInt64?
    /// Whether old keys may still be on the disk, because a reader still uses the old rows.
    package var isErasePending = false
    /// The public half of the recovery key that opens the keychain; nil without one. It is not
    /// authenticated: use it only to notice that the key has changed.
    package var recoveryPublicKey: [UInt8]?
    /// Where opened keys are, `kernel` or `process`; nil without a passcode.
    package var lockStateProvider: String?
    /// Why they are there; nil without a passcode.
    package var lockStateReason: String?
    /// How another program has changed opened keys in the kernel, in words; nil if it has not.
    package var lockStateWarning: String?
    /// The time until the keychain locks even if it is in use; nil if there is no limit, or if the
    /// keychain is not unlocked.
    package var remaining: Duration?
    /// The time without use after which the keychain locks itself; nil for never, or if the
    /// keychain is not unlocked.
    package var autoLock: Duration?
    /// Live rows, tombstones excluded; nil while there is no keychain.
    package var itemCount: Int?
    /// The number of items that are sealed to the passcode; nil without one.
    package var passcodeBoundCount: Int?
    /// The number of items that a fingerprint also opens, which only software enforces; nil without
    /// a passcode.
    package var fingerprintGatedCount: Int?
    /// The number of damaged rows that were set aside; nil if there is no keychain.
    package var quarantinedRowCount: Int?
    /// The size of the database and its write-ahead log.
    package var fileByteCount: Int64?
    /// Whether the file system is read-only.
    package var isReadOnly: Bool

    /// Whether a recovery key opens the keychain.
    package var hasRecoveryKey: Bool { recoveryPublicKey != nil }
    /// Whether the device key is missing and a recovery key could replace it.
    package var needsRecovery: Bool {
        hasRecoveryKey && (state == .incomplete || state == .keyUnavailable)
    }
}

/// One finding of `valet doctor`.
package struct Finding: Sendable {
    /// How bad it is.
    package enum Severity: String, CaseIterable, Sendable {
        /// As it should be.
        case fine
        /// Works, but the user should know.
        case warning
        /// Keeps the keychain from working.
        case broken
        /// Something stored was changed or lost.
        case damage
    }

    /// How bad it is.
    package var severity: Severity
    /// Lower case, no full stop, no secret.
    package var message: String
    /// The file or folder, if the finding is about one.
    package var path: String?
    /// The remedy.
    package var hint: String?

    package init(
        _ severity: Severity, _ message: String, path: String? = nil, hint: String? = nil
    ) {
        self.severity = severity
        self.message = message
        self.path = path
        self.hint = hint
    }
}

extension Keychain {
    /// The state of the TPM that the keychain is bound to, or could be bound to.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable` if it is missing or cannot be used,
    ///   `timedOut`, `inputOutput`.
    package func tpmSummary() throws(KeychainFailure) -> TPMSummary {
        try store.location.tpmSummary(until: Deadline(after: store.timeLimit))
    }
}
