// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetUserPresence

/// Unlocks a keychain for this process alone where opened keys stay in each process.
struct ProcessUnlocking {
    let passcodes: any SecretSource
    /// Whether opened keys stay in each process.
    let isByProcess: () throws(KeychainFailure) -> Bool
    let unlock: (KeychainPasscode) throws(KeychainFailure) -> Void

    /// Runs `body`, and once more after unlocking if it met the keychain locked.
    func run<R>(
        _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        do throws(KeychainFailure) {
            return try body()
        } catch {
            guard error.code == .locked, try isByProcess() else { throw error }
            try askAndUnlock(after: error)
            return try body()
        }
    }

    private func askAndUnlock(after failure: KeychainFailure) throws(KeychainFailure) {
        var problem: String?
        var triesLeft = passcodes.isInteractive ? 3 : 1
        while true {
            triesLeft -= 1
            let passcode = try KeychainPasscode(try ask(problem, failure))
            do throws(KeychainFailure) {
                return try unlock(passcode)
            } catch {
                guard error.code == .authenticationFailed, triesLeft > 0 else { throw error }
                problem = error.message
            }
        }
    }

    private func ask(
        _ problem: String?, _ failure: KeychainFailure
    ) throws(KeychainFailure) -> SecretBytes {
        do throws(UserPresenceError) {
            return try passcodes.ask(
                PasscodePrompt(
                    description: "Unlock the keychain for this command.", previousError: problem))
        } catch {
            if error.code == .cancelled {
                throw KeychainFailure(.userCancelled, during: failure.operation)
            }
            let reason = KeychainFailure(
                .locked, during: failure.operation,
                message: "\(failure.message), and \(error.reason)")
            throw KeychainFailure(reason, hint: Self.hint)
        }
    }

    private static let hint =
        "give the passcode through a descriptor, and its number in $VALET_PASSCODE_FD: "
        + "VALET_PASSCODE_FD=3 … 3<passcode.txt"
}
