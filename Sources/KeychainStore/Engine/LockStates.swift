// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import LockState
internal import Sealing
internal import SecretMemory
internal import Synchronization

/// The lock states of this process, one for each keychain that it has met: keys that are open in
/// this process alone outlive the closing of the keychain's files.
final class LockStates: Sendable {
    private static let current = ProcessLocal<LockStates> { _ in LockStates() }

    private let stores = Mutex<[KeychainID: LockStateStore]>([:])

    /// Whether this process unlocks keychains for itself alone.
    static var areOfProcess: Bool { chosenProvider().place == .process }

    private static func chosenProvider() -> LockStateProvider {
        LockStateProvider(
            for: .ofProcess(
                setting: TrustedEnvironment.value("VALET_LOCK_STATE"),
                isElevated: Environment.ofProcess.isElevated))
    }

    /// What was locked of keychains whose files cannot be read.
    enum Locked {
        case one, every, none
    }

    /// Locks a keychain whose files do not say what it is: the one that `keychainID` names.
    ///
    /// - Parameters:
    ///   - all: Also takes the keys that stay from the first unlock on.
    ///   - isSweeping: Whether every one of the user's is locked if that is not known, or has no
    ///     opened keys.
    static func lock(
        _ keychainID: KeychainID?, all: Bool, orEveryKeychain isSweeping: Bool
    ) throws(LockStateError) -> Locked {
        if let keychainID {
            let store = store(of: keychainID)
            if try store.hasKeys() {
                try store.lock(all: all)
                return .one
            }
        }
        guard isSweeping else { return .none }
        for store in current.value.stores.withLock({ Array($0.values) }) {
            try store.lock(all: all)
        }
        if chosenProvider().place == .kernel {
            try LockStateStore.lockEveryKeychain(all: all)
        }
        return .every
    }

    /// The lock state of a keychain.
    static func store(of keychainID: KeychainID) -> LockStateStore {
        current.value.stores.withLock { stores in
            if let known = stores[keychainID] { return known }
            let store = LockStateStore(keychainID: keychainID, provider: chosenProvider())
            stores[keychainID] = store
            return store
        }
    }
}
