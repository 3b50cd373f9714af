// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

/// A question of a client to a person: for the passcode, or whether the client may use collections
/// (Secret Service API 0.2, "Prompts"). The client may not have asked it yet.
struct UnlockPrompt: Sendable {
    /// The paths of the objects that are open afterwards.
    let objects: [String]
    /// The collections that a policy opens only to programs that a person lets use them.
    let collections: Set<String>
    /// Whether the keychain is locked.
    let isForPasscode: Bool
    /// Ends the question.
    let cancellation = Cancellation()
    var stage = Stage.made

    enum Stage: Sendable {
        /// The client has not asked it yet.
        case made
        /// The question of another prompt brings the answer.
        case waiting
        /// There is no place for a question now.
        case queued
        case asked
        /// The client is about to hear of it.
        case answered
    }
    /// The program that the person is shown; nil until the client asks.
    var program: AskingProgram?

    /// Asks, through pinentry, on a thread of its own.
    ///
    /// - Parameter done: Gets the answer, and the period in which a yes counts.
    func ask(
        _ session: KeychainSession, onBehalfOf program: AskingProgram,
        _ done: @escaping @Sendable (DesktopQuestion.Answer, LockPeriod?) -> Void
    ) {
        let wish = "\(program.title) wants to use your secrets."
        do {
            try BackgroundThread.start {
                var period: LockPeriod?
                let answer = answer(session, wish, &period)
                done(answer, period)
            }
        } catch {
            done(.failed("\(error)"), nil)
        }
    }

    private func confirm(_ wish: String) -> DesktopQuestion.Answer {
        let names = collections.sorted().map { "'\($0)'" }.joined(separator: ", ")
        let lines = [
            wish, "It asks for \(names).", "A yes counts until it ends, or until you lock.",
        ]
        return DesktopQuestion(lines: lines, cancellation).confirm(offering: "Allow")
    }

    /// The passcode also lets the program use the collections.
    private func answer(
        _ session: KeychainSession, _ wish: String, _ period: inout LockPeriod?
    ) -> DesktopQuestion.Answer {
        let keychain = session.store.keychain
        // Nobody is asked for what was unlocked meanwhile.
        if !isForPasscode || isOpen(session) {
            let answer = collections.isEmpty ? .yes : confirm(wish)
            period = try? keychain.lockPeriod()
            return answer
        }
        let answer = DesktopQuestion(lines: [wish, "Unlock the keychain?"], cancellation)
            .unlock(keychain, in: &period)
        guard case .no = answer, collections.isEmpty, isOpen(session) else { return answer }
        return .yes
    }

    private func isOpen(_ session: KeychainSession) -> Bool {
        (try? session.isLocked()) == false
    }
}
