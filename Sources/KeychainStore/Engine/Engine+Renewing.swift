// SPDX-License-Identifier: Apache-2.0

internal import ValetLockState
internal import ValetSystem

/// Auto-lock: docs/decisions/0020-auto-lock.md.
extension Engine {
    /// How long a call waits for others once half of the idle time has passed.
    private static let patience = Duration.milliseconds(50)

    /// Makes the time longer that an unlocked keychain has left, if it was used late enough: at the
    /// end of each call that uses keys. The caller does not hold the lock of writers.
    func renewIfUsed(_ facts: KeychainFacts?, _ deadline: Deadline) {
        guard let lockState = facts?.lockState, lockState.isRenewalDue else { return }
        // What the call was for is done. The next use of the keychain tries again.
        do { try renew(lockState, deadline) } catch { lockState.postponeRenewal() }
    }

    private func renew(_ lockState: LockStateStore, _ deadline: Deadline) throws {
        // Nobody publishes other keys meanwhile. Where nothing can be written nobody does anyway.
        guard lockState.isShared, !directory.isReadOnly else { return try lockState.renew() }
        let limit =
            lockState.isRenewalUrgent
            ? Deadline(after: min(deadline.remaining, Self.patience)) : .immediately
        let held = try lock.acquire(before: limit)
        try lockState.renew()
        _ = consume held
    }
}
