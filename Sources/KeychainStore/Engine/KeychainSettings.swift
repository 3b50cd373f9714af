// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The one row of table `keychain`: docs/FORMAT.md §7.
struct KeychainSettings: Hashable, Sendable {
    /// What this version of the library writes, and the newest that it reads.
    static let currentVersion: Int64 = 1
    /// Features of which a reader has to know; this version knows none.
    private static let readerFeatures: Int64 = 0xffff_ffff
    private static let writerFeatures: Int64 = 0x7fff_ffff_0000_0000

    var stamp: Int64
    var format = currentVersion
    var minReader = currentVersion
    var minWriter = currentVersion
    var features: Int64 = 0
    var keychainID: KeychainID
    var epoch: Epoch

    init(stamp: Int64, keychainID: KeychainID, epoch: Epoch) {
        self.stamp = stamp
        self.keychainID = keychainID
        self.epoch = epoch
    }

    /// Reads the row that `run` is at.
    ///
    /// - Throws: ``RowFailure/column`` if a column holds what no writer puts there.
    init(_ run: borrowing Statement.Run) throws(RowFailure) {
        stamp = run.int64(1)
        format = try Self.version(run, 2)
        minReader = try Self.version(run, 3)
        minWriter = try Self.version(run, 4)
        features = run.int64(5)
        keychainID = try run.fixedBytes(6)
        guard let epoch = UInt64(exactly: run.int64(7)), epoch > 0 else { throw .column }
        self.epoch = Epoch(epoch)
    }

    /// A number of 32 bits: what the MAC covers has no room for others to pass for it.
    private static func version(
        _ run: borrowing Statement.Run, _ column: Int32
    ) throws(RowFailure) -> Int64 {
        guard let version = UInt32(exactly: run.int64(column)) else { throw .column }
        return Int64(version)
    }

    /// The bytes that the MAC of the keybag of `epoch` covers: docs/FORMAT.md §4.3.
    func authenticatedBytes(of epoch: Epoch) -> [UInt8] {
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
    var isWritable: Bool {
        isReadable && minWriter <= Self.currentVersion && features & Self.writerFeatures == 0
    }
}
