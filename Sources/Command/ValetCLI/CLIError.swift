// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import ValetKeychainModel
package import ValetSystem
internal import ValetUserPresence

// `ValetCLI` turns a command line into requests to the keychain.
//
// How a command fails: an exit code, a message and a hint, and how failures of the modules below
// become these.

/// How a command fails.
package struct CLIError: Error, Hashable, Sendable {
    /// The exit code of the process, never ``ExitCode/success``.
    package let code: ExitCode
    /// The fault: lower case, no full stop, never a value.
    package let message: String
    /// What helps.
    package let hint: String?
    /// The KEY and options of each item that may be meant, as a shell reads them.
    var choices: [String] = []
    /// Whether one item is damaged, and not the keychain.
    private(set) var isOfDamagedItem = false

    package init(_ code: ExitCode, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    /// The same error, with the place of the text that led to it.
    func at(_ place: String) -> CLIError {
        var error = CLIError(code, "\(place): \(message)", hint: hint)
        error.choices = choices
        return error
    }

    /// For callers that asked for JSON.
    var json: JSON {
        var members: [JSON.Member] = [
            JSON.Member(name: "code", value: .string("\(code)")),
            JSON.Member(name: "exitCode", value: .number(code.rawValue)),
            JSON.Member(name: "message", value: .string(message)),
            JSON.Member(name: "hint", value: .text(hint)),
        ]
        if !choices.isEmpty {
            members.append(JSON.Member(name: "choices", value: .array(choices.map(JSON.string))))
        }
        return .object(["error": .object(members)])
    }

    package static func usage(_ message: String, hint: String? = nil) -> CLIError {
        CLIError(.usage, message, hint: hint)
    }
}

extension CLIError {
    package init(_ failure: KeychainFailure) {
        var message = failure.description
        if failure.systemError != 0 {
            message += ": " + Terminal.text(forSystemError: failure.systemError)
        }
        self.init(
            ExitCode(failure), Escaping.printable(message),
            hint: failure.commandHint.map(Escaping.printable))
        isOfDamagedItem = failure.code == .damaged
    }
}

extension ExitCode {
    /// The exit code of a failure: that of its code, unless the system denied access to a file.
    init(_ failure: KeychainFailure) {
        let isDenial = failure.systemError == EACCES || failure.systemError == EPERM
        self = isDenial && failure.code == .inputOutput ? .denied : ExitCode(failure.code)
    }

    /// The exit code of a failure's code: the only place that translates them.
    init(_ code: KeychainFailure.Code) {
        self =
            switch code {
            case .itemNotFound: .notFound
            case .duplicateItem: .alreadyThere
            case .valueTooLarge: .usage
            case .damaged, .keychainDamaged: .damaged
            case .locked, .timedOut: .locked
            case .missingEntitlement, .insecureFiles, .authenticationFailed, .userCancelled,
                .interactionNotAllowed:
                .denied
            default: .failure
            }
    }
}

/// Evaluates `request`, a request to the keychain, and translates its failure into a `CLIError`.
package func requesting<R>(
    _ request: @autoclosure () throws(KeychainFailure) -> R
) throws(CLIError) -> R {
    do {
        return try request()
    } catch {
        throw CLIError(error)
    }
}

extension CLIError {
    /// The error for a question that was not answered.
    package init(_ error: SystemError) {
        let message = "could not \(error.operation): \(error.reason)"
        let code: ExitCode =
            switch error.code {
            case .tooLong, .severalLines, .empty: .usage
            // An option can answer in place of a person, so having nobody to ask is an error of
            // usage.
            case .nobodyThere, .interactionOff: .usage
            case .cancelled: .denied
            default: .failure
            }
        let hint: String? =
            switch error.code {
            case .severalLines: "paste one line; the lines after it were discarded"
            default: error.hint
            }
        self.init(code, message, hint: hint)
    }
}

extension SystemError {
    /// Why there is no answer.
    var reason: String {
        systemError.map(Terminal.text(forSystemError:)) ?? code.reason
    }
}

/// The exit code of the process. Scripts depend on the numbers: they never change.
package enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    case failure = 1
    /// The code of macOS's `security` for an item that is not found.
    case notFound = 44
    /// EX_USAGE.
    case usage = 64
    /// EX_DATAERR.
    case damaged = 65
    /// EX_CANTCREAT.
    case alreadyThere = 73
    /// EX_TEMPFAIL: trying later may work.
    case locked = 75
    /// EX_NOPERM.
    case denied = 77
    /// The code of shells for a program that cannot be started.
    case cannotStart = 126
    /// The code of shells for a program that does not exist.
    case noSuchProgram = 127
    /// The code that shells report for a process that SIGPIPE ended, as this process ends itself.
    case brokenPipe = 141

    /// The codes that a command returns.
    static let returned = allCases.filter { $0.rawValue < cannotStart.rawValue }

    /// The explanation in `--help`.
    var explanation: String {
        switch self {
        case .success: "success"
        case .failure: "failure; see the message on standard error"
        case .notFound: "no such secret, or no keychain"
        case .usage: "wrong usage, a wrong value, or nobody can be asked"
        case .damaged: "stored data is damaged or was tampered with"
        case .alreadyThere: "a secret or file of that name exists already"
        case .locked: "the keychain is locked or busy: try again later"
        case .denied:
            "access to a group or file is denied, a passcode or passphrase is wrong, or you "
                + "declined"
        case .cannotStart: "the program cannot be started"
        case .noSuchProgram: "there is no such program"
        case .brokenPipe: "the reader of standard output has gone"
        }
    }
}
