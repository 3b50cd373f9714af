// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
internal import ValetSystem

// Which items can be read now, and at which protection level the keychain is. `ValetKeychain` and
// its watchers ask for this. The answer opens no item.

extension Keychain {
    /// The name of ``availability()`` in failures.
    package static let looking = "find out whether the keychain is locked"

    /// Which items can be read now. Creates nothing and opens no item.
    ///
    /// Costs about 10 µs for an open keychain; for a locked one, also a check of the device key.
    /// Waits until a key change has published them, as every call does.
    /// - Throws: ``KeychainFailure`` if the state cannot be read: `timedOut`, `keychainDamaged`,
    ///   `newerFormat`, `insecureFiles`, `inputOutput`.
    package func availability() throws(KeychainFailure) -> KeychainAvailability {
        do {
            return try store.inspect(Self.looking) { (keys) throws(KeychainFailure) in
                try keys.availability()
            } ?? KeychainAvailability(state: .absent, openKeys: .all)
        } catch {
            // Only one of the two files exists: FORMAT §2.1.
            guard error.code == .incomplete else { throw error }
            return KeychainAvailability(state: .incomplete, openKeys: [], fault: error)
        }
    }

    /// The time between two locks to which this moment belongs. After a lock there is another one,
    /// however soon the keychain was unlocked again.
    ///
    /// - Throws: As ``availability()``.
    package func lockPeriod() throws(KeychainFailure) -> LockPeriod {
        let moment = try store.inspect(Self.looking) { (keys) throws(KeychainFailure) in
            try keys.header().openedKeys.rememberedMoment()
        }
        return LockPeriod(moment: moment)
    }

    /// The protection level recorded in the keychain; nil if there is no keychain.
    ///
    /// - Throws: As ``availability()``.
    package func protectionLevel() throws(KeychainFailure) -> ProtectionLevel? {
        try store.inspect(Self.looking) { (keys) throws(KeychainFailure) in
            try keys.header().keybag.level
        }
    }
}

extension KeychainPasscodes {
    fileprivate func availability() throws(KeychainFailure) -> KeychainAvailability {
        var look = RepeatedLook()
        while true {
            let header = try header()
            guard let lockState = header.lockState else {
                return try availabilityWithoutPasscode(header)
            }
            // As every look: a locked process keeps no keys.
            let reading = keychain.lockStatus(header, of: lockState)
            guard let cause = reading.cause,
                look.isWorthwhile(at: header, cause, hasKeys: reading.keys != nil)
            else { return try availability(header, lockState, reading) }
            try keychain.awaitChange(operation, deadline, &look)
        }
    }

    private func availability(
        _ header: KeychainHeader, _ lockState: LockStateStore, _ reading: LockStatus
    ) throws(KeychainFailure) -> KeychainAvailability {
        var found = KeychainAvailability(
            state: .unlocked, level: header.keybag.level, openKeys: .all,
            isAnnounced: !keychain.directory.isReadOnly)
        switch reading {
        case .unlocked: found.end = lockState.unlockPeriod?.deadline
        case .locked: (found.state, found.openKeys) = (.locked, [.afterFirstUnlock])
        case .beforeFirstUnlock: (found.state, found.openKeys) = (.beforeFirstUnlock, [])
        case .unknown(let failure): throw failure
        }
        found.isOfProcess = lockState.provider.place == .process
        // Only opening further keys needs the device key.
        if found.openKeys != .all { try lookForDeviceKey(header, &found) }
        return found
    }

    private func availabilityWithoutPasscode(
        _ header: KeychainHeader
    ) throws(KeychainFailure) -> KeychainAvailability {
        var found = KeychainAvailability(
            state: .noPasscode, level: header.keybag.level, openKeys: .all,
            isAnnounced: !keychain.directory.isReadOnly)
        // Keys that this process has opened stay open without the device key.
        guard keychain.lastKnownState?.header !== header else { return found }
        try lookForDeviceKey(header, &found)
        if found.fault != nil { found.openKeys = [] }
        return found
    }

    private func lookForDeviceKey(
        _ header: KeychainHeader, _ found: inout KeychainAvailability
    ) throws(KeychainFailure) {
        do {
            try source.check(header, until: deadline)
        } catch {
            switch error.code {
            case .incomplete: found.state = .incomplete
            case .keyUnavailable: found.state = .keyUnavailable
            default: throw error
            }
            found.fault = error
        }
    }
}

/// A time in which a keychain is not locked by a call: ``Keychain/lockPeriod()``. Two of them are
/// equal if no lock was in between.
package struct LockPeriod: Hashable, Sendable {
    /// nil without a keychain.
    fileprivate let moment: LockMoment?
}

/// Which items of a keychain can be read, at one moment.
package struct KeychainAvailability: Hashable, Sendable {
    /// The lock state (spec/keys-and-states.md §5). An unlocked keychain stays `unlocked` if its
    /// device key disappears.
    package var state: LockState
    /// The level recorded in the keychain; nil if there is no keychain.
    package var level: ProtectionLevel?
    /// The scopes whose keys are open: all of them without a keychain or without a passcode.
    package var openKeys: Set<KeyScope>
    /// Why the device key is missing, in the states `keyUnavailable` and `incomplete`.
    package var fault: KeychainFailure?
    /// Whether this process unlocks the keychain only for itself.
    package var isOfProcess = false
    /// Whether changes of the state can be announced: false in a read-only folder.
    package var isAnnounced = true
    /// When the keychain locks by itself; nil if it never does.
    var end: BootTime?

    /// Whether items of `protectionClass` can be read now.
    package func isAvailable(_ protectionClass: ProtectionClass) -> Bool {
        openKeys.contains(protectionClass.scope)
    }

    /// The time until the keychain locks by itself, rounded up; nil if it never does.
    package var remaining: Duration? { end?.remaining }
}
