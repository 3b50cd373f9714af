// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import ValetKeychainModel
internal import ValetSystem
internal import ValetUserPresence

/// The notice for the user while a reader waits for a finger: a window or a line in the terminal.
/// ``PresenceAuthentication`` shows it.
///
/// It appears once the reader waits, and again after each failed try. It runs on a thread of its
/// own, because the caller's thread waits for the reader. When the notice ends, it ends the
/// reader's waiting, and the other way round.
final class FingerNotice: Sendable {
    enum Outcome {
        case passcode
        case failed(SystemError)
        case notShown
    }

    private struct State {
        /// What the reader asks the user to do; nil until it waits.
        var instruction: String?
        var problem: String?
        var shown: Cancellation?
        var isOver = false
        var outcome: Outcome?
    }

    /// How long a notice may take to end, in seconds.
    private static let patience = 5.0

    let waiting = Cancellation()

    private let asker: PasscodeAsker
    private let lines: [String]
    private let cancelTitle: String?
    private let offer: String?
    private let deadline: Deadline
    private let state = Lock(State())
    private let end = DispatchSemaphore(value: 0)

    /// A notice that is not shown yet.
    ///
    /// - Parameters:
    ///   - lines: The application and its reason.
    ///   - offer: The title of the button for the passcode; nil if the passcode does not help.
    init(
        _ lines: [String], cancelTitle: String?, offering offer: String?, by asker: PasscodeAsker,
        until deadline: Deadline
    ) {
        (self.lines, self.cancelTitle, self.offer) = (lines, cancelTitle, offer)
        (self.asker, self.deadline) = (asker, deadline)
    }

    /// Shows `line`: first the instructions, later the reason of each failed try.
    func tell(_ line: String) {
        let isFirst = state.withLock { state in
            guard state.instruction != nil else {
                state.instruction = line
                return true
            }
            state.problem = line
            state.shown?.cancel()
            return false
        }
        guard isFirst else { return }
        do {
            try startThread { self.show() }
        } catch {
            note(.notShown)
            waiting.cancel()
            end.signal()
        }
    }

    /// Ends the notice and the reader's waiting. Returns before they have ended.
    func cancel() {
        takeAway()
        waiting.cancel()
    }

    /// Ends the notice, and waits until it has ended.
    ///
    /// - Returns: How the user answered; nil if the notice was never shown, or this call ended it.
    func finish() -> Outcome? {
        takeAway()
        guard state.withLock({ $0.instruction != nil }) else { return nil }
        _ = end.wait(timeout: .now() + Self.patience)
        return state.withLock { $0.outcome }
    }

    private func takeAway() {
        state.withLock { state in
            state.isOver = true
            state.shown?.cancel()
        }
    }

    /// Returns by the deadline, or two seconds later at most.
    private func show() {
        while let prompt = nextPrompt() {
            do {
                try asker.tell(prompt, offering: offer, until: deadline)
                note(.passcode)
            } catch {
                // `tell` or `takeAway` has ended the prompt: there is a new line to show, or none.
                if prompt.cancellation?.isCancelled == true { continue }
                note(.failed(error))
            }
            waiting.cancel()
            break
        }
        end.signal()
    }

    private func nextPrompt() -> PasscodePrompt? {
        state.withLock { state in
            guard !state.isOver, let instruction = state.instruction else { return nil }
            let ending = Cancellation()
            state.shown = ending
            var prompt = PasscodePrompt(lines: lines + [instruction], previousError: state.problem)
            prompt.cancelTitle = cancelTitle
            prompt.cancellation = ending
            return prompt
        }
    }

    private func note(_ outcome: Outcome) {
        state.withLock { $0.outcome = outcome }
    }
}
