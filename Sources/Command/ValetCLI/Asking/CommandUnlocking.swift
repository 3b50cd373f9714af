// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem
internal import ValetUserPresence

/// Unlocks a keychain that a verb finds locked.
///
/// Where each process keeps its own opened keys, asks for the passcode. Where programs share them,
/// offers the user at a terminal to unlock the keychain: first asks for the passcode, then whether
/// to keep the keychain unlocked for longer.
struct CommandUnlocking {
    let passcodes: any SecretSource
    let keychain: Keychain
    let console: any Console

    /// Runs `body`. If the keychain is locked, unlocks it and runs `body` again, unless it has
    /// changed something before.
    func run<R>(
        _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        do {
            return try body()
        } catch {
            guard error.code == .locked, !error.hasTakenEffect else { throw error }
            if try keychain.status().isUnlockedByProcess {
                try withPasscode("Unlock the keychain for this command.", after: error) {
                    (passcode) throws(KeychainFailure) in
                    try keychain.unlock(passcode)
                }
            } else {
                guard console.canOffer, passcodes.isInteractive else { throw error }
                let passcode = try withPasscode(Self.offer, after: error) {
                    (passcode) throws(KeychainFailure) in
                    try keychain.check(passcode)
                    return passcode
                }
                try unlock(passcode)
            }
            return try body()
        }
    }

    /// Unlocks for whom the user at the terminal says: for this process alone, or for all programs
    /// that share opened keys, until they are locked or for a time.
    private func unlock(_ passcode: Passcode) throws(KeychainFailure) {
        for _ in 0..<3 {
            guard let answer = try? console.askLine(Self.question),
                !["", "n", "N", "q"].contains(answer)
            else { break }
            let duration = DurationText.duration(answer)
            if duration != nil || ["u", "U"].contains(answer) {
                return try keychain.unlock(passcode, for: duration)
            }
            console.note("valet: answer with Enter, u or a time: 15m, 8h")
        }
        try keychain.unlockForThisProcess(passcode)
    }

    /// Runs `body` with the passcode. A person has three tries.
    private func withPasscode<R>(
        _ purpose: String, after failure: KeychainFailure,
        _ body: (Passcode) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        var problem: String?
        var triesLeft = passcodes.isInteractive ? 3 : 1
        while true {
            triesLeft -= 1
            let passcode = try Passcode(try ask(purpose, problem, failure))
            do {
                return try body(passcode)
            } catch {
                guard error.code == .authenticationFailed, triesLeft > 0 else { throw error }
                problem = error.message
            }
        }
    }

    private func ask(
        _ purpose: String, _ problem: String?, _ failure: KeychainFailure
    ) throws(KeychainFailure) -> SecretBytes {
        do {
            return try passcodes.ask(
                PasscodePrompt(description: purpose, previousError: problem))
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

    private static let offer =
        "The keychain is locked. Its passcode unlocks it for this command; Ctrl-D leaves it locked."
    private static let question =
        "Keep it unlocked for other programs, too: no (Enter), for a time (15m, 8h), or until "
        + "'valet lock' (u)? "

    private static let hint =
        "pass the passcode through a file descriptor, and its number in $VALET_PASSCODE_FD: "
        + "VALET_PASSCODE_FD=3 … 3<passcode.txt"
}
