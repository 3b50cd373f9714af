// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import Synchronization

/// Ends questions from outside: from any thread, whether they are open or yet to be asked.
///
/// Who asked gets ``UserPresenceError/Code/cancelled``, as when the person had declined, and looks
/// here to tell the two apart. What was cancelled stays so.
package final class PromptCancellation: Sendable {
    private struct State {
        var isCancelled = false
        /// Where the open question hears of it; −1 while there is none.
        var listener: Int32 = -1
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
            Self.tell(state.listener)
        }
    }

    /// Has `descriptor` told, by a byte that is no signal's; at once, if it is too late.
    ///
    /// A question is open in one place of a process at a time, so that there is one listener.
    func listen(_ descriptor: Int32) {
        state.withLock { state in
            state.listener = descriptor
            if state.isCancelled { Self.tell(descriptor) }
        }
    }

    /// Tells nobody any more: the descriptor is about to be closed.
    func stopListening() {
        state.withLock { $0.listener = -1 }
    }

    private static func tell(_ descriptor: Int32) {
        guard descriptor >= 0 else { return }
        _ = Descriptor.write([0].span, to: descriptor)
    }
}
