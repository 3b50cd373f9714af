// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetKeys
package import ValetSystem
internal import ValetTPM

// How errors of the platform become failures of a call. Below a call's steps everything throws
// `SystemError`; the steps themselves, which know the operation, throw `KeychainFailure`.

/// Runs `body`, and turns its error into a failure of `operation`.
@inline(__always)
package func translating<R: ~Copyable>(
    _ operation: String, _ body: () throws(SystemError) -> R
) throws(KeychainFailure) -> R {
    do {
        return try body()
    } catch {
        throw KeychainFailure(error, during: operation)
    }
}

/// Like ``translating(_:_:)``, for one expression.
@inline(__always)
package func translating<R: ~Copyable>(
    _ result: @autoclosure () throws(SystemError) -> R, during operation: String
) throws(KeychainFailure) -> R {
    try translating(operation, result)
}

extension KeychainFailure {
    /// This failure; a failure to open the keybag becomes a failure of `operation`.
    func unlessOfKeybag(_ operation: String) -> KeychainFailure {
        self.operation == Self.openingKeybag ? KeychainFailure(self, during: operation) : self
    }

    /// The failure of `operation`, which cannot ask for what it needs.
    package init(_ demand: PresenceDemand, during operation: String) {
        switch demand {
        case .proofs, .passwords: self.init(.interactionNotAllowed, during: operation)
        case .newPassword:
            self.init(
                .interactionNotAllowed, during: operation,
                message: "the item requires an application password, and none was given",
                hint: "remove the item first, or give the password with SecItemUpdate")
        }
    }

    static let damageHint = "run `valet doctor`"

    /// The advice for a keychain that is locked for this process.
    package static var unlockAdvice: Advice { unlockAdvice(ofProcess: LockStates.areOfProcess) }

    /// The advice for a locked keychain.
    ///
    /// - Parameter ofProcess: Whether this process unlocks only for itself.
    package static func unlockAdvice(ofProcess: Bool) -> Advice {
        guard ofProcess else { return .text("run `valet unlock`") }
        return .call(
            .unlock,
            alternative: "set $VALET_PASSCODE_FD to a descriptor that supplies the passcode")
    }

    /// This failure, with the advice to unlock if its code is `locked` and it has no advice. Code
    /// that reads rows does not add the advice: finding out who shares opened keys takes several
    /// system calls.
    var withUnlockAdvice: KeychainFailure {
        guard code == .locked, advice == nil else { return self }
        return KeychainFailure(self, advice: Self.unlockAdvice)
    }

    /// The failure for a protection class that is locked now.
    static func locked(_ operation: String) -> KeychainFailure {
        KeychainFailure(.locked, during: operation, advice: unlockAdvice)
    }
}

extension KeychainFailure {
    /// Whether the failure says only that the keychain was replaced during the call.
    var isOfReplacement: Bool {
        code == .timedOut && message == SystemError.Code.replaced.reason
    }
}

extension KeychainFailure {
    /// The failure of `operation` for an error of the TPM at `path`.
    package init(ofTPM error: SystemError, during operation: String, path: String) {
        let code: Code =
            switch error.code {
            case .wrongAuthorization: .authenticationFailed
            case .timedOut: .timedOut
            // Another try may succeed.
            case .connectionLost, .full: .inputOutput
            case .malformed: .keychainDamaged
            default: .keyUnavailable
            }
        let failure = KeychainFailure(
            code, during: operation, message: error.code.reason, path: path, hint: error.hint)
        self.init(failure, systemError: error.systemError ?? 0)
    }
}
