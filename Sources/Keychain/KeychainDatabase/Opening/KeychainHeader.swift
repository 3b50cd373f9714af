// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
package import ValetKeys
internal import ValetSealing
internal import ValetSystem

/// The part of a keychain that is readable without a key: its settings and its keybag.
/// ``OpenKeychain`` reads it, and ``KeySet`` holds the keys that belong to it.
///
/// Valid for as long as the database has the same stamp.
package final class KeychainHeader: Sendable {
    /// The one row of table `keychain`.
    package let settings: KeychainSettings
    /// Where the keychain is.
    package let location: KeychainLocation
    /// The wrapped keys of the current epoch.
    package let keybag: LockedKeybag
    /// The epoch and the digest of its keybag. Opened keys of another one are not used.
    package let mark: EpochMark
    /// Tells which keys are open; nil without a passcode.
    package let lockState: LockStateStore?

    /// - Parameter lockState: Where keys are published; nil for the store that this process has for
    ///   the keychain.
    package init(
        _ settings: KeychainSettings, _ keybag: LockedKeybag, at location: KeychainLocation,
        lockState given: LockStateStore? = nil
    ) {
        self.settings = settings
        self.location = location
        self.keybag = keybag
        mark = EpochMark(
            epoch: keybag.epoch, digest: keybag.digest(settings: settings.authenticatedBytes))
        lockState =
            keybag.protector == .device
            ? nil : given ?? LockStates.store(of: settings.keychainID, at: location)
    }

    /// Where opened keys are, with or without a passcode.
    package var openedKeys: LockStateStore {
        lockState ?? LockStates.store(of: settings.keychainID, at: location)
    }

    /// Whether a TPM has the device secret.
    package var isBoundToTPM: Bool { keybag.deviceSource == .tpm }

    /// Opens the keybag.
    ///
    /// - Throws: As ``LockedKeybag/unlock(with:settings:)``.
    package func unlock(with protector: borrowing Protector) throws(KeychainFailure)
        -> UnlockedKeybag
    {
        try keybag.unlock(with: protector, settings: settings.authenticatedBytes)
    }

    /// The proof that `protector` gives.
    package func proof(with protector: borrowing Protector) throws(KeychainFailure) -> PresenceProof
    {
        let keys = try keybag.presenceKeys(
            with: protector, settings: settings.authenticatedBytes)
        return PresenceProof(.passcode, keys: [keys])
    }

    /// The keys of `opened` in the form for publishing.
    package func published(_ opened: UnlockedKeybag) -> OpenedKeys {
        OpenedKeys(opened, digest: mark.digest)
    }
}

extension KeychainHeader {
    private static let operation = "open the keychain"

    /// Reads settings and keybag. The caller has begun a transaction.
    ///
    /// - Throws: ``KeychainFailure``: `newerFormat`, `keychainDamaged`.
    static func load(
        from store: RowConnection, at location: KeychainLocation
    ) throws(KeychainFailure) -> KeychainHeader {
        let settings = try settings(from: store)
        guard settings.isReadable else {
            throw KeychainFailure(
                .newerFormat, during: operation, path: store.connection.path,
                hint: "update this program")
        }
        let keybag: LockedKeybag
        do {
            keybag = try Self.keybag(from: store)
        } catch {
            throw error.unlessOfKeybag(operation)
        }
        guard keybag.epoch == settings.epoch, keybag.keychainID == settings.keychainID else {
            throw damaged(store, "the keybag and the settings do not match")
        }
        return KeychainHeader(settings, keybag, at: location)
    }

    private static func keybag(from store: RowConnection) throws(KeychainFailure) -> LockedKeybag {
        let (found, isOnly) = try translating(operation) { () throws(SystemError) in
            let run = try store.keybag.start()
            guard try run.step() else { return ((epoch: Int64, bytes: [UInt8])?.none, true) }
            return ((run.int64(0), run.blob(1)), try !run.step())
        }
        guard let found else { throw damaged(store, "the keybag is missing") }
        let keybag = try LockedKeybag(parsing: found.bytes)
        guard UInt64(exactly: found.epoch) == keybag.epoch.rawValue else {
            throw damaged(store, "a keybag has the wrong epoch")
        }
        guard isOnly else { throw damaged(store, "there is more than one keybag") }
        return keybag
    }

    private static func settings(
        from store: RowConnection
    ) throws(KeychainFailure) -> KeychainSettings {
        let found = try translating(operation) { () throws(SystemError) in
            let run = try store.keychain.start()
            guard try run.step() else { return Result<KeychainSettings, SystemError>?.none }
            return Result { () throws(SystemError) in try KeychainSettings(run) }
        }
        switch found {
        case .none: throw damaged(store, "the settings are missing")
        case .success(let settings): return settings
        case .failure: throw damaged(store, "the settings were changed")
        }
    }

    private static func damaged(_ store: RowConnection, _ message: String) -> KeychainFailure {
        KeychainFailure(
            .keychainDamaged, during: operation, message: message, path: store.connection.path,
            hint: KeychainFailure.damageHint)
    }
}
