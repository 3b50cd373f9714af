// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

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
