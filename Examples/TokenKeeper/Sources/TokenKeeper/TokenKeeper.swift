// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

/// Logs in to a server and keeps the token that it gives behind the presence of its user.
@main struct TokenKeeper {
    static let usage = """
        usage: TokenKeeper login URL NAME    the password is read from standard input
               TokenKeeper whoami            asks for you, then the server
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

    /// What a person can do something with: the keychain knows more than its error says.
    private static func explanation(of error: any Error) -> String {
        switch error {
        case Problem.wrongUse: usage
        case KeychainError.itemNotFound: "you are not logged in"
        case KeychainError.userCancelled: "the token stays where it is: you were not recognised"
        case is KeychainError:
            [KeychainFailure.last?.description, KeychainFailure.last?.hint]
                .compactMap { $0 }.joined(separator: "; ")
        default: "\(error)"
        }
    }
}

/// Why the program could not do what it was asked for.
enum Problem: Error {
    case wrongUse, noURL, refused(Int), noAnswer
}
