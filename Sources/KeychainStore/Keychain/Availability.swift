// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainKeys
package import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetLockState
internal import ValetSealing
internal import ValetSystem

extension ItemStore {
    /// What ``availability()`` does, in the words of its failures.
    package static let looking = "find out whether the keychain is locked"

    /// Which items can be read now; creates nothing, opens no item.
    ///
    /// Costs some ten microseconds while the keychain is open; locked, also a look at the device
    /// key. Waits for an epoch change to begin, as every call does.
    /// - Throws: ``KeychainFailure`` if it cannot be found out: `timedOut`, `keychainDamaged`,
    ///   `newerFormat`, `insecureFiles`, `inputOutput`.
    package func availability() throws(KeychainFailure) -> KeychainAvailability {
        do throws(KeychainFailure) {
            return try perform(.inspect, Self.looking) { try $0.availability() }
                ?? KeychainAvailability(state: .absent, openKeys: .all)
        } catch {
            // One of the two files alone: FORMAT §2.1.
            guard error.code == .incomplete else { throw error }
            return KeychainAvailability(state: .incomplete, openKeys: [], fault: error)
        }
    }

    /// The protection level recorded in the keychain; nil while there is none.
    ///
    /// - Throws: As ``availability()``.
    package func protectionLevel() throws(KeychainFailure) -> ProtectionLevel? {
        try perform(.inspect, Self.looking) { try $0.facts().newest.level }
    }
}

extension KeyAccess {
    /// An epoch change is waited for once, and one that begins in between.
    private static let lookCount = 3

    fileprivate func availability() throws -> KeychainAvailability {
        for attempt in 1...Self.lookCount {
            let facts = try facts()
            let isLast = attempt == Self.lookCount
            let found: KeychainAvailability? =
                if let lockState = facts.lockState {
                    try availability(facts, lockState, isLast: isLast)
                } else {
                    try availabilityWithoutPasscode(facts)
                }
            if let found { return found }
            try keychain.pool.awaitWriters(deadline)
        }
        throw KeychainFailure(
            .timedOut, during: ItemStore.looking, message: "its keys were changed again and again")
    }

    /// - Returns: nil if the keys that are published are of another epoch, which may be about to
    ///   begin: a look after that tells.
    private func availability(
        _ facts: KeychainHeader, _ lockState: LockStateStore, isLast: Bool
    ) throws(KeychainFailure) -> KeychainAvailability? {
        var found = KeychainAvailability(
            state: .unlocked, level: facts.newest.level, openKeys: .all,
            isAnnounced: !keychain.directory.isReadOnly)
        switch lockState.current(expecting: facts.marks) {
        case .locked(_, .otherEpoch) where !isLast, .beforeFirstUnlock(.otherEpoch) where !isLast:
            return nil
        case .unlocked: found.end = lockState.unlockPeriod?.deadline
        case .locked: (found.state, found.openKeys) = (.locked, [.afterFirstUnlock])
        case .beforeFirstUnlock: (found.state, found.openKeys) = (.beforeFirstUnlock, [])
        case .unknown(let error):
            throw KeychainFailure(.inputOutput, during: ItemStore.looking, message: "\(error)")
        }
        found.isOfProcess = lockState.provider.place == .process
        // What is open needs no device key; to open more takes it.
        if found.openKeys != .all { try lookForDeviceKey(facts, &found) }
        return found
    }

    /// - Returns: nil if a passcode was set in between.
    private func availabilityWithoutPasscode(
        _ facts: KeychainHeader
    ) throws(KeychainFailure) -> KeychainAvailability? {
        var found = KeychainAvailability(
            state: .noPasscode, level: facts.newest.level, openKeys: .all,
            isAnnounced: !keychain.directory.isReadOnly)
        // What this process has opened stays open.
        guard keychain.lastKnownState?.facts !== facts else { return found }
        try lookForDeviceKey(facts, &found)
        if found.fault != nil { found.openKeys = [] }
        return found
    }

    private func lookForDeviceKey(
        _ facts: KeychainHeader, _ found: inout KeychainAvailability
    ) throws(KeychainFailure) {
        do throws(KeychainFailure) {
            try source.check(facts, until: deadline)
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

/// Which items of a keychain can be read at one moment.
package struct KeychainAvailability: Hashable, Sendable {
    /// spec/keys-and-states.md §5. Unlocked, a keychain whose device key is gone is still
    /// `unlocked`.
    package var state: LockState
    /// The level recorded in the keychain; nil while there is none.
    package var level: ProtectionLevel?
    /// The scopes whose keys are open: all of them where there is no keychain or no passcode.
    package var openKeys: Set<KeyScope>
    /// Why the device key is not there, in the states `keyUnavailable` and `incomplete`.
    package var fault: KeychainFailure?
    /// Whether the process unlocks for itself alone.
    package var isOfProcess = false
    /// Whether a change of the state can be announced: not where files can only be read.
    package var isAnnounced = true
    /// When the keychain locks by itself; nil if it does not.
    var end: BootTime?

    /// Whether items of that class can be read, if there are any.
    package func isAvailable(_ protectionClass: ProtectionClass) -> Bool {
        openKeys.contains(protectionClass.scope)
    }

    /// How long the keychain stays unlocked, rounded up; nil if it has no end.
    package var remaining: Duration? { end?.remaining }
}
