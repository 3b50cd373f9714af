// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Lets any thread end the waits of any number of other threads.
///
/// A cancellation cannot be undone: make a new one for each answer or thread that is waited for.
package final class Cancellation: Sendable {
    private struct State: ~Copyable {
        var isCancelled = false
        /// An eventfd(2), made for the first thread that polls it.
        var bell: HeldDescriptor?
        var listener: (@Sendable () -> Void)?
    }

    private let state = Lock(State())

    /// Makes one that is not cancelled.
    package init() {}

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Ends all waits, now and later. Does not wait until they have ended.
    package func cancel() {
        state.withLock { state in
            guard !state.isCancelled else { return }
            state.isCancelled = true
            Self.ring(&state)
            state.listener?()
        }
    }

    /// Calls `body` once, when this is cancelled; at once, if it is cancelled already.
    ///
    /// There is one listener at a time. `body` is called under a lock: it must not wait, nor use
    /// this object.
    package func listen(_ body: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.listener = body
            if state.isCancelled { body() }
        }
    }

    /// Removes the listener: when this returns, it is not being called.
    package func stopListening() {
        state.withLock { $0.listener = nil }
    }

    /// A descriptor to poll and not to read, readable once this is cancelled; −1 if the process can
    /// open nothing more.
    var descriptor: Int32 {
        state.withLock { state in
            // Other code may have closed the previous descriptor.
            if state.bell?.isSound != true {
                state.bell = HeldDescriptor.bell()
                if state.isCancelled { Self.ring(&state) }
            }
            return state.bell?.number ?? -1
        }
    }

    private static func ring(_ state: inout State) {
        guard state.bell?.isSound == true, let number = state.bell?.number else { return }
        // Fails only if the counter overflows, and it is written once per descriptor.
        _ = eventfd_write(number, 1)
    }
}

/// The limits of a wait for a descriptor: a deadline, a cancellation, or a signal that a
/// ``SignalRelay`` has taken.
package struct WaitLimit: Sendable {
    package enum Outcome: Sendable {
        /// There is something to read, or room to write, or the other end was closed.
        case ready
        case signal
        /// Another thread used the cancellation.
        case cancelled
        case deadline
    }

    package let deadline: Deadline
    /// What ends the wait earlier.
    package let cancellation: Cancellation?
    private let signals: Int32

    /// A limit at `deadline`, at `cancellation`, or when `signals`, the descriptor of a
    /// ``SignalRelay`` or a ``Bell``, can be read.
    package init(
        until deadline: Deadline, cancellation: Cancellation? = nil, signals: Int32 = -1
    ) {
        self.deadline = deadline
        self.cancellation = cancellation
        self.signals = signals
    }

    /// The same with another deadline.
    package func ending(at deadline: Deadline) -> WaitLimit {
        WaitLimit(until: deadline, cancellation: cancellation, signals: signals)
    }

    /// The descriptors that become readable when a cancellation or a signal ends the wait: for
    /// callers whose library waits for descriptors. They then call ``wait(for:_:)`` with −1 to see
    /// which it was.
    package var descriptors: [Int32] {
        [cancellation?.descriptor ?? -1, signals].filter { $0 >= 0 }
    }

    /// Waits until `descriptor` is ready for one of `events`, as poll(2) names them. A descriptor
    /// of −1 is never ready.
    package func wait(for descriptor: Int32, _ events: Int32 = POLLIN) -> Outcome {
        while true {
            let bell = cancellation?.descriptor ?? -1
            var requests = [
                pollfd(fd: bell, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0),
            ]
            // A cancellation without a descriptor cannot wake this thread, so it is polled.
            let isDeaf = cancellation != nil && bell < 0
            let end = isDeaf ? min(deadline, Deadline(after: .milliseconds(50))) : deadline
            let hasEvent = Poll.wait(for: &requests, until: end)
            if cancellation?.isCancelled == true { return .cancelled }
            if requests[1].revents != 0 { return .signal }
            if hasEvent, descriptor >= 0 { return .ready }
            if deadline.hasPassed { return .deadline }
        }
    }
}

/// The only caller of poll(2) in this module.
enum Poll {
    /// In nanoseconds: the pause before another try where the kernel refuses the call.
    private static let pause: Int64 = 100_000_000

    /// Waits until one of `requests` is ready.
    ///
    /// If the kernel has no memory for the wait, this tries again until the deadline. Until
    /// then no descriptor is reported as ready, because the caller's read could block.
    ///
    /// - Returns: false at the deadline.
    static func wait(for requests: inout [pollfd], until deadline: Deadline) -> Bool {
        while true {
            let count = unsafe poll(
                &requests, nfds_t(requests.count), deadline.pollMilliseconds)
            if count > 0 { return true }
            if count < 0, errno != EINTR { _ = deadline.sleep(atMost: pause) }
            if deadline.hasPassed { return false }
        }
    }
}
