// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Ends questions from outside: from any thread, whether they are open or yet to be asked.
///
/// Who asked gets ``UserPresenceError/Code/cancelled``, as when the person had declined, and looks
/// here to tell the two apart. What was cancelled stays so.
package final class PromptCancellation: Sendable {
    private struct State {
        var isCancelled = false
        /// How the open question hears of it; nil while there is none.
        var listener: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Makes one that has not been cancelled.
    package init() {}

    /// Whether ``cancel()`` was called.
    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Ends the question that is open, and those that come. Does not wait for its end.
    package func cancel() {
        state.withLock { state in
            guard !state.isCancelled else { return }
            state.isCancelled = true
            state.listener?()
        }
    }

    /// For the owner of an open question: `tell` is called once; at once, if it is too late.
    ///
    /// A question is open in one place at a time, so that there is one listener. `tell` is called
    /// under a lock: it must not wait, nor use this object.
    package func listen(_ tell: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.listener = tell
            if state.isCancelled { tell() }
        }
    }

    /// Tells nobody any more: when this returns, `tell` is not being called.
    package func stopListening() {
        state.withLock { $0.listener = nil }
    }
}
