// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
internal import ValetSystem

/// The one row of table `keychain`: docs/FORMAT.md §7. The MAC of the keybag covers it.
/// ``KeychainHeader`` reads it.
package struct KeychainSettings: Hashable, Sendable {
    /// The format that this version of the library writes, and the newest that it reads.
    static let currentVersion: Int64 = 1
    /// The feature bits that a reader has to know. This version knows none.
    private static let readerFeatures: Int64 = 0xffff_ffff
    private static let writerFeatures: Int64 = 0x7fff_ffff_0000_0000

    /// A random number. Every change of the settings or the keybag replaces it.
    package var stamp: Int64
    /// The version of the format that the keychain was written in.
    package var format = currentVersion
    var minReader = currentVersion
    var minWriter = currentVersion
    var features: Int64 = 0
    /// The identity of the keychain, independent of its folder.
    package var keychainID: KeychainID
    /// The epoch of the keybag.
    package var epoch: Epoch

    /// The settings of a new keychain.
    package init(stamp: Int64, keychainID: KeychainID, epoch: Epoch) {
        self.stamp = stamp
        self.keychainID = keychainID
        self.epoch = epoch
    }

    /// Reads the row that `run` is at.
    ///
    /// - Throws: ``SystemError``: `damagedColumn` if a column has a value that no writer stores.
    init(_ run: borrowing Statement.Run) throws(SystemError) {
        stamp = run.int64(1)
        format = try Self.version(run, 2)
        minReader = try Self.version(run, 3)
        minWriter = try Self.version(run, 4)
        features = run.int64(5)
        keychainID = try run.fixedBytes(6)
        guard let epoch = UInt64(exactly: run.int64(7)), epoch > 0 else {
            throw .row(.damagedColumn)
        }
        self.epoch = Epoch(epoch)
    }

    /// A version, which has 32 bits. The MAC covers only the low 32 bits, so it would also fit a
    /// larger number with the same low bits.
    private static func version(
        _ run: borrowing Statement.Run, _ column: Int32
    ) throws(SystemError) -> Int64 {
        guard let version = UInt32(exactly: run.int64(column)) else { throw .row(.damagedColumn) }
        return Int64(version)
    }

    /// The bytes that the MAC of the keybag covers: docs/FORMAT.md §4.3.
    package var authenticatedBytes: [UInt8] {
        var bytes: [UInt8] = []
        for version in [format, minReader, minWriter] {
            bytes.append(bigEndian: UInt32(truncatingIfNeeded: version))
        }
        bytes.append(bigEndian: features)
        bytes += keychainID.bytes
        bytes.append(bigEndian: epoch.rawValue)
        return bytes
    }

    /// Whether this version may read the keychain.
    var isReadable: Bool {
        format <= Self.currentVersion && minReader <= Self.currentVersion
            && features & Self.readerFeatures == 0
    }

    /// Whether this version may write to the keychain.
    package var isWritable: Bool {
        isReadable && minWriter <= Self.currentVersion && features & Self.writerFeatures == 0
    }
}

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
