// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import ValetCLinux
internal import ValetSealing
internal import ValetSystem

/// How long a keychain is unlocked: its limits and the present deadline. docs/FORMAT.md §10.4.
package struct UnlockPeriod: Hashable, Sendable {
    /// The period that only a lock ends.
    static let unlimited = UnlockPeriod(.none, from: BootTime(milliseconds: 0))

    package let limits: UnlockLimits
    /// When the keys may no longer be used; nil for never.
    package let deadline: BootTime?

    init(_ limits: UnlockLimits, from now: BootTime) {
        self.init(limits, deadline: limits.deadline(from: now))
    }

    private init(_ limits: UnlockLimits, deadline: BootTime?) {
        self.limits = limits
        self.deadline = deadline
    }

    /// Makes a period from the numbers of a payload, 0 for none; nil if they contradict each other.
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

    /// Deadline, idle time and end, as a payload stores them.
    var numbers: [UInt64] {
        [
            deadline?.milliseconds ?? 0, limits.idleMilliseconds ?? 0,
            limits.end?.milliseconds ?? 0,
        ]
    }

    func hasEnded(at now: BootTime) -> Bool {
        guard let deadline else { return false }
        return deadline <= now
    }

    /// When it was renewed last; nil if the deadline does not depend on use.
    private var lastRenewal: UInt64? {
        guard let deadline, deadline != limits.end, let idle = limits.idleMilliseconds else {
            return nil
        }
        return deadline.milliseconds - idle
    }

    /// Whether its last renewal is later than `now`. No honest writer stores such a period.
    func isRenewedLater(than now: BootTime) -> Bool {
        guard let lastRenewal else { return false }
        return lastRenewal > now.milliseconds
    }

    /// The moment from which a use renews it: when less than seven eighths of the idle time are
    /// left. Nil if use does not extend it.
    var renewalMoment: BootTime? {
        guard let lastRenewal, let idle = limits.idleMilliseconds else { return nil }
        return BootTime(milliseconds: lastRenewal + idle / 8 + 1)
    }

    /// The period after a use at `now`; its deadline is never earlier than before.
    func renewed(at now: BootTime) -> UnlockPeriod {
        guard let deadline, let later = limits.deadline(from: now) else { return self }
        return UnlockPeriod(limits, deadline: max(deadline, later))
    }
}

/// The time limits of an unlock: an end, an idle time, both or neither. The earlier one counts. A
/// lock ends the unlock in any case.
package struct UnlockLimits: Hashable, Sendable {
    /// Only a lock ends the unlock.
    package static let none = UnlockLimits()

    /// When the unlock ends even if the keychain is used; nil for never.
    package let end: BootTime?
    /// The idle time after which the unlock ends, at least one millisecond; nil for never.
    let idleMilliseconds: UInt64?

    /// - Parameter idle: The idle time after which the unlock ends, at least one millisecond.
    package init(end: BootTime? = nil, idle: Duration? = nil) {
        self.init(
            end: end,
            idleMilliseconds: idle.map { idle in
                max(1, BootTime(milliseconds: 0).advanced(by: idle).milliseconds)
            })
    }

    init(end: BootTime?, idleMilliseconds: UInt64?) {
        // In a payload, 0 means none.
        self.end = end.map { max($0, BootTime(milliseconds: 1)) }
        self.idleMilliseconds = idleMilliseconds
    }

    /// The idle time after which the unlock ends; nil for never.
    package var idle: Duration? { idleMilliseconds.map { .milliseconds($0) } }

    /// The time until the end; nil for no end.
    package var remaining: Duration? { end?.remaining }

    /// When the unlock ends if the keychain is used now and never again.
    func deadline(from now: BootTime) -> BootTime? {
        let idleEnd = idleMilliseconds.map { now.advanced(byMilliseconds: $0) }
        return [end, idleEnd].compactMap { $0 }.min()
    }
}

