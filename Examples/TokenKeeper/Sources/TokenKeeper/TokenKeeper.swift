// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

/// Logs in to a server, and stores the token so that reading it requires the user.
@main struct TokenKeeper {
    static let usage = """
        usage: TokenKeeper login URL NAME    the password is read from standard input
               TokenKeeper whoami            asks you for a passcode or finger, then the server
               TokenKeeper logout
        """

    static func main() async {
        do {
            switch Array(CommandLine.arguments.dropFirst()) {
            case ["whoami"]: print(try await Account.stored().name())
            case ["logout"]: try Account.forget()
            case let words where words.count == 3 && words[0] == "login":
                guard let url = URL(string: words[1]) else { throw Problem.noURL }
                try await Account.logIn(at: url, as: words[2], password: readLine() ?? "")
            default: throw Problem.wrongUse
            }
        } catch {
            FileHandle.standardError.write(Data("TokenKeeper: \(explanation(of: error))\n".utf8))
            exit(1)
        }
    }

    /// A message for the user. The keychain's last failure says more than its error.
    private static func explanation(of error: any Error) -> String {
        switch error {
        case Problem.wrongUse: usage
        case KeychainError.itemNotFound: "you are not logged in"
        case KeychainError.userCancelled: "you did not authenticate; the token stays stored"
        case is KeychainError:
            [KeychainFailure.last?.description, KeychainFailure.last?.hint]
                .compactMap { $0 }.joined(separator: "; ")
        default: "\(error)"
        }
    }
}

/// Why the program failed.
enum Problem: Error {
    case wrongUse, noURL, refused(Int), noAnswer
}
