// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeybag
internal import ValetKeychainKeys
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSystem
internal import ValetTPM

/// What there is to know about a keychain without opening an item.
package struct KeychainStatus: Sendable {
    /// How far the keychain can be used now.
    package var state: LockState
    /// The folder that holds the keychain.
    package var folder: String
    /// Where the device key is read from; nil while there is no keychain.
    package var deviceKeyPath: String?
    /// Where the device key comes from; nil while there is no keychain.
    package var deviceKeySource: DeviceKeySource?
    /// The registers of a TPM that the device key is bound to, rising; none without a TPM.
    package var pcrs: [Int] = []
    /// What the TPM says that has the device key; nil without one, or if it does not say.
    package var tpm: TPMSummary?
    /// The level recorded in the keychain; nil while there is none.
    package var level: ProtectionLevel?
    /// 32 hexadecimal digits; nil while there is no keychain.
    package var keychainID: String?
    /// The version of the file format; nil while there is no keychain.
    package var formatVersion: Int?
    /// The generation of keys; nil while there is no keychain.
    package var epoch: UInt64?
    /// Whether rows of an older generation of keys are left.
    package var isRotating = false
    /// Whether old keys may still be on the disk, because a reader still uses the old rows.
    package var isErasePending = false
    /// The public half of the recovery key that opens the keychain; nil without one. It is not
    /// authenticated here: use it to notice another key, and for nothing else.
    package var recoveryPublicKey: [UInt8]?
    /// Where opened keys lie, `kernel` or `process`; nil without a passcode.
    package var lockStateProvider: String?
    /// Why they lie there; nil without a passcode.
    package var lockStateReason: String?
    /// How another program has changed opened keys in the kernel, in words; nil if it has not.
    package var lockStateWarning: String?
    /// How long the keychain stays unlocked however much it is used; nil for no end, and unless it
    /// is unlocked.
    package var remaining: Duration?
    /// After how long without use it locks itself; nil for never, and unless it is unlocked.
    package var autoLock: Duration?
    /// Live rows, tombstones excluded; nil while there is no keychain.
    package var itemCount: Int?
    /// How many of them are sealed to the passcode; nil without one.
    package var passcodeBoundCount: Int?
    /// How many of them a finger opens, as far as programs see to it; nil without a passcode.
    package var fingerprintGatedCount: Int?
    /// Damaged rows that were moved aside; nil while there is no keychain.
    package var quarantinedRowCount: Int?
    /// The database and its write-ahead log.
    package var fileByteCount: Int64?
    /// Whether the file system can only be read.
    package var isReadOnly: Bool

    /// Whether a recovery key was made that opens the keychain.
    package var hasRecoveryKey: Bool { recoveryPublicKey != nil }
    /// Whether the device key is not there, and a recovery key could stand in for it.
    package var needsRecovery: Bool {
        hasRecoveryKey && (state == .incomplete || state == .keyUnavailable)
    }
}

/// One thing that `doctor` found.
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
    /// The file or folder concerned, if it is one.
    package var path: String?
    /// What helps.
    package var hint: String?

    /// One finding.
    package init(
        _ severity: Severity, _ message: String, path: String? = nil, hint: String? = nil
    ) {
        self.severity = severity
        self.message = message
        self.path = path
        self.hint = hint
    }
}

/// What a TPM that keeps a keychain's keys says of itself.
package struct TPMSummary: Hashable, Sendable {
    /// Whether its storage root key is kept; else it is made for each use, which takes longer.
    package let hasPersistentStorageRootKey: Bool
    /// How many wrong passcodes it takes from now on, before it takes none.
    package let triesLeft: Int
    /// How many it takes when all are forgiven.
    package let tryLimit: Int
    /// After how long it forgives one.
    package let recoveryInterval: Duration
    /// Whether the right passcode, too, would be refused.
    package let isLockedOut: Bool
    /// Whether the TPM's lockout authorization is empty. Then the tries limit nobody who can start
    /// another system on the machine: that system can reset their count.
    package let isLockoutResettable: Bool

    init(_ status: TPMStatus) {
        hasPersistentStorageRootKey = status.hasPersistentStorageRootKey
        triesLeft = status.dictionaryAttack.triesLeft
        tryLimit = status.dictionaryAttack.limit
        recoveryInterval = status.dictionaryAttack.recoveryInterval
        isLockedOut = status.dictionaryAttack.isLockedOut
        isLockoutResettable = !status.hasLockoutAuthorization
    }
}

extension ItemStore {
    /// What the TPM says of itself to which the keychain is bound, or is to be.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable` if it is not there or cannot be used,
    ///   `timedOut`, `inputOutput`.
    package func tpmSummary() throws(KeychainFailure) -> TPMSummary {
        do throws(TPMError) {
            return TPMSummary(try location.tpm.status(until: Deadline(after: timeLimit)))
        } catch {
            throw KeychainFailure(
                error, during: "look at the TPM", path: location.tpm.place.path)
        }
    }
}
