// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

extension KeychainFacts {
    private static let operation = "open the keychain"

    /// Reads settings and keybags; inside a transaction of the caller's.
    ///
    /// - Throws: ``KeychainFailure``: `newerFormat`, `keychainDamaged`.
    static func load(
        from store: StoreConnection, at location: KeychainLocation
    ) throws(KeychainFailure) -> KeychainFacts {
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
                older.map({ $0.isFollowed(by: newest) }) ?? true,
                newest.keychainID == settings.keychainID
            else { throw damaged(store, "the keybag is another keychain's") }
            return KeychainFacts(settings, newest: newest, older: older, at: location)
        }
    }

    /// In the order of their epochs.
    private static func keybags(from store: StoreConnection) throws -> [LockedKeybag] {
        let run = try store.keybags.start()
        var keybags: [LockedKeybag] = []
        while try run.step() {
            let keybag = try LockedKeybag(parsing: run.blob(1))
            guard UInt64(exactly: run.int64(0)) == keybag.epoch.rawValue else {
                throw damaged(store, "a keybag is in another's place")
            }
            keybags.append(keybag)
        }
        return keybags
    }

    private static func settings(
        from store: StoreConnection
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

    private static func damaged(_ store: StoreConnection, _ message: String) -> KeychainFailure {
        KeychainFailure(
            .keychainDamaged, during: operation, message: message, path: store.connection.path,
            hint: KeychainFailure.damageHint)
    }
}

extension LockedKeybag {
    /// Whether `newer` is of the same keychain and the next epoch, and opened by the same.
    fileprivate func isFollowed(by newer: LockedKeybag) -> Bool {
        keychainID == newer.keychainID && epoch.rawValue + 1 == newer.epoch.rawValue
            && protector == newer.protector && deviceKeyID == newer.deviceKeyID
            && deviceSource == newer.deviceSource
    }
}
