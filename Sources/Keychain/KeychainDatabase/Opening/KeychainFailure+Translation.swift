// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetKeys
package import ValetSystem
internal import ValetTPM

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
        default: self.init(.internalFault, during: operation, message: "\(type(of: error))")
        }
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
