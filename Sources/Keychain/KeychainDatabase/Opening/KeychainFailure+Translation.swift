// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetKeys
internal import ValetSystem
package import ValetTPM

// How errors of the lower modules become a `KeychainFailure`: code, message and hint. Every call of
// the store passes its errors through here.

/// Runs `body` and turns its errors into failures of `operation`. A ``KeychainFailure`` passes
/// unchanged.
@inline(__always)
package func translating<R: ~Copyable>(
    _ operation: String, _ body: () throws -> R
) throws(KeychainFailure) -> R {
    do {
        return try body()
    } catch {
        throw KeychainFailure(translating: error, during: operation)
    }
}

extension KeychainFailure {
    /// The failure of `operation` for an error of a lower module. A ``KeychainFailure`` stays
    /// unchanged.
    package init(translating error: any Error, during operation: String) {
        switch error {
        case let failure as KeychainFailure:
            let isOfKeybag = failure.operation == Self.openingKeybag
            self = isOfKeybag ? KeychainFailure(failure, during: operation) : failure
        case let error as SystemError: self.init(error, during: operation)
        case let error as RowFailure: self.init(error, during: operation)
        case PresenceDemand.proofs, PresenceDemand.passwords:
            self.init(.interactionNotAllowed, during: operation)
        case PresenceDemand.newPassword:
            self.init(
                .interactionNotAllowed, during: operation,
                message: "the item requires an application password, and none was given",
                hint: "remove the item first, or give the password with SecItemUpdate")
        default: self.init(.internalFault, during: operation, message: "\(type(of: error))")
        }
    }

    private init(_ error: RowFailure, during operation: String) {
        switch error {
        case .locked: self = .locked(operation)
        case .needsPerson: self.init(.interactionNotAllowed, during: operation)
        case .needsPasscode:
            self.init(
                .passcodeNotSet, during: operation,
                hint: "set one with `valet passcode set`; other accessibilities need none")
        case .index:
            self.init(
                .keychainDamaged, during: operation,
                message: "an index of the database is damaged", hint: Self.repairHint)
        case .column, .seal, .content:
            self.init(.damaged, during: operation, hint: Self.damageHint)
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
    /// The hint for a TPM that will never again release the keychain's secrets.
    static let recoveryHint = "run `valet recovery use`"

    /// The failure of `operation` for an error of the TPM. Nothing else translates these errors.
    ///
    /// - Parameter path: The path of the TPM.
    package init(_ error: TPMError, during operation: String, path: String) {
        let failure = KeychainFailure(
            Self.code(error.code), during: operation, message: Self.message(error.code), path: path,
            hint: Self.hint(error))
        self.init(failure, systemError: error.systemError)
    }

    private static func code(_ code: TPMError.Code) -> Code {
        switch code {
        case .wrongAuthorization: .authenticationFailed
        case .timedOut: .timedOut
        // Another try may succeed.
        case .connectionLost, .full: .inputOutput
        case .malformed: .keychainDamaged
        case .notBuilt, .libraryMissing, .noDevice, .noPermission, .outOfOrder, .otherTPM, .damaged,
            .policyFailed, .pcrsUnavailable, .tooFewTries, .lockedOut, .ownerAuthorizationNeeded,
            .refused, .malformedAnswer:
            .keyUnavailable
        @unknown default: .keyUnavailable
        }
    }

    private static func message(_ code: TPMError.Code) -> String {
        switch code {
        case .wrongAuthorization(.none): "wrong passcode"
        case .wrongAuthorization(.some(let left)):
            "wrong passcode: the TPM allows \(left == 1 ? "1 more try" : "\(left) more tries")"
        case .tooFewTries(let left, let limit):
            "the passcode was not tried: the TPM allows \(left) more of \(limit) tries"
        default: code.explanation
        }
    }

    private static func hint(_ error: TPMError) -> String? {
        switch error.code {
        case .otherTPM, .damaged, .outOfOrder, .refused, .malformedAnswer: recoveryHint
        case .policyFailed: "start the machine as before, or " + recoveryHint
        case .tooFewTries:
            "wait until the TPM allows more tries, or run `valet unlock --insist`: one more wrong "
                + "try may lock the TPM"
        default: error.hint
        }
    }
}
