// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// The processor time that the calling thread has used: how much work something is, however busy
/// the machine is with other work.
///
/// An instant means something on the thread that took it, and nowhere else.
package struct ThreadTimeClock: Clock {
    /// Processor time since the thread began.
    package struct Instant: InstantProtocol {
        private let time: Duration

        fileprivate init(_ time: Duration) { self.time = time }

        /// The instant `duration` later.
        package func advanced(by duration: Duration) -> Instant { Instant(time + duration) }

        /// How much was used between the two.
        package func duration(to other: Instant) -> Duration { other.time - time }

        package static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
    }

    /// The only one.
    package init() {}

    /// What the calling thread has used so far.
    package var now: Instant {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Instant(.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
    }

    /// One nanosecond.
    package var minimumResolution: Duration { .nanoseconds(1) }

    /// Returns at once: a thread that sleeps uses no processor time, so it would sleep for ever.
    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {}
}
