// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc

/// The time of day, which may be wrong and may jump: for dates, never for waiting.
package enum WallClock {
    /// Nanoseconds since 1970-01-01 00:00 UTC.
    package static var nanoseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
