// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainKeys
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSecretMemory
internal import ValetUserPresence

/// Unlocks a keychain that a verb finds locked.
///
/// Where each process keeps its own opened keys, asks for the passcode. Where programs share them,
/// the user at a terminal chooses: for this command, for longer, or not at all.
struct CommandUnlocking {
    let passcodes: any SecretSource
    let keychain: any KeychainAccess
    let console: any Console

    /// Runs `body`. If the keychain is locked, unlocks it and runs `body` again.
    func run<R>(
        _ body: () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        do throws(KeychainFailure) {
            return try body()
        } catch {
            guard error.code == .locked, let reach = try reach(error) else { throw error }
            try askAndUnlock(reach, after: error)
            return try body()
        }
    }

    /// For whom to unlock; nil for nobody.
    private func reach(_ failure: KeychainFailure) throws(KeychainFailure) -> UnlockReach? {
        if try keychain.isUnlockedByProcess() { return .process }
        guard console.canOffer, passcodes.isInteractive else { return nil }
        console.note("valet: the keychain is locked")
        for _ in 0..<3 {
            let answer: String
            do throws(CLIError) {
                answer = try console.askLine(Self.question)
            } catch {
                return nil
            }
            switch answer {
            case "": return .process
            case "u", "U": return .session(nil)
            case "n", "N", "q": throw KeychainFailure(.userCancelled, during: failure.operation)
            default:
                if let duration = DurationText.duration(answer) { return .session(duration) }
                console.note("valet: answer with Enter, u, n or a time: 15m, 8h")
            }
        }
        return nil
    }

    private func askAndUnlock(
        _ reach: UnlockReach, after failure: KeychainFailure
    ) throws(KeychainFailure) {
        var problem: String?
        var triesLeft = passcodes.isInteractive ? 3 : 1
        while true {
            triesLeft -= 1
            let passcode = try KeychainPasscode(try ask(reach, problem, failure))
            do throws(KeychainFailure) {
                return try keychain.unlock(passcode, reach)
            } catch {
                guard error.code == .authenticationFailed, triesLeft > 0 else { throw error }
                problem = error.message
            }
        }
    }

    private func ask(
        _ reach: UnlockReach, _ problem: String?, _ failure: KeychainFailure
    ) throws(KeychainFailure) -> SecretBytes {
        let purpose =
            switch reach {
            case .process: "Unlock the keychain for this command."
            case .session(nil): "Unlock the keychain until 'valet lock'."
            case .session(let duration?):
                "Unlock the keychain for \(DurationText.text(duration))."
            }
        do throws(UserPresenceError) {
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

    private static let question =
        "Unlock it for this command (Enter), for a time (15m, 8h), until 'valet lock' (u), or not "
        + "(n)? "

    private static let hint =
        "pass the passcode through a file descriptor, and its number in $VALET_PASSCODE_FD: "
        + "VALET_PASSCODE_FD=3 … 3<passcode.txt"
}
