// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeybag
internal import ValetKeychainModel
package import ValetKeychainRows
package import ValetLockState
internal import ValetSealing
internal import ValetSystem

/// The part of a keychain that is readable without a key: its settings, and one or two keybags.
/// ``OpenKeychain`` reads it, and ``OpenKeys`` holds the keys that belong to it.
///
/// Valid for as long as the database has the same stamp.
package final class KeychainHeader: Sendable {
    /// The one row of table `keychain`.
    package let settings: KeychainSettings
    /// Where the keychain is.
    package let location: KeychainLocation
    /// The keybag whose keys seal new and changed rows.
    package let newest: LockedKeybag
    /// The keybag of the previous epoch, while rows of that epoch are left: docs/FORMAT.md §4.4.
    package let older: LockedKeybag?
    /// The marks that opened keys have to match, oldest epoch first.
    package let marks: [EpochMark]
    /// Tells which keys are open; nil without a passcode.
    package let lockState: LockStateStore?

    /// - Parameter lockState: Where keys are published; nil for the one of this process.
    package init(
        _ settings: KeychainSettings, newest: LockedKeybag, older: LockedKeybag?,
        at location: KeychainLocation, lockState given: LockStateStore? = nil
    ) {
        self.settings = settings
        self.location = location
        self.newest = newest
        self.older = older
        marks = [older, newest].compactMap { $0 }.map { keybag in
            EpochMark(
                epoch: keybag.epoch,
                digest: keybag.digest(settings: settings.authenticatedBytes(of: keybag.epoch)))
        }
        lockState =
            newest.protector == .device
            ? nil : given ?? LockStates.store(of: settings.keychainID, at: location)
    }

    /// Where opened keys are shared, with or without a passcode.
    package var sharedLockState: LockStateStore {
        lockState ?? LockStates.store(of: settings.keychainID, at: location)
    }

    /// The keybags, the newest first.
    package var keybags: [LockedKeybag] { [newest] + (older.map { [$0] } ?? []) }

    /// Whether a TPM has the device secret.
    package var isBoundToTPM: Bool { newest.deviceSource == .tpm }

    /// Opens all keybags with one protector: while there are two, both have the same protector.
    ///
    /// - Throws: As ``LockedKeybag/unlock(with:settings:)``.
    package func unlock(
        with protector: borrowing Protector
    ) throws(KeybagError) -> [UnlockedKeybag] {
        var opened: [UnlockedKeybag] = []
        for keybag in keybags {
            opened.append(
                try keybag.unlock(
                    with: protector, settings: settings.authenticatedBytes(of: keybag.epoch)))
        }
        return opened
    }

    /// The keys of `opened`, the newest first, in the form for publishing.
    func published(_ opened: [UnlockedKeybag]) -> [EpochKeys] {
        zip(opened.reversed(), marks).map { EpochKeys($0, digest: $1.digest) }
    }
}

extension KeychainHeader {
    private static let operation = "open the keychain"

    /// Reads settings and keybags. The caller has begun a transaction.
    ///
    /// - Throws: ``KeychainFailure``: `newerFormat`, `keychainDamaged`.
    static func load(
        from store: RowConnection, at location: KeychainLocation
    ) throws(KeychainFailure) -> KeychainHeader {
        try translating(operation) {
            let settings = try settings(from: store)
            guard settings.isReadable else {
                throw KeychainFailure(
                    .newerFormat, during: operation, path: store.connection.path,
                    hint: "update this program")
            }
            var keybags = try keybags(from: store)
            guard let newest = keybags.popLast() else {
                throw damaged(store, "the keybag is missing")
            }
            let older = keybags.popLast()
            guard keybags.isEmpty, newest.epoch == settings.epoch,
                older.map({ precedes($0, newest) }) ?? true,
                newest.keychainID == settings.keychainID
            else { throw damaged(store, "the keybag and the settings do not match") }
            return KeychainHeader(settings, newest: newest, older: older, at: location)
        }
    }

    /// Whether `newer` is the keybag of the next epoch of the same keychain, with the same
    /// protector.
    private static func precedes(_ older: LockedKeybag, _ newer: LockedKeybag) -> Bool {
        older.keychainID == newer.keychainID && older.epoch.rawValue + 1 == newer.epoch.rawValue
            && older.protector == newer.protector && older.deviceKeyID == newer.deviceKeyID
            && older.deviceSource == newer.deviceSource
    }

    /// In the order of their epochs.
    private static func keybags(from store: RowConnection) throws -> [LockedKeybag] {
        let run = try store.keybags.start()
        var keybags: [LockedKeybag] = []
        while try run.step() {
            let keybag = try LockedKeybag(parsing: run.blob(1))
            guard UInt64(exactly: run.int64(0)) == keybag.epoch.rawValue else {
                throw damaged(store, "a keybag has the wrong epoch")
            }
            keybags.append(keybag)
        }
        return keybags
    }

