// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import ValetCLinux
internal import ValetSealing
internal import ValetSystem

/// For how long a keychain is unlocked, as things are: docs/FORMAT.md §10.4.
package struct UnlockPeriod: Hashable, Sendable {
    /// Until somebody locks.
    static let unlimited = UnlockPeriod(.none, from: BootTime(milliseconds: 0))

    /// What it was unlocked within.
    package let limits: UnlockLimits
    /// When the keys may no longer be used; nil for never.
    package let deadline: BootTime?

    /// Begins at `now`.
    init(_ limits: UnlockLimits, from now: BootTime) {
        self.init(limits, deadline: limits.deadline(from: now))
    }

    private init(_ limits: UnlockLimits, deadline: BootTime?) {
        self.limits = limits
        self.deadline = deadline
    }

    /// Takes the numbers of a payload, 0 for what there is not; nil if they contradict each other.
    init?(deadline: UInt64, idle: UInt64, end: UInt64) {
        let isByEnd = deadline == end
        guard idle == 0 ? isByEnd : deadline > 0 && (isByEnd || deadline >= idle),
            end == 0 || deadline <= end
        else { return nil }
        self.init(
            UnlockLimits(
                end: end == 0 ? nil : BootTime(milliseconds: end),
                idleMilliseconds: idle == 0 ? nil : idle),
            deadline: deadline == 0 ? nil : BootTime(milliseconds: deadline))
    }

    /// Deadline, idle time and end, as they lie in a payload.
    var numbers: [UInt64] {
        [
            deadline?.milliseconds ?? 0, limits.idleMilliseconds ?? 0,
            limits.end?.milliseconds ?? 0,
        ]
    }

    /// Whether the moment after which the keys may not be used has come.
    func hasEnded(at now: BootTime) -> Bool {
        guard let deadline else { return false }
        return deadline <= now
    }

    /// When it was renewed last; nil if the deadline is not one of idle time.
    private var lastRenewal: UInt64? {
        guard let deadline, deadline != limits.end, let idle = limits.idleMilliseconds else {
            return nil
        }
        return deadline.milliseconds - idle
    }

    /// Whether it says that somebody will have renewed it.
    func isRenewedLater(than now: BootTime) -> Bool {
        guard let lastRenewal else { return false }
        return lastRenewal > now.milliseconds
    }

    /// From when on a use renews it: once less than seven eighths of the idle time are left. Nil if
    /// nothing makes it longer.
    var renewalMoment: BootTime? {
        guard let lastRenewal, let idle = limits.idleMilliseconds else { return nil }
        return BootTime(milliseconds: lastRenewal + idle / 8 + 1)
    }

    /// The same limits after a use at `now`; the deadline is never nearer than it was.
    func renewed(at now: BootTime) -> UnlockPeriod {
        guard let deadline, let later = limits.deadline(from: now) else { return self }
        return UnlockPeriod(limits, deadline: max(deadline, later))
    }
}

/// What ends an unlock besides a lock: each limit may be there or not, and the earlier one counts.
package struct UnlockLimits: Hashable, Sendable {
    /// Nothing but a lock.
    package static let none = UnlockLimits()

    /// When it ends however much the keychain is used; nil for never.
    package let end: BootTime?
    /// After how many milliseconds without use it ends, 1 at least; nil for never.
    let idleMilliseconds: UInt64?

    /// - Parameter idle: After how long without use it ends; taken as a millisecond if it is less.
    package init(end: BootTime? = nil, idle: Duration? = nil) {
        self.init(
            end: end,
            idleMilliseconds: idle.map { idle in
                max(1, BootTime(milliseconds: 0).advanced(by: idle).milliseconds)
            })
    }

    init(end: BootTime?, idleMilliseconds: UInt64?) {
        // What is 0 in a payload is none there.
        self.end = end.map { max($0, BootTime(milliseconds: 1)) }
        self.idleMilliseconds = idleMilliseconds
    }

    /// After how long without use it ends; nil for never.
    package var idle: Duration? { idleMilliseconds.map { .milliseconds($0) } }

    /// How long it is until the end; nil for no end.
    package var remaining: Duration? { end?.remaining }

    /// When an unlock that is used now, and never again, ends.
    func deadline(from now: BootTime) -> BootTime? {
        let idleEnd = idleMilliseconds.map { now.advanced(byMilliseconds: $0) }
        return [end, idleEnd].compactMap { $0 }.min()
    }
}

/// Whether somebody has used an unlocked keychain late enough for its time to be renewed.
///
/// Asked at every use, and so no more than a number that is compared: docs/decisions/0020.
final class IdleUse: Sendable {
    /// From when on a use counts, in milliseconds; `.max` for never.
    private let moment = Atomic<UInt64>(.max)
    private let due = Atomic<Bool>(false)

    /// Whether there was such a use.
    var isDue: Bool { due.load(ordering: .relaxed) }

    /// Waits for a use that renews `period`; for none if there is nothing to renew.
    func follow(_ period: UnlockPeriod?) {
        moment.store(period?.renewalMoment?.milliseconds ?? .max, ordering: .relaxed)
        due.store(false, ordering: .relaxed)
    }

    /// Waits for a use after `later`, since it could not be renewed now.
    func postpone(until later: BootTime) {
        moment.store(later.milliseconds, ordering: .relaxed)
        due.store(false, ordering: .relaxed)
    }

    /// Notes a use.
    func note(_ now: () -> BootTime) {
        let moment = moment.load(ordering: .relaxed)
        guard moment != .max, moment <= now().milliseconds else { return }
        due.store(true, ordering: .relaxed)
    }
}

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
            let bytes = FixedBytes<16, BytesName.BootID>(digits: digits)
        else { return nil }
        self = bytes
    }
}
