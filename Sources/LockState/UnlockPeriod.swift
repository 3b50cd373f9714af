// SPDX-License-Identifier: Apache-2.0

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