    private static func settings(
        from store: RowConnection
    ) throws(KeychainFailure) -> KeychainSettings {
        try translating(operation) {
            let run = try store.keychain.start()
            guard try run.step() else { throw damaged(store, "the settings are missing") }
            do throws(RowFailure) {
                return try KeychainSettings(run)
            } catch {
                throw damaged(store, "the settings were changed")
            }
        }
    }

    private static func damaged(_ store: RowConnection, _ message: String) -> KeychainFailure {
        KeychainFailure(
            .keychainDamaged, during: operation, message: message, path: store.connection.path,
            hint: KeychainFailure.damageHint)
    }
}

/// Publishing keys during an epoch change, before its transaction commits: docs/FORMAT.md §4.4.
/// The caller holds the writers' lock.
extension KeychainHeader {
    /// Which keys are open. A keychain without a passcode reads as before the first unlock.
    package var lockStatus: LockStatus {
        lockState?.current(expecting: marks) ?? .beforeFirstUnlock(.notUnlocked)
    }

    /// Publishes the keys of this header in place of those of `old` that are open. A locked
    /// keychain stays locked, and an unlocked one keeps its time limits.
    ///
    /// - Parameter opened: The keys, the newest first.
    package func publishInPlace(of old: KeychainHeader, _ opened: [UnlockedKeybag])
        throws(LockStateError)
    {
        try lockState?.replaceOpenKeys(expecting: old.marks, with: published(opened))
    }

    /// Publishes the keys of this header and unlocks the keychain without time limits. A keychain
    /// that is already unlocked keeps its limits.
    ///
    /// - Parameters:
    ///   - before: The ``lockStatus`` of `old`.
    ///   - opened: The keys, the newest first.
    ///   - moment: A moment before the passcode was checked: a lock since then wins.
    func publishUnlocking(
        _ before: LockStatus, of old: KeychainHeader, _ opened: [UnlockedKeybag],
        since moment: LockMoment?
    ) throws(LockStateError) {
        switch before {
        // If another process locks the keychain now, it stays locked.
        case .unlocked: try publishInPlace(of: old, opened)
        case .locked, .beforeFirstUnlock, .unknown:
            try lockState?.publish(published(opened), within: .none, since: moment)
        }
    }

    /// Restores the published keys after an epoch change failed. A keychain that was locked since
    /// then stays locked.
    ///
    /// - Parameter before: The ``lockStatus`` of this header, from before the change.
    package func putBack(_ before: LockStatus) throws(LockStateError) {
        let lockState = sharedLockState
        do throws(LockStateError) {
            switch before {
            case .unlocked(let opened):
                do throws(LockStateError) {
                    try lockState.replaceKeys(with: opened.epochs)
                } catch {
                    guard error.code == .notUnlocked else { throw error }
                    try lockState.replaceFirstUnlockKeys(with: opened.epochs)
                }
            case .locked(let opened, _):
                try lockState.lock(all: false)
                try lockState.replaceFirstUnlockKeys(with: opened.epochs)
            case .beforeFirstUnlock, .unknown: try lockState.lock(all: true)
            }
        } catch {
            guard error.code == .notUnlocked else { throw error }
        }
    }
}

extension LockStateStore {
    /// How many locks can interfere: one from unlocked to locked, one from there to nothing. An
    /// unlock cannot, because it needs the writers' lock.
    private static let lockCount = 2

    /// Replaces the open keys by keys of the same scopes; unlocks nothing.
    ///
    /// - Parameter marks: The epochs of the keys to replace.
    func replaceOpenKeys(
        expecting marks: [EpochMark], with keys: [EpochKeys]
    ) throws(LockStateError) {
        for _ in 0...Self.lockCount {
            do throws(LockStateError) {
                switch current(expecting: marks) {
                case .unlocked: return try replaceKeys(with: keys)
                case .locked: return try replaceFirstUnlockKeys(with: keys)
                case .beforeFirstUnlock, .unknown: return
                }
            } catch {
                guard error.code == .notUnlocked else { throw error }
            }
        }
    }
}

extension KeychainHeader {
    /// Opens the presence pairs of all epochs.
    private func presenceKeys(
        with protector: borrowing Protector
    ) throws(KeybagError) -> [PresenceKeys] {
        var opened: [PresenceKeys] = []
        for keybag in keybags {
            opened.append(
                try keybag.presenceKeys(
                    with: protector, settings: settings.authenticatedBytes(of: keybag.epoch)))
        }
        return opened
    }

    /// The proof that `protector` gives.
    package func proof(
        with protector: borrowing Protector
    ) throws(KeybagError) -> PresenceProof {
        PresenceProof(.passcode, keys: try presenceKeys(with: protector))
    }
}
