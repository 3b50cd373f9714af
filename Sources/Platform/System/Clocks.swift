// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A moment on the monotonic clock at which waiting ends.
///
/// Each call of the keychain makes one deadline and passes it to everything that waits.
package struct Deadline: Hashable, Comparable, Sendable {
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    package let nanoseconds: Int64

    package static func < (left: Deadline, right: Deadline) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    package static var never: Deadline { Deadline(nanoseconds: .max) }

    /// A deadline that has already passed: try once, do not wait.
    package static var immediately: Deadline { Deadline(nanoseconds: 0) }

    /// The moment `duration` from now; costs one read of the clock.
    package init(after duration: Duration) {
        let (seconds, attoseconds) = duration.components
        // Treat 30 years as unbounded, to avoid overflow.
        guard (-1_000_000_000..<1_000_000_000).contains(seconds) else {
            nanoseconds = seconds > 0 ? .max : 0
            return
        }
        let length = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        let (end, isForEver) = Self.now.addingReportingOverflow(length)
        nanoseconds = isForEver ? .max : max(0, end)
    }

    private init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The time left; zero once the deadline has passed.
    package var remaining: Duration {
        .nanoseconds(max(0, nanoseconds - Self.now))
    }

    /// Whether this moment has been reached.
    package var hasPassed: Bool {
        nanoseconds <= Self.now
    }

    /// The time left for poll(2), in milliseconds, at most eleven days. It is rounded up, so that
    /// poll(2) does not return before the deadline.
    package var pollMilliseconds: Int32 {
        let (seconds, attoseconds) = remaining.components
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    /// Sleeps at most `pause` nanoseconds, and not beyond the deadline.
    ///
    /// - Returns: `false`, without sleeping, once the deadline has passed.
    package func sleep(atMost pause: Int64) -> Bool {
        let left = nanoseconds - Self.now
        guard left > 0 else { return false }
        let length = min(left, pause)
        var time = timespec(
            tv_sec: Int(length / 1_000_000_000), tv_nsec: Int(length % 1_000_000_000))
        unsafe nanosleep(&time, nil)
        return true
    }

    /// The current moment on the clock of deadlines, in nanoseconds. Takes no system call.
    package static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return max(0, time.nanoseconds)
    }
}

/// The pauses between attempts: they double from `first` up to 2 ms, in nanoseconds.
package enum Backoff {
    /// The pause before attempt `attempt`, counted from 0.
    package static func pause(first: Int64, attempt: Int) -> Int64 {
        min(first << Int64(min(attempt, 20)), 2_000_000)
    }
}

/// The time of day, which may be wrong and may jump: for dates, never for waiting.
package enum WallClock {
    /// Nanoseconds since 1970-01-01 00:00 UTC. Times before 1677 and after 2262 are clamped: a
    /// clock can be set to anything, and that must not trap.
    package static var nanoseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return time.nanoseconds
    }
}

/// The clock that goes on while the machine sleeps.
package enum BootClock {
    /// How late the end of a sleep may be after the machine has slept, in nanoseconds.
    private static let lateness: Int64 = 2_000_000_000

    /// Sleeps for `duration`, in which the time that the machine sleeps counts.
    package static func sleep(for duration: Duration) {
        let begin = valet_boot_milliseconds()
        let (seconds, attoseconds) = duration.components
        let length =
            UInt64(clamping: seconds) &* 1000
            &+ UInt64(clamping: attoseconds / 1_000_000_000_000_000)
        while true {
            let passed = valet_boot_milliseconds() &- begin
            guard passed < length else { return }
            let pause = Duration.milliseconds(Int64(clamping: length - passed))
            _ = Deadline(after: pause).sleep(atMost: lateness)
        }
    }
}

extension timespec {
    /// The time in nanoseconds, clamped to the range of `Int64`.
    var nanoseconds: Int64 {
        let (whole, isTooFar) = Int64(tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isTooLate) = whole.addingReportingOverflow(Int64(tv_nsec))
        guard isTooFar || isTooLate else { return sum }
        return tv_sec < 0 ? .min : .max
    }
}

/// The processor time that the calling thread has used. It measures work, however busy the machine
/// is.
///
/// An instant is valid only on the thread that took it.
package struct ThreadTimeClock: Clock {
    /// Processor time since the thread began.
    package struct Instant: InstantProtocol {
        private let time: Duration

        fileprivate init(_ time: Duration) { self.time = time }

        /// The instant `duration` later.
        package func advanced(by duration: Duration) -> Instant { Instant(time + duration) }

        /// The processor time used between the two.
        package func duration(to other: Instant) -> Duration { other.time - time }

        package static func < (left: Instant, right: Instant) -> Bool { left.time < right.time }
    }

    package init() {}

    /// The processor time that the calling thread has used so far.
    package var now: Instant {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Instant(.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
    }

    package var minimumResolution: Duration { .nanoseconds(1) }

    /// Returns at once: a sleeping thread uses no processor time, so it would sleep without end.
    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {}
}