/// Whether a use of an unlocked keychain came late enough to renew its period.
///
/// Every use asks, so the answer costs one comparison: docs/decisions/0020-auto-lock.md.
final class IdleUse: Sendable {
    /// The moment from which a use counts, in milliseconds; `.max` for never.
    private let moment = Atomic<UInt64>(.max)
    private let due = Atomic<Bool>(false)

    var isDue: Bool { due.load(ordering: .relaxed) }

    /// From now on, only a use that renews `period` counts; no use counts if use does not extend
    /// `period`.
    func follow(_ period: UnlockPeriod?) {
        moment.store(period?.renewalMoment?.milliseconds ?? .max, ordering: .relaxed)
        due.store(false, ordering: .relaxed)
    }

    /// Only a use from `later` on counts, because the period could not be renewed now.
    func postpone(until later: BootTime) {
        moment.store(later.milliseconds, ordering: .relaxed)
        due.store(false, ordering: .relaxed)
    }

    func note(_ now: () -> BootTime) {
        let moment = moment.load(ordering: .relaxed)
        guard moment != .max, moment <= now().milliseconds else { return }
        due.store(true, ordering: .relaxed)
    }
}

/// A moment on the clock that starts with the machine, runs while it sleeps and cannot be set
/// (`CLOCK_BOOTTIME`).
package struct BootTime: Hashable, Comparable, Sendable {
    /// Milliseconds since the machine started.
    package let milliseconds: UInt64

    package init(milliseconds: UInt64) { self.milliseconds = milliseconds }

    /// This moment; costs about 25 ns. If the clock fails, it is the largest value, so that every
    /// deadline has passed.
    package static var now: BootTime { BootTime(milliseconds: valet_boot_milliseconds()) }

    /// The moment `duration` later, rounded down to a millisecond; saturates.
    package func advanced(by duration: Duration) -> BootTime {
        let (seconds, attoseconds) = duration.components
        let whole = UInt64(max(0, seconds)).multipliedReportingOverflow(by: 1000)
        let part = UInt64(max(0, attoseconds) / 1_000_000_000_000_000)
        guard !whole.overflow else { return BootTime(milliseconds: .max) }
        return advanced(byMilliseconds: whole.partialValue).advanced(byMilliseconds: part)
    }

    /// The moment `count` milliseconds later; saturates.
    func advanced(byMilliseconds count: UInt64) -> BootTime {
        let (later, isTooLate) = milliseconds.addingReportingOverflow(count)
        return BootTime(milliseconds: isTooLate ? .max : later)
    }

    /// Waits at least `count` milliseconds, even if signals arrive.
    static func wait(milliseconds count: UInt64) {
        let end = now.advanced(byMilliseconds: count + 1)
        while now < end { usleep(1000) }
    }

    /// The time until this moment; zero once it has passed.
    package var remaining: Duration {
        let now = BootTime.now
        return now < self ? .milliseconds(milliseconds - now.milliseconds) : .zero
    }

    /// Whether this moment is less than `count` milliseconds after `earlier`, and not before it.
    func isWithin(milliseconds count: UInt64, after earlier: BootTime) -> Bool {
        milliseconds >= earlier.milliseconds && milliseconds - earlier.milliseconds < count
    }

    package static func < (left: BootTime, right: BootTime) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

extension BootID {
    private static let path = "/proc/sys/kernel/random/boot_id"
    private static let first = BootID(uuid: TextFile.contents(path))

    /// The kernel's id of this run of the machine; nil if it gives none, or if it cannot be read
    /// now.
    static var current: BootID? { first ?? BootID(uuid: TextFile.contents(path)) }

    /// Whether the kernel has an id, which may not be readable now.
    static var exists: Bool { first != nil || FilePath.isRegularFile(path) }

    /// Parses a UUID; nil for other text.
    init?(uuid: String?) {
        guard let digits = uuid?.filter({ $0 != "-" && !$0.isWhitespace }),
            let bytes = FixedBytes<16, BytesName.BootID>(digits: digits)
        else { return nil }
        self = bytes
    }
}
