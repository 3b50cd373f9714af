// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

// The kept part of a roster, as bytes of the device's own keychain. No other program reads them, so
// their layout may change with the keychain's: version 1 is docs/FORMAT.md §12.

extension Roster.Kept {
    /// The bytes, from which ``init(parsing:)`` makes the same.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(entries.count))
        for entry in entries {
            bytes.append(bigEndian: UInt32(entry.bytes.count))
            bytes += entry.bytes
        }
        bytes += accepted.bytes
        bytes.append(bigEndian: UInt32(alarm.count))
        for hash in alarm { bytes += hash.bytes }
        bytes.append(bigEndian: UInt32(distrusted.count))
        for (device, hash) in distrusted.sorted(by: { $0.key < $1.key }) {
            bytes += device.bytes + hash.bytes
        }
        bytes.append(bigEndian: UInt32(named.count))
        for (device, hashes) in named.sorted(by: { $0.key < $1.key }) {
            bytes += device.bytes
            bytes.append(bigEndian: UInt32(hashes.count))
            for hash in hashes.sorted() { bytes += hash.bytes }
        }
        return bytes
    }

    /// Reads ``bytes``.
    ///
    /// - Throws: ``SyncError``: `malformed`, `form`; as ``RosterEntry/init(parsing:)``.
    package init(parsing bytes: [UInt8]) throws(SyncError) {
        var reader = ByteReader(bytes, malformed: SyncError(.malformed, .form, in: .rosterEntry))
        var entries: [RosterEntry] = []
        for _ in 0..<(try reader.integer(UInt32.self)) {
            let byteCount = Int(try reader.integer(UInt32.self))
            entries.append(try RosterEntry(parsing: try reader.bytes(byteCount)))
        }
        let accepted = try SyncHash(from: &reader)
        var alarm: [SyncHash] = []
        for _ in 0..<(try reader.integer(UInt32.self)) { alarm.append(try SyncHash(from: &reader)) }
        var distrusted: [DeviceID: SyncHash] = [:]
        for _ in 0..<(try reader.integer(UInt32.self)) {
            let device = try DeviceID(from: &reader)
            distrusted[device] = try SyncHash(from: &reader)
        }
        var named: [DeviceID: Set<SyncHash>] = [:]
        for _ in 0..<(try reader.integer(UInt32.self)) {
            let device = try DeviceID(from: &reader)
            var hashes: Set<SyncHash> = []
            for _ in 0..<(try reader.integer(UInt32.self)) {
                hashes.insert(try SyncHash(from: &reader))
            }
            named[device] = hashes
        }
        guard reader.isAtEnd else { throw reader.malformed }
        self.init(
            entries: entries, accepted: accepted, alarm: alarm, distrusted: distrusted,
            named: named)
    }
}
