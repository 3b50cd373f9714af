// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import Keybag
internal import KeychainModel
internal import Sealing

extension KeychainState {
    private static let operation = "open the keychain"

    /// Reads settings and keybag and opens the keys; inside a transaction of the caller's.
    ///
    /// - Throws: ``KeychainFailure``: `newerFormat`, `keychainDamaged`, `incomplete`,
    ///   `keyUnavailable`, `locked`.
    static func load(
        from store: StoreConnection, source: DeviceSecretSource
    ) throws(KeychainFailure) -> KeychainState {
        let (settings, locked) = try read(from: store)
        guard locked.protector == .device else {
            throw KeychainFailure(.locked, during: operation)
        }
        return try translating(operation) {
            let secret = try source.secret(of: settings.keychainID, from: locked.deviceSource)
            let keys = try locked.unlock(
                with: DeviceProtector(secret), settings: settings.authenticatedBytes)
            return KeychainState(settings, locked, keys)
        }
    }

    /// Reads settings and keybag without opening anything.
    static func read(
        from store: StoreConnection
    ) throws(KeychainFailure) -> (KeychainSettings, LockedKeybag) {
        try translating(operation) {
            let settings = try settings(from: store)
            guard settings.isReadable else {
                throw KeychainFailure(
                    .newerFormat, during: operation, path: store.connection.path,
                    hint: "update this program")
            }
            let run = try store.keybag.start()
            try run.bind(Int64(settings.epoch.rawValue), at: 1)
            guard try run.step() else { throw damaged(store, "the keybag is missing") }
            let locked = try LockedKeybag(parsing: run.blob(0))
            guard locked.keychainID == settings.keychainID, locked.epoch == settings.epoch else {
                throw damaged(store, "the keybag is another keychain's")
            }
            return (settings, locked)
        }
    }

    private static func settings(
        from store: StoreConnection
    ) throws(KeychainFailure) -> KeychainSettings {
        try translating(operation) {
            let run = try store.keychain.start()
            guard try run.step() else { throw damaged(store, "the settings are missing") }
            do throws(RowDamage) {
                return try KeychainSettings(run)
            } catch {
                throw damaged(store, "the settings were changed")
            }
        }
    }

    private static func damaged(_ store: StoreConnection, _ message: String) -> KeychainFailure {
        KeychainFailure(
            .keychainDamaged, during: operation, message: message, path: store.connection.path,
            hint: KeychainFailure.damageHint)
    }
}
