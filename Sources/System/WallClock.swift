// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// The time of day, which may be wrong and may jump: for dates, never for waiting.
package enum WallClock {
    /// Nanoseconds since 1970-01-01 00:00 UTC; before 1677 and after 2262 the nearest that there
    /// is. A clock can be set to anything, and that must not end a program.
    package static var nanoseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return time.nanoseconds
    }
}

extension timespec {
    /// All of it in nanoseconds, or the nearest number that there is.
    var nanoseconds: Int64 {
        let (whole, isTooFar) = Int64(tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isTooLate) = whole.addingReportingOverflow(Int64(tv_nsec))
        guard isTooFar || isTooLate else { return sum }
        return tv_sec < 0 ? .min : .max
    }
}
