// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux
internal import ValetSealing
internal import ValetSystem

/// A moment on the clock that starts with the machine, runs on while it sleeps and cannot be set
/// (`CLOCK_BOOTTIME`).
package struct BootTime: Hashable, Comparable, Sendable {
    /// Milliseconds since the machine started.
    package let milliseconds: UInt64

    /// Names the moment.
    package init(milliseconds: UInt64) { self.milliseconds = milliseconds }

    /// This moment; costs about 25 ns. Should the clock fail, the end of time: every deadline has
    /// passed then.
    package static var now: BootTime { BootTime(milliseconds: valet_boot_milliseconds()) }

    /// The moment `duration` later, rounded down to a millisecond; at most the end of time.
    package func advanced(by duration: Duration) -> BootTime {
        let (seconds, attoseconds) = duration.components
        let whole = UInt64(max(0, seconds)).multipliedReportingOverflow(by: 1000)
        let part = UInt64(max(0, attoseconds) / 1_000_000_000_000_000)
        guard !whole.overflow else { return BootTime(milliseconds: .max) }
        return advanced(byMilliseconds: whole.partialValue).advanced(byMilliseconds: part)
    }

    /// The moment so much later; at most the end of time.
    func advanced(byMilliseconds count: UInt64) -> BootTime {
        let (later, isTooLate) = milliseconds.addingReportingOverflow(count)
        return BootTime(milliseconds: isTooLate ? .max : later)
    }

    /// Waits so many milliseconds at least, whatever signals come.
    static func wait(milliseconds count: UInt64) {
        let end = now.advanced(byMilliseconds: count + 1)
        while now < end { usleep(1000) }
    }

    /// How long it is until then; zero once it has passed.
    package var remaining: Duration {
        let now = BootTime.now
        return now < self ? .milliseconds(milliseconds - now.milliseconds) : .zero
    }

    /// Whether this moment is less than so many milliseconds after `earlier`, and not before it.
    func isWithin(milliseconds count: UInt64, after earlier: BootTime) -> Bool {
        milliseconds >= earlier.milliseconds && milliseconds - earlier.milliseconds < count
    }

    package static func < (left: BootTime, right: BootTime) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

extension BootID {
    /// This run of the machine, as the kernel names it; nil if it does not.
    static let current = BootID(uuid: KernelFile.text("/proc/sys/kernel/random/boot_id"))

    /// The id that a UUID is; nil for any other text.
    init?(uuid: String?) {
        guard let digits = uuid?.filter({ $0 != "-" && !$0.isWhitespace }),
            let bytes = FixedBytes<16, BootIDName>(digits: digits)
        else { return nil }
        self = bytes
    }
}
