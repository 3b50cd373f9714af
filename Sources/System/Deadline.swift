// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A moment on the monotonic clock after which no one waits any longer.
///
/// One deadline is made per call of the keychain; everything that waits for others takes it.
package struct Deadline: Hashable, Sendable {
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    package let nanoseconds: Int64

    /// A deadline that never passes.
    package static var never: Deadline { Deadline(nanoseconds: .max) }

    /// A deadline that has passed already: try once, do not wait.
    package static var immediately: Deadline { Deadline(nanoseconds: 0) }

    /// The moment `duration` from now; costs one read of the clock.
    package init(after duration: Duration) {
        let (seconds, attoseconds) = duration.components
        // Thirty years are for ever, and leave no sum that could overflow.
        guard abs(seconds) < 1_000_000_000 else {
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

    /// What is left of it; zero once it has passed.
    package var remaining: Duration {
        .nanoseconds(max(0, nanoseconds - Self.now))
    }

    /// Whether it is over.
    package var hasPassed: Bool {
        nanoseconds <= Self.now
    }

    /// What is left of it for poll(2): milliseconds, rounded up, so that it does not come back too
    /// early. At most eleven days.
    package var pollMilliseconds: Int32 {
        let (seconds, attoseconds) = remaining.components
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    /// Sleeps for `pause` nanoseconds at most, and not beyond the deadline.
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

    /// The moment on the clock of deadlines, in nanoseconds; takes no system call.
    package static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return max(0, time.nanoseconds)
    }
}

/// The pauses between attempts: doubling from `first` up to 2 ms, in nanoseconds.
package enum Backoff {
    /// The pause before attempt `attempt`, counted from 0.
    package static func pause(first: Int64, attempt: Int) -> Int64 {
        min(first << Int64(min(attempt, 20)), 2_000_000)
    }
}
