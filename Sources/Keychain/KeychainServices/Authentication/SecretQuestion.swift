// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem
internal import ValetUserPresence

/// How one call asks the user to type a secret: a passcode, or an application's password.
/// ``PresenceAuthentication`` and ``PasswordAuthentication`` ask with it.
struct SecretQuestion {
    static let tryCount = 3

    let means: AuthenticationMeans
    let reason: String
    let cancelTitle: String?
    var mayAsk: Bool
    let deadline: Deadline
    let cancellation: Cancellation

    /// The application's own words, quoted, so that they cannot imitate Valet's own lines.
    var saidReason: [String] { reason.isEmpty ? [] : ["\u{201C}\(reason)\u{201D}"] }

    func checkThatSomebodyIsThere() throws(KeychainFailure) {
        guard mayAsk else { throw .refused(.notInteractive) }
        do {
            try means.asker.checkThatSomebodyIsThere()
        } catch {
            throw .notInteractive(error)
        }
    }

    /// Asks once.
    ///
    /// - Parameters:
    ///   - line: The first line: which application asks for what.
    ///   - label: The label of the field.
    ///   - problem: What was wrong with the previous answer; nil for the first question.
    ///   - isNew: Whether the user types the secret twice.
    func ask(
        _ line: String, label: String, problem: String? = nil, isNew: Bool = false
    ) throws(KeychainFailure) -> SecretBytes {
        var prompt = PasscodePrompt(
            lines: [line] + saidReason, label: label, previousError: problem)
        prompt.asksTwice = isNew
        prompt.timeout = deadline.remaining
        prompt.cancelTitle = cancelTitle
        prompt.cancellation = cancellation
        do {
            return try means.asker.ask(prompt)
        } catch {
            throw .refused(error, isEnded: cancellation.isCancelled)
        }
    }

    static func wrong(_ noun: String, triesLeft left: Int) -> String {
        "wrong \(noun): \(left == 1 ? "one try is" : "\(left) tries are") left"
    }
}
