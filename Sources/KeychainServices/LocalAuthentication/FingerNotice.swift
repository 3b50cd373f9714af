// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization
internal import ValetSystem
internal import ValetUserPresence

/// What a person is shown while a reader waits for their finger, and what they do about it.
///
/// It is shown once the reader waits, and anew when a try was of no use, on a thread of its own:
/// the caller's waits for the reader. Whichever of the two ends first ends the other.
final class FingerNotice: Sendable {
    /// What came of it.
    enum Outcome {
        /// The passcode is preferred.
        case passcode
        /// The person declined, or there is no place to show anything.
        case failed(UserPresenceError)
    }

    private struct State {
        /// What the reader says is to be done; nil until it waits.
        var instruction: String?
        /// Why the last try was of no use.
        var problem: String?
        /// Ends what is shown.
        var shown: PromptCancellation?
        var isOver = false
        var outcome: Outcome?
    }

    /// How long the end of what is shown may take, in seconds.
    private static let patience = 5.0

    /// Ends the waiting for a finger.
    let waiting = PromptCancellation()

    private let asker: PasscodeAsker
    /// The application and its reason.
    private let lines: [String]
    private let cancelTitle: String?
    private let offer: String?
    private let deadline: Deadline
    private let state = Mutex(State())
    private let end = DispatchSemaphore(value: 0)

    /// One that is not shown yet.
    ///
    /// - Parameters:
    ///   - lines: The application and its reason.
    ///   - offer: What stands on the button for the passcode; nil where it is of no use.
    init(
        _ lines: [String], cancelTitle: String?, offering offer: String?, by asker: PasscodeAsker,
        until deadline: Deadline
    ) {
        (self.lines, self.cancelTitle, self.offer) = (lines, cancelTitle, offer)
        (self.asker, self.deadline) = (asker, deadline)
    }

    /// Shows `line`: what is to be done, the first time, and then what was wrong with a try.
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
        if isFirst { Thread.detachNewThread { self.show() } }
    }

    /// Ends what is shown, and the waiting for a finger. Does not wait for their ends.
    func cancel() {
        takeAway()
        waiting.cancel()
    }

    /// Ends what is shown, and waits for its end.
    ///
    /// - Returns: What came of it; nil if it was never shown, or was ended by this.
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

    /// Ends by the deadline, and two seconds later at most.
    private func show() {
        while let prompt = nextPrompt() {
            do throws(UserPresenceError) {
                try asker.tell(prompt, offering: offer, until: deadline)
                note(.passcode)
            } catch {
                // Ended by us: there is something new to show, or nothing any more.
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
            let ending = PromptCancellation()
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
