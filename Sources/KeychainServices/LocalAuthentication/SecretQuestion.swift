// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory
internal import ValetSystem
internal import ValetUserPresence

/// How one call asks a person for what they type: a passcode, or an application's password.
struct SecretQuestion {
    /// How often a person may try.
    static let tryCount = 3

    let means: AuthenticationMeans
    /// What the application says that it is for.
    let reason: String
    /// What stands on the button that declines.
    let cancelTitle: String?
    /// Whether a person may be asked.
    var mayAsk: Bool
    let deadline: Deadline
    let cancellation: PromptCancellation

    /// The application's own words, in a line that cannot pass for another.
    var saidReason: [String] { reason.isEmpty ? [] : ["\u{201C}\(reason)\u{201D}"] }

    func checkThatSomebodyIsThere() throws(AuthenticationRefusal) {
        guard mayAsk else { throw .notInteractive(nil) }
        do throws(UserPresenceError) {
            try means.asker.checkThatSomebodyIsThere()
        } catch {
            throw .notInteractive(error)
        }
    }

    /// Asks once.
    ///
    /// - Parameters:
    ///   - line: What the person reads first: who asks for what.
    ///   - label: What stands in front of the answer.
    ///   - problem: What was wrong with the answer before.
    ///   - isNew: Whether it is asked for twice, and both have to be equal.
    func ask(
        _ line: String, label: String, problem: String? = nil, isNew: Bool = false
    ) throws(AuthenticationRefusal) -> SecretBytes {
        var prompt = PasscodePrompt(
            lines: [line] + saidReason, label: label, previousError: problem)
        prompt.asksTwice = isNew
        prompt.timeout = deadline.remaining
        prompt.cancelTitle = cancelTitle
        prompt.cancellation = cancellation
        do throws(UserPresenceError) {
            return try means.asker.ask(prompt)
        } catch {
            throw AuthenticationRefusal(error, isEnded: cancellation.isCancelled)
        }
    }

    /// What a person reads after a wrong answer.
    static func wrong(_ noun: String, triesLeft left: Int) -> String {
        "wrong \(noun): \(left == 1 ? "one try is" : "\(left) tries are") left"
    }
}
