// SPDX-License-Identifier: Apache-2.0

internal import Keybag
internal import Sealing
internal import SecretMemory
internal import Synchronization

/// The opened keys of one keychain in the kernel's user keyring, where every process of the user
/// finds them.
///
/// What was read is remembered, and believed as long as the kernel says that its key is good.
final class KernelLockState: Sendable {
    let keychainID: KeychainID
    private let unlockedName: String
    private let firstUnlockName: String
    /// A child of fork begins with nothing: a thread of its parent may have held the lock.
    private let memory = ProcessLocal<Memory> { _ in Memory() }

    /// Told of the period that was read last.
    let use: IdleUse

    init(keychainID: KeychainID, use: IdleUse) {
        self.keychainID = keychainID
        self.use = use
        unlockedName = KeyScope.whileUnlocked.description(of: keychainID)
        firstUnlockName = KeyScope.afterFirstUnlock.description(of: keychainID)
    }

    func name(of scope: KeyScope) -> String {
        switch scope {
        case .whileUnlocked: unlockedName
        case .afterFirstUnlock: firstUnlockName
        }
    }

    /// A payload that was read, and the key that it was read from.
    struct Found: Sendable {
        let key: KeySerial
        let payload: KeyPayload
    }

    /// What was read last.
    struct Remembered: Sendable {
        let firstUnlock: Found
        /// Nil when the keychain was locked.
        var unlocked: Found?
        let keys: OpenedKeys
        /// When the kernel last said that the key is good; to the millisecond.
        var lastCheck: BootTime?
    }

    private final class Memory: Sendable {
        let remembered = Mutex<Remembered?>(nil)
    }

    var remembered: Remembered? { memory.value.remembered.withLock { $0 } }

    /// Where keys were read from, until when they are good, and when the kernel last said so.
    struct Place {
        let key: KeySerial
        let deadline: BootTime?
        let lastCheck: BootTime?
    }

    /// The place of `keys`; nil unless they are those of an unlocked keychain, and were read last.
    func place(of keys: OpenedKeys) -> Place? {
        memory.value.remembered.withLock { remembered in
            guard remembered?.keys === keys, let unlocked = remembered?.unlocked else { return nil }
            return Place(
                key: unlocked.key, deadline: unlocked.payload.deadline,
                lastCheck: remembered?.lastCheck)
        }
    }

    /// Notes that `keys` were good at `moment`.
    func noteCheck(of keys: OpenedKeys, at moment: BootTime) {
        memory.value.remembered.withLock { remembered in
            if remembered?.keys === keys { remembered?.lastCheck = moment }
        }
    }

    /// Forgets what was read; the keys are wiped once nobody uses them any more.
    func forget() { remember(nil) }

    /// Forgets keys of none but earlier epochs.
    func forget(before epoch: Epoch) {
        memory.value.remembered.withLock { remembered in
            if remembered?.keys.isOver(before: epoch) == true { remembered = nil }
        }
    }

    /// Notes that the keys at `found.key`, which stay the same, may be used for another time.
    func noteRenewal(_ found: Found) {
        memory.value.remembered.withLock { remembered in
            guard let unlocked = remembered?.unlocked, unlocked.key == found.key,
                unlocked.payload.holdsSameKeys(as: found.payload)
            else { return }
            remembered?.unlocked = found
        }
        use.follow(found.payload.period)
    }

    func remember(_ remembered: Remembered?) {
        if let unlocked = remembered?.unlocked { use.follow(unlocked.payload.period) }
        memory.value.remembered.withLock { $0 = remembered }
    }
}
