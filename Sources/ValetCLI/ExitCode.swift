// SPDX-License-Identifier: Apache-2.0

/// What the process exits with. Scripts depend on the numbers: they never change.
enum ExitCode: Int32, CaseIterable, Sendable {
    case success = 0
    case failure = 1
    /// As macOS's `security` says that an item was not found.
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
    /// What a shell says of a process that SIGPIPE ended, which this one does of itself.
    case brokenPipe = 141

    /// Those that a command returns.
    static let returned = allCases.filter { $0 != .brokenPipe }

    /// What `--help` says about it.
    var explanation: String {
        switch self {
        case .success: "it worked"
        case .failure: "something failed: standard error says what"
        case .notFound: "there is no such secret, or no keychain"
        case .usage:
            "the command line or the value is wrong, or nobody can be asked"
        case .damaged: "what is stored is damaged or was changed"
        case .alreadyThere: "there is a secret or a file of that name already"
        case .locked: "the keychain is locked or busy: try again later"
        case .denied:
            "access is denied: to a group or the files, for a wrong passcode or passphrase, or by "
                + "a person"
        case .brokenPipe: "nobody reads standard output any more"
        }
    }
}
