// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetTPM

extension KeychainFailure {
    /// What helps where a TPM never gives out the keychain's secrets again.
    static let recoveryHint = "run `valet recovery use`"

    /// What a failure of the TPM means for `operation`: the one place where it is decided.
    ///
    /// - Parameter path: The TPM's.
    init(_ error: TPMError, during operation: String, path: String) {
        let failure = KeychainFailure(
            Self.code(error.code), during: operation, message: Self.message(error.code), path: path,
            hint: Self.hint(error))
        self.init(failure, systemError: error.systemError)
    }

    private static func code(_ code: TPMError.Code) -> Code {
        switch code {
        case .wrongAuthorization: .authenticationFailed
        case .timedOut: .timedOut
        // Another try may do.
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
            "wrong passcode: the TPM takes \(left == 1 ? "1 more try" : "\(left) more tries")"
        case .tooFewTries(let left, let limit):
            "the passcode was not tried: the TPM takes \(left) more of \(limit) tries"
        default: code.explanation
        }
    }

    private static func hint(_ error: TPMError) -> String? {
        switch error.code {
        case .otherTPM, .damaged, .outOfOrder, .refused, .malformedAnswer: recoveryHint
        case .policyFailed: "start the machine as before, or " + recoveryHint
        case .tooFewTries:
            "wait until the TPM has forgiven some, or run `valet unlock --insist`: one wrong try "
                + "more may lock the TPM"
        default: error.hint
        }
    }
}
