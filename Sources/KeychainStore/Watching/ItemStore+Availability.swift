// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetKeychainModel
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
            return try reading(Self.looking) { (engine, deadline) throws(KeychainFailure) in
                try engine.availability(deadline)
            } ?? KeychainAvailability(state: .absent, openKeys: .all)
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
        try reading(Self.looking) { (engine, deadline) throws(KeychainFailure) in
            try engine.readFacts(Self.looking, deadline).newest.level
        }
    }
}

extension Engine {
    /// An epoch change is waited for once, and one that begins in between.
    private static let lookCount = 3

    fileprivate func availability(
        _ deadline: Deadline
    ) throws(KeychainFailure) -> KeychainAvailability {
        for attempt in 1...Self.lookCount {
            let facts = try readFacts(ItemStore.looking, deadline)
            let isLast = attempt == Self.lookCount
            let found: KeychainAvailability? =
                if let lockState = facts.lockState {
                    try availability(facts, lockState, isLast: isLast, deadline)
                } else {
                    try availabilityWithoutPasscode(facts, deadline)
                }
            if let found { return found }
            try awaitWriters(deadline)
        }
        throw KeychainFailure(
            .timedOut, during: ItemStore.looking, message: "its keys were changed again and again")
    }

    /// - Returns: nil if the keys that are published are of another epoch, which may be about to
    ///   begin: a look after that tells.
    private func availability(
        _ facts: KeychainFacts, _ lockState: LockStateStore, isLast: Bool, _ deadline: Deadline
    ) throws(KeychainFailure) -> KeychainAvailability? {
        var found = KeychainAvailability(
            state: .unlocked, level: facts.newest.level, openKeys: .all,
            isAnnounced: !directory.isReadOnly)
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
        if found.openKeys != .all { try lookForDeviceKey(facts, deadline, &found) }
        return found
    }

    /// - Returns: nil if a passcode was set in between.
    private func availabilityWithoutPasscode(
        _ facts: KeychainFacts, _ deadline: Deadline
    ) throws(KeychainFailure) -> KeychainAvailability? {
        var found = KeychainAvailability(
            state: .noPasscode, level: facts.newest.level, openKeys: .all,
            isAnnounced: !directory.isReadOnly)
        // What this process has opened stays open.
        guard lastKnownState?.facts !== facts else { return found }
        try lookForDeviceKey(facts, deadline, &found)
        if found.fault != nil { found.openKeys = [] }
        return found
    }

    private func lookForDeviceKey(
        _ facts: KeychainFacts, _ deadline: Deadline, _ found: inout KeychainAvailability
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
