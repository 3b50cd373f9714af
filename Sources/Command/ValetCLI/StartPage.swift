// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore

/// What `valet` shows without arguments: the state of the keychain, and where to begin. It asks
/// nobody and creates nothing.
enum StartPage {
    static func show(_ context: Context) throws(CLIError) -> ExitCode {
        let text = """
            valet - store secrets in an encrypted keychain

            \(state(context))

              valet set KEY                    store a secret: asks for it, or reads standard input
              valet get KEY                    write it to standard output
              valet list                       the names of all secrets
              valet run --env NAME=KEY -- PROGRAM
                                               start a program with a secret in its environment
              valet remove KEY                 remove a secret; 'valet undo KEY' brings it back

            'valet passcode set' protects the keychain, 'valet import' fills it from other programs,
            'valet sync' shares it between devices. 'valet --help' lists all verbs, and
            'valet help VERB' explains one.

            """
        try context.console.write(text)
        return .success
    }

    private static func state(_ context: Context) -> String {
        do throws(KeychainFailure) {
            let status = try context.store().keychain.status()
            let folder = Escaping.printable(status.folder)
            switch status.state {
            case .absent: return "There is no keychain yet: the first 'valet set' makes one."
            case .noPasscode: return "Your keychain is in \(folder), and has no passcode."
            case .locked: return "Your keychain in \(folder) is locked: 'valet unlock' opens it."
            default: return "Your keychain in \(folder) is unlocked."
            }
        } catch {
            return "Your keychain cannot be used: 'valet doctor' says why."
        }
    }
}
