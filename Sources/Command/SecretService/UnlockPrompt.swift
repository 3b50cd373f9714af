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
    /// - Parameter done: Gets the answer, and what a yes is for.
    func ask(
        _ session: KeychainSession, onBehalfOf program: AskingProgram,
        _ done: @escaping @Sendable (DesktopQuestion.Answer, Consent?) -> Void
    ) {
        do {
            try BackgroundThread.start {
                let (answer, consent) = answer(session, program)
                done(answer, consent)
            }
        } catch {
            done(.failed("\(error)"), nil)
        }
    }

    private func answer(
        _ session: KeychainSession, _ program: AskingProgram
    ) -> (DesktopQuestion.Answer, Consent?) {
        // Nobody is asked for what was unlocked meanwhile.
        guard isForPasscode, !isOpen(session) else {
            return collections.isEmpty ? (.yes, nil) : confirm(session, program)
        }
        var period: LockPeriod?
        let lines = [Self.wish(of: program), "Unlock the keychain?"]
        let answer = DesktopQuestion(lines: lines, cancellation)
            .unlock(session.store.keychain, in: &period)
        if case .no = answer, collections.isEmpty, isOpen(session) { return (.yes, nil) }
        // The passcode also lets the program use the collections.
        return (answer, period.map { Consent(.untilLock, collections, $0) })
    }

    private func isOpen(_ session: KeychainSession) -> Bool {
        (try? session.isLocked()) == false
    }

    static func wish(of program: AskingProgram) -> String {
        "\(program.title) wants to use your secrets."
    }
}
