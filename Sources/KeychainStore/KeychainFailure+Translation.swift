// SPDX-License-Identifier: Apache-2.0

internal import ValetBackup
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSystem

/// Runs `body` and turns what lower modules throw into a failure of `operation`.
///
/// - Throws: Nothing but ``KeychainFailure``, which passes through as it is.
@inline(__always)
func translating<R: ~Copyable>(
    _ operation: String, _ body: () throws -> R
) throws(KeychainFailure) -> R {
    do {
        return try body()
    } catch {
        throw KeychainFailure(translating: error, during: operation)
    }
}

extension KeychainFailure {
    init(translating error: any Error, during operation: String) {
        switch error {
        case let failure as KeychainFailure: self = failure
        case let error as SystemError: self.init(error, during: operation)
        case let error as KeybagError: self.init(error, during: operation)
        case let error as BackupError: self.init(error, during: operation)
        case RowFailure.locked: self = .locked(operation)
        case RowFailure.needsPerson: self.init(.interactionNotAllowed, during: operation)
        case is NewPasswordDemand:
            self.init(
                .interactionNotAllowed, during: operation,
                message: "the item takes an application's password, and there is none",
                hint: "remove the item first, or give the password with SecItemUpdate")
        case is RowFailure: self.init(.damaged, during: operation, hint: Self.damageHint)
        case let error as LockStateError:
            self.init(.inputOutput, during: operation, message: "\(error)")
        default: self.init(.internalFault, during: operation, message: "\(type(of: error))")
        }
    }

    /// What a failure to open the keybag means for `operation`.
    private init(_ error: KeybagError, during operation: String) {
        switch error.code {
        case .newer:
            self.init(.newerFormat, during: operation, hint: "update this program")
        case .wrongDeviceSecret: self = .wrongDeviceKey(operation)
        case .needsProtector: self = .locked(operation)
        case .wrongPasscode, .wrongRecoveryKey, .noRecoveryKey, .mistypedRecoveryKey,
            .emptyPasscode, .passcodeTooLong:
            self.init(.authenticationFailed, during: operation, message: error.explanation)
        case .outOfMemory: self.init(.outOfMemory, during: operation)
        case .malformed, .tampered:
            self.init(
                .keychainDamaged, during: operation,
                message: "the keybag or the settings beside it were changed",
                hint: "restore the keychain from a copy")
        @unknown default: self.init(.keychainDamaged, during: operation)
        }
    }

    static let damageHint = "run `valet doctor`"

    /// What helps where the keychain is locked for this process.
    static var unlockHint: String { unlockHint(ofProcess: LockStates.areOfProcess) }

    /// What helps where the keychain is locked.
    ///
    /// - Parameter ofProcess: Whether this process unlocks for itself alone.
    package static func unlockHint(ofProcess: Bool) -> String {
        guard ofProcess else { return "run `valet unlock`" }
        return
            "this process unlocks for itself: with `ValetKeychain.unlock(passcode:)`, or with what "
            + "the descriptor gives whose number is in $VALET_PASSCODE_FD when it starts"
    }

    /// The device key is there, and has another id than the keybag names.
    static func wrongDeviceKey(_ operation: String, path: String? = nil) -> KeychainFailure {
        KeychainFailure(
            .keyUnavailable, during: operation,
            message: "the device key is not the one that this keychain was made with",
            path: path, hint: "put this keychain's own device key back")
    }

    /// The class of an item is not available at this moment.
    static func locked(_ operation: String) -> KeychainFailure {
        KeychainFailure(.locked, during: operation, hint: unlockHint)
    }
}
