// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Keybag
internal import Sealing

extension KernelLockState {
    /// Puts payloads in the place of those that are there: both to unlock, the longer lived first.
    ///
    /// A kill at any moment leaves each of them as it was, or complete and new: a key is
    /// finished while only this thread has it, and linked at once.
    ///
    /// - Throws: ``LockStateError/Code/quotaExceeded`` if there is no room, also 50 ms later,
    ///   since the kernel gives room back with a delay; ``LockStateError/Code/refused``.
    func publish(_ payloads: [KeyPayload], now: BootTime) throws(LockStateError) {
        for payload in payloads {
            try Self.onceMoreForRoom { () throws(LockStateError) in try replace(payload, now) }
        }
    }

    /// Runs `body`, and once more 50 ms later if there was no room: the kernel gives room back with
    /// a delay.
    private static func onceMoreForRoom(
        _ body: () throws(LockStateError) -> Void
    ) throws(LockStateError) {
        do throws(LockStateError) {
            try body()
        } catch {
            guard error.code == .quotaExceeded else { throw error }
            usleep(50_000)
            try body()
        }
    }

    private func replace(_ payload: KeyPayload, _ now: BootTime) throws(LockStateError) {
        let name = name(of: payload.scope)
        let key = try KernelKeyring.makeKey(named: name, payload: payload.encoded())
        // This thread keeps the key only if it cannot let go; it dies with the thread then.
        defer { do throws(LockStateError) { try KernelKeyring.dropFromThread(key) } catch {} }
        try KernelKeyring.share(key)
        try KernelKeyring.setTimeout(payload.timeout(from: now), of: key)
        let old = try Self.unlessGone { () throws(LockStateError) in
            try KernelKeyring.find(name)
        }
        try KernelKeyring.publish(key)
        // Only now: who finds the old key revoked searches again, and finds the new one.
        if let old {
            try Self.unlessGone { () throws(LockStateError) in try KernelKeyring.revoke(old) }
        }
    }

    /// Changes what is published, and leaves the state as it is: other epochs, the longer lived
    /// payload first.
    ///
    /// In place, since a key that was revoked meanwhile stays revoked: nothing that is not an
    /// unlock undoes a lock.
    ///
    /// - Throws: ``LockStateError/Code/notUnlocked`` if one of them is not there (any more);
    ///   ``LockStateError/Code/quotaExceeded`` if there is no room, also 50 ms later.
    func update(_ payloads: [KeyPayload], now: BootTime) throws(LockStateError) {
        // What is remembered may hold keys of an epoch that is over.
        defer { forget() }
        for payload in payloads {
            try Self.onceMoreForRoom { () throws(LockStateError) in try update(payload, now) }
        }
    }

    private func update(_ payload: KeyPayload, _ now: BootTime) throws(LockStateError) {
        for _ in 0..<100 {
            let found = try Self.unlessGone { () throws(LockStateError) in
                try KernelKeyring.find(name(of: payload.scope))
            }
            guard let key = found else { break }
            // Gone between the two: replaced, and the next search finds what took its place.
            let isUpdated: Void? = try Self.unlessGone { () throws(LockStateError) in
                try Self.write(payload, to: key, now)
            }
            if isUpdated != nil { return }
        }
        throw LockStateError(.notUnlocked, during: .update)
    }

    /// Makes the time longer that is left, after a use; never undoes a lock.
    ///
    /// The caller keeps everybody else from changing the keys meanwhile: what was read is written
    /// again, to no other key than it was read from.
    func renew(_ now: () -> BootTime) throws(LockStateError) {
        switch lookUp(.whileUnlocked, [], now) {
        case .failed(let error): throw error
        case .absent: use.follow(nil)
        case .found(let found):
            let (moment, period) = (now(), found.payload.period)
            guard let due = period.renewalMoment, due <= moment else {
                // Somebody else was here before.
                return noteRenewal(found)
            }
            let payload = found.payload.lasting(period.renewed(at: moment))
            let isRenewed: Void? = try Self.unlessGone { () throws(LockStateError) in
                try Self.write(payload, to: found.key, moment)
            }
            if isRenewed == nil {
                use.follow(nil)
            } else {
                noteRenewal(Found(key: found.key, payload: payload))
            }
        }
    }

    private static func write(
        _ payload: KeyPayload, to key: KeySerial, _ now: BootTime
    ) throws(LockStateError) {
        try KernelKeyring.update(key, payload: payload.encoded())
        try KernelKeyring.setTimeout(payload.timeout(from: now), of: key)
    }

    /// Locks: takes the keys of one scope away from everybody. Does nothing if they are not there.
    ///
    /// - Returns: Whether they were there.
    @discardableResult
    func end(_ scope: KeyScope) throws(LockStateError) -> Bool {
        forget()
        let found = try Self.unlessGone { () throws(LockStateError) in
            try KernelKeyring.find(name(of: scope))
        }
        if let found { try Self.retire(found) }
        return found != nil
    }

    /// Takes all keys away from everybody.
    ///
    /// - Returns: Of which scopes there were some.
    func endAll() throws(LockStateError) -> Set<KeyScope> {
        var ended: Set<KeyScope> = []
        for scope in [KeyScope.whileUnlocked, .afterFirstUnlock] {
            if try end(scope) { ended.insert(scope) }
        }
        Self.awaitChecks()
        return ended
    }

    /// Takes the keys of these scopes of every keychain away from everybody.
    static func endEveryKeychain(_ scopes: [KeyScope]) throws(LockStateError) {
        let found = try KernelKeyring.keys(namedWithin: nameLimit)
        for scope in scopes {
            for (name, key) in found
            where name.hasPrefix(KeyScope.descriptionPrefix)
                && name.hasSuffix(scope.descriptionSuffix)
            {
                try retire(key)
            }
        }
        awaitChecks()
    }

    /// Names of ours are shorter.
    private static let nameLimit = 128

    /// Whether the kernel has keys of this keychain, whatever they are.
    func hasKeys() throws(LockStateError) -> Bool {
        for scope in KeyScope.allCases {
            let found = try Self.unlessGone { () throws(LockStateError) in
                try KernelKeyring.find(name(of: scope))
            }
            if found != nil { return true }
        }
        return false
    }

    /// Waits until nobody believes a check that was made before.
    static func awaitChecks() { usleep(1000) }

    /// Revokes, then unlinks: in the other order who remembers the key could still use it.
    static func retire(_ key: KeySerial) throws(LockStateError) {
        try unlessGone { () throws(LockStateError) in try KernelKeyring.revoke(key) }
        try unlessGone { () throws(LockStateError) in try KernelKeyring.unlink(key) }
    }

    /// What `body` returns; nil if the key that it is about is not there (any more).
    @discardableResult
    static func unlessGone<R>(
        _ body: () throws(LockStateError) -> R
    ) throws(LockStateError) -> R? {
        do throws(LockStateError) {
            return try body()
        } catch {
            guard error.meansGone else { throw error }
            return nil
        }
    }
}

extension KeyPayload {
    /// The kernel's own timeout, in seconds: a second line behind the deadline, and so never
    /// earlier. The kernel counts whole seconds of a clock that can be set.
    fileprivate func timeout(from now: BootTime) -> UInt32 {
        guard let deadline else { return 0 }
        let left = deadline > now ? deadline.milliseconds - now.milliseconds : 0
        return UInt32(clamping: left / 1000 + 2)
    }
}
