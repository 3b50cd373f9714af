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
