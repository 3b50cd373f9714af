// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
package import ValetKeychainModel
package import ValetKeys
package import ValetSealing
internal import ValetSystem

/// The lock states of this process, one for each keychain and folder that it has used. They outlive
/// the open files, because keys that only this process has open must survive the closing of the
/// keychain. ``KeychainHeader`` gets its lock state here.
package final class LockStates: Sendable {
    private static let current = ProcessLocal<LockStates> { _ in LockStates() }

    /// A keychain and the resolved path of its folder, so that different spellings are equal.
    private struct Name: Hashable {
        let keychainID: KeychainID
        let folder: String
    }

    private let stores = Lock<[Name: LockStateStore]>([:])
    private let isAlone = Atomic(false)
    private static let variable = "VALET_LOCK_STATE"

    /// Whether this process unlocks keychains for itself alone.
    static var areOfProcess: Bool { chosenProvider().place == .process }

    /// Makes this process share no opened keys from now on. Keychains that are open notice this
    /// only when they are opened again.
    package static func keepInThisProcess() {
        current.value.isAlone.store(true, ordering: .relaxed)
        current.value.stores.withLock { $0 = [:] }
    }

    @Sendable private static func chosenProvider() -> LockStateProvider {
        if current.value.isAlone.load(ordering: .relaxed) {
            return LockStateProvider(.process, "it was unlocked for one command")
        }
        let environment = Environment.ofProcess
        return LockStateProvider(
            for: .ofProcess(
                setting: environment.value(variable), isElevated: environment.isElevated))
    }

    /// Refuses an unknown value of `$VALET_LOCK_STATE`: ignoring it could share keys that the user
    /// did not want to share.
    ///
    /// - Throws: ``KeychainFailure/Code/invalidRequest``.
    static func checkSetting(during operation: String) throws(KeychainFailure) {
        guard let setting = Environment.ofProcess.value(variable),
            !LockStateProvider.settings.contains(setting)
        else { return }
        throw KeychainFailure(
            .invalidRequest, during: operation,
            message: "the value of \(variable) is invalid",
            hint: "set \(variable) to \(LockStateProvider.settings.joined(separator: " or ")), "
                + "or unset it")
    }

    /// Locks a keychain whose database could not be read.
    ///
    /// - Parameters:
    ///   - keychainID: The keychain; nil if it is not known.
    ///   - all: Whether to remove also the keys of the scope `afterFirstUnlock`.
    ///   - isSweeping: Whether to lock all keychains of the user if `keychainID` is nil or has no
    ///     opened keys.
    /// - Returns: Whether all keychains of the user were locked.
    package static func lock(
        _ keychainID: KeychainID?, at location: KeychainLocation, all: Bool,
        orEveryKeychain isSweeping: Bool
    ) throws(KeychainFailure) -> Bool {
        if let keychainID {
            let store = store(of: keychainID, at: location)
            // Keys that cannot be looked for may exist.
            let hadKeys = (try? store.hasKeys()) ?? true
            // Programs that unlock for themselves share no keys. They lock when the mark changes.
            try store.lock(all: all)
            if hadKeys || !isSweeping { return false }
        }
        guard isSweeping else {
            try LockStateStore.lockFolder(location.folder, all: all)
            return false
        }
        for store in current.value.stores.withLock({ Array($0.values) }) {
            // One that fails must not keep the others from being locked.
            try? store.lock(all: all)
        }
        try LockStateStore.lockEveryKeychain(all: all, in: SharingPlaces(location))
        return true
    }

    /// The lock state of the keychain in a folder.
    package static func store(of keychainID: KeychainID, at location: KeychainLocation)
        -> LockStateStore
    {
        let name = Name(
            keychainID: keychainID, folder: FilePath.resolved(location.folder) ?? location.folder)
        return current.value.stores.withLock { stores in
            if let known = stores[name] { return known }
            let store = LockStateStore(
                keychainID: keychainID, places: SharingPlaces(location), provider: chosenProvider)
            stores[name] = store
            return store
        }
    }
}

extension SharingPlaces {
    init(_ location: KeychainLocation) {
        self.init(folder: location.folder, deviceFolder: location.deviceFolder)
    }
}
