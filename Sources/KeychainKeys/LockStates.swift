// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeychainModel
internal import ValetKeychainRows
package import ValetLockState
package import ValetSealing
internal import ValetSecretMemory
internal import ValetSystem

/// The lock states of this process, one for each keychain and folder that it has met: keys that are
/// open in this process alone outlive the closing of the keychain's files.
package final class LockStates: Sendable {
    private static let current = ProcessLocal<LockStates> { _ in LockStates() }

    /// Two ways to write the path of a folder are one name.
    private struct Name: Hashable {
        let keychainID: KeychainID
        let folder: String
    }

    private let stores = Mutex<[Name: LockStateStore]>([:])
    private static let variable = "VALET_LOCK_STATE"

    /// Whether this process unlocks keychains for itself alone.
    static var areOfProcess: Bool { chosenProvider().place == .process }

    @Sendable private static func chosenProvider() -> LockStateProvider {
        LockStateProvider(
            for: .ofProcess(
                setting: TrustedEnvironment.value(variable),
                isElevated: Environment.ofProcess.isElevated))
    }

    /// Refuses a setting that is not understood: if it counted as none, keys might be shared that
    /// were not to be.
    ///
    /// - Throws: ``KeychainFailure/Code/invalidRequest``.
    static func checkSetting(during operation: String) throws(KeychainFailure) {
        guard let setting = TrustedEnvironment.value(variable),
            !LockStateProvider.settings.contains(setting)
        else { return }
        throw KeychainFailure(
            .invalidRequest, during: operation,
            message: "the value of \(variable) is not understood",
            hint: "set \(variable) to \(LockStateProvider.settings.joined(separator: " or ")), "
                + "or unset it")
    }

    /// What was locked of keychains whose files cannot be read.
    package enum Locked {
        case one, every, none
    }

    /// Locks a keychain whose files do not say what it is: the one that `keychainID` names.
    ///
    /// - Parameters:
    ///   - all: Also takes the keys that stay from the first unlock on.
    ///   - isSweeping: Whether every one of the user's is locked if that is not known, or has no
    ///     opened keys.
    package static func lock(
        _ keychainID: KeychainID?, at location: KeychainLocation, all: Bool,
        orEveryKeychain isSweeping: Bool
    ) throws(LockStateError) -> Locked {
        if let keychainID {
            let store = store(of: keychainID, at: location)
            let hasKeys = try store.hasKeys()
            // Programs with keys of their own share no keys, and lock when the mark changes.
            try store.lock(all: all)
            if hasKeys { return .one }
        }
        guard isSweeping else { return .none }
        for store in current.value.stores.withLock({ Array($0.values) }) {
            // Some may not be reached; the others are.
            try? store.lock(all: all)
        }
        try LockStateStore.lockEveryKeychain(all: all, in: SharingPlaces(location))
        return .every
    }

    /// The lock state of the keychain in a folder.
    package static func store(of keychainID: KeychainID, at location: KeychainLocation)
        -> LockStateStore
    {
        let name = Name(
            keychainID: keychainID, folder: PrivateDirectory.resolvedPath(location.folder))
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
    /// The places of the keychain at `location`.
    init(_ location: KeychainLocation) {
        self.init(folder: location.folder, deviceFolder: location.deviceFolder)
    }
}
