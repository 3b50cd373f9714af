// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetKeychainModel

extension CLIError {
    /// What a person is told about a failure of the keychain.
    init(_ failure: KeychainFailure) {
        var message = failure.description
        if failure.systemError != 0 {
            message += ": " + Terminal.text(forSystemError: failure.systemError)
        }
        self.init(
            ExitCode(failure), Escaping.printable(message),
            hint: failure.hint.map(Escaping.printable))
    }
}

extension ExitCode {
    /// The exit code of a failure: that of its code, unless the system denied access to a file.
    init(_ failure: KeychainFailure) {
        let isDenial = failure.systemError == EACCES || failure.systemError == EPERM
        self = isDenial && failure.code == .inputOutput ? .denied : ExitCode(failure.code)
    }

    /// The exit code of what went wrong: the only place where one becomes the other.
    init(_ code: KeychainFailure.Code) {
        self =
            switch code {
            case .itemNotFound: .notFound
            case .valueTooLarge: .usage
            case .damaged, .keychainDamaged: .damaged
            case .locked, .timedOut: .locked
            case .missingEntitlement, .insecureFiles, .authenticationFailed, .userCancelled,
                .interactionNotAllowed:
                .denied
            case .duplicateItem, .invalidRequest, .noSuchAttribute, .noSuchClass, .unimplemented,
                .passcodeNotSet, .keyUnavailable, .incomplete, .newerFormat, .diskFull,
                .inputOutput, .readOnly, .unsupportedFileSystem, .insufficientProtection, .noHome,
                .outOfMemory, .internalFault, .invalidEncoding:
                .failure
            }
    }
}

/// Runs `body`, a request to the keychain, and says what went wrong in the command's words.
func asking<R>(_ body: () throws(KeychainFailure) -> R) throws(CLIError) -> R {
    do {
        return try body()
    } catch {
        throw CLIError(error)
    }
}
