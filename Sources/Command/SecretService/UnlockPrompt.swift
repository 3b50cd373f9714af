// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSystem
internal import ValetUserPresence

/// A question to a person, which a client has not asked yet or is asking: for the passcode, or
/// whether the client may use collections (Secret Service API 0.2, "Prompts").
struct UnlockPrompt: Sendable {
    /// What is open afterwards, by its paths.
    let objects: [String]
    /// The collections that a policy opens only to programs that a person lets use them.
    let collections: Set<String>
    /// Whether the keychain is locked.
    let isForPasscode: Bool
    /// Ends the question.
    let cancellation = Cancellation()
    var isAsked = false

    /// Asks, through pinentry, on a thread of its own.
    func ask(
        _ store: ItemStore, onBehalfOf program: AskingProgram,
        _ done: @escaping @Sendable (Outcome) -> Void
    ) {
        do {
            try BackgroundThread.start {
                done(isForPasscode ? unlock(store, program.title) : confirm(program.title))
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

    private func confirm(_ program: String) -> Outcome {
        // A long line is cut at its end, and hides no other.
        let names = collections.sorted().map { "'\($0)'" }.joined(separator: ", ")
        var prompt = PasscodePrompt(lines: [
            "\(program) wants to use your secrets.", "Collections (\(collections.count)): \(names)",
            "Allow it until it ends?",
        ])
        prompt.cancellation = cancellation
        do throws(SystemError) {
            try PasscodeAsker.forProcess().tell(
                prompt, offering: "Allow", until: Deadline(after: prompt.timeout))
            return .unlocked
        } catch {
            return error.code == .cancelled ? .declined : .failed("\(error)")
        }
    }

    /// Asks for the passcode. It also lets the program use the collections.
    private func unlock(_ store: ItemStore, _ program: String) -> Outcome {
        var problem: String?
        for _ in 0..<3 {
            var prompt = PasscodePrompt(
                lines: ["\(program) wants to use your secrets.", "Unlock the keychain?"],
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
