// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSystem
internal import ValetUserPresence

/// A question for the passcode, which a client has not asked yet or is asking
/// (Secret Service API 0.2, "Prompts").
struct UnlockPrompt {
    /// What is unlocked with the keychain, by its paths.
    let objects: [String]
    /// Ends the question.
    let cancellation = Cancellation()
    var isAsked = false

    /// Asks, through pinentry, on a thread of its own.
    ///
    func ask(
        _ store: ItemStore, onBehalfOf client: String,
        _ done: @escaping @Sendable (Outcome) -> Void
    ) {
        let cancellation = cancellation
        do {
            try BackgroundThread.start {
                done(Self.unlock(store, onBehalfOf: client, cancellation))
            }
        } catch {
            done(.failed("\(error)"))
        }
    }

    /// How a question ends.
    enum Outcome: Sendable {
        case unlocked
        /// The user, or the client, does not want it.
        case declined
        case failed(String)
    }

    private static func unlock(
        _ store: ItemStore, onBehalfOf client: String, _ cancellation: Cancellation
    ) -> Outcome {
        var problem: String?
        for _ in 0..<3 {
            var prompt = PasscodePrompt(
                lines: ["\(client) wants to use your secrets.", "Unlock the keychain?"],
                previousError: problem)
            prompt.cancellation = cancellation
            do {
                let typed = try PasscodeAsker.forProcess().ask(prompt)
                try store.keychain.unlock(KeychainPasscode(typed), for: nil)
                return .unlocked
            } catch let failure as KeychainFailure where failure.code == .authenticationFailed {
                problem = failure.message
            } catch let error as SystemError where error.code == .cancelled {
                return .declined
            } catch {
                return .failed("\(error)")
            }
        }
        return .declined
    }
}
