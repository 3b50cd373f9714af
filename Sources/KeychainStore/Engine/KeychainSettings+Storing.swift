// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

extension KeychainSettings {
    /// Stores the settings of a new keychain.
    func insert(into connection: Connection) throws(SystemError) {
        let insert = Statement(
            "INSERT INTO keychain VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7)", on: connection)
        let run = try insert.start()
        try run.bind(stamp, at: 1)
        try run.bind(format, at: 2)
        try run.bind(minReader, at: 3)
        try run.bind(minWriter, at: 4)
        try run.bind(features, at: 5)
        try run.bind(keychainID, at: 6)
        try run.bind(Int64(epoch.rawValue), at: 7)
        try run.finish()
    }
}

extension LockedKeybag {
    /// Stores a new keybag.
    func insert(into connection: Connection) throws(SystemError) {
        let insert = Statement("INSERT INTO keybag (epoch, bytes) VALUES (?1, ?2)", on: connection)
        let run = try insert.start()
        try run.bind(Int64(epoch.rawValue), at: 1)
        try run.bind(encoded, at: 2)
        try run.finish()
    }
}

/// Settings and keybag of a keychain that is being created.
struct NewKeybag {
    let settings: KeychainSettings
    let locked: LockedKeybag

    init(
        keychainID: KeychainID, source: DeviceKeySource, protector: borrowing Protector
    ) {
        settings = KeychainSettings(
            stamp: .random(in: .min ... .max), keychainID: keychainID, epoch: Epoch(1))
        locked = LockedKeybag(
            keychainID: keychainID, epoch: settings.epoch, deviceSource: source,
            protector: protector, settings: settings.authenticatedBytes(of: settings.epoch))
    }
}
