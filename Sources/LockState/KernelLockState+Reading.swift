// SPDX-License-Identifier: Apache-2.0

internal import Keybag
internal import Sealing

extension KernelLockState {
    /// How often a search is repeated because its key was replaced before it could be read.
    private static let attemptCount = 100

    /// The state at this moment. Warm and unlocked, that is one system call.
    ///
    /// - Parameter marks: The epochs that the database has; keys of others are not believed.
    func current(expecting marks: [EpochMark], now: () -> BootTime) -> LockReading {
        let last = remembered
        if let last, let unlocked = last.unlocked, last.keys.contains(marks),
            unlocked.payload.deadline.map({ now() < $0 }) ?? true,
            KernelKeyring.isGood(unlocked.key)
        {
            return .unlocked(last.keys)
        }
        switch lookUp(.whileUnlocked, marks, now) {
        case .failed(let error): return unknown(error)
        case .absent(let cause): return withoutUnlocked(cause, last, marks, now)
        case .found(let unlocked): return with(unlocked, marks, now)
        }
    }

    /// Whether `keys` are those remembered, and still good, or were in this millisecond.
    func isUnlocked(with keys: OpenedKeys, now: () -> BootTime) -> Bool {
        guard let last = place(of: keys), last.deadline.map({ now() < $0 }) ?? true else {
            return false
        }
        // Before the check, so that it is never believed for longer.
        let moment = BootTime.now
        if last.lastCheck == moment { return true }
        guard KernelKeyring.isGood(last.key) else { return false }
        noteCheck(of: keys, at: moment)
        return true
    }

    private func with(
        _ unlocked: Found, _ marks: [EpochMark], _ now: () -> BootTime
    ) -> LockReading {
        switch lookUp(.afterFirstUnlock, marks, now) {
        case .failed(let error): return unknown(error)
        case .absent(.notUnlocked), .absent(.deadlinePassed):
            // Nothing can be found without the index key; and other processes, which may
            // remember it, shall see what this one sees.
            forget()
            Self.end(unlocked.key)
            return .beforeFirstUnlock(.firstUnlockKeysLost)
        case .absent(let cause):
            // Keys of another epoch than the caller's may be the right ones for others: an epoch
            // may have begun since the caller looked.
            forget()
            return .beforeFirstUnlock(cause)
        case .found(let firstUnlock):
            return answer(firstUnlock, unlocked) { .unlocked($0) }
        }
    }

    private func withoutUnlocked(
        _ cause: LockCause, _ last: Remembered?, _ marks: [EpochMark], _ now: () -> BootTime
    ) -> LockReading {
        if let last, last.unlocked == nil, last.keys.contains(marks),
            KernelKeyring.isGood(last.firstUnlock.key)
        {
            return .locked(last.keys, cause)
        }
        switch lookUp(.afterFirstUnlock, marks, now) {
        case .failed(let error): return unknown(error)
        case .absent(.otherEpoch):
            // An epoch may be about to begin: its keys come one after the other.
            forget()
            return .beforeFirstUnlock(.otherEpoch)
        case .absent:
            forget()
            return .beforeFirstUnlock(cause)
        case .found(let firstUnlock):
            return answer(firstUnlock, nil) { .locked($0, cause) }
        }
    }

    private func answer(
        _ firstUnlock: Found, _ unlocked: Found?, _ reading: (OpenedKeys) -> LockReading
    ) -> LockReading {
        do throws(LockStateError) {
            let keys =
                if let known = knownKeys(firstUnlock, unlocked) { known } else {
                    try OpenedKeys(firstUnlock: firstUnlock.payload, unlocked: unlocked?.payload)
                }
            remember(Remembered(firstUnlock: firstUnlock, unlocked: unlocked, keys: keys))
            return reading(keys)
        } catch {
            return unknown(error)
        }
    }

    /// The keys that are remembered, if they are those that were read: only their time is another.
    private func knownKeys(_ firstUnlock: Found, _ unlocked: Found?) -> OpenedKeys? {
        guard let last = remembered,
            last.firstUnlock.payload.holdsSameKeys(as: firstUnlock.payload),
            let before = last.unlocked, let unlocked,
            before.payload.holdsSameKeys(as: unlocked.payload)
        else { return nil }
        return last.keys
    }

    private func unknown(_ error: LockStateError) -> LockReading {
        forget()
        return .unknown(error)
    }

    enum LookUp {
        case found(Found)
        case absent(LockCause)
        case failed(LockStateError)
    }

    /// Finds and reads a payload that is this keychain's, in time, and of the right epochs.
    func lookUp(_ scope: KeyScope, _ marks: [EpochMark], _ now: () -> BootTime) -> LookUp {
        var last = LockStateError(.revoked, during: .read)
        for _ in 0..<Self.attemptCount {
            let key: KeySerial
            do throws(LockStateError) {
                key = try KernelKeyring.find(name(of: scope))
            } catch {
                guard error.meansGone else { return .failed(error) }
                return .absent(error.code == .expired ? .deadlinePassed : .notUnlocked)
            }
            do throws(LockStateError) {
                let payload = try KernelKeyring.read(
                    key, atMost: KeyPayload.maximumByteCount
                ) { bytes throws(LockStateError) in try KeyPayload(parsing: bytes) }
                return judge(Found(key: key, payload: payload), scope, marks, now)
            } catch {
                guard error.operation == .read, error.code != .malformed else {
                    return .absent(.invalid(error))
                }
                // Replaced or revoked since it was found (a key that is being collected gives
                // EACCES): what the name leads to now is the answer.
                last = error
            }
        }
        return .failed(last)
    }

    private func judge(
        _ found: Found, _ scope: KeyScope, _ marks: [EpochMark], _ now: () -> BootTime
    ) -> LookUp {
        let payload = found.payload
        guard payload.scope == scope, payload.keychainID == keychainID else {
            return .absent(.invalid(LockStateError(.wrongKeys, during: .read)))
        }
        guard !payload.period.hasEnded(at: now()) else {
            Self.end(found.key)
            return .absent(.deadlinePassed)
        }
        guard !payload.period.isRenewedLater(than: now()) else {
            return .absent(.invalid(LockStateError(.malformed, during: .read)))
        }
        guard payload.contains(marks) else { return .absent(.otherEpoch) }
        return .found(found)
    }

    /// Revokes and unlinks a key that must not be used any more, as far as that is possible:
    /// whoever calls this does not use it either way.
    private static func end(_ key: KeySerial) {
        do throws(LockStateError) { try retire(key) } catch {}
    }
}
