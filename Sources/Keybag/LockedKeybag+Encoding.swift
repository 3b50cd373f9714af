// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// docs/FORMAT.md §4.1.
extension LockedKeybag {
    private static let magic = Array("VALETBAG".utf8)
    private static let version: UInt16 = 1
    private static let maximalRecordCount = 64
    private static let maximalBodyByteCount = 4096

    /// Parses the bytes of a keybag.
    ///
    /// - Throws: ``KeybagError/Code/newer`` for a version, protector, source or tag that this
    ///   version does not know, ``KeybagError/Code/malformed`` for anything else that is wrong:
    ///   a record that is missing or out of place, a cost out of bounds.
    package init(parsing bytes: [UInt8]) throws(KeybagError) {
        var reader = ByteReader(bytes, malformed: KeybagError.malformedKeybag)
        guard try reader.bytes(8) == Self.magic else { throw .malformedKeybag }
        guard try reader.integer(UInt16.self) == Self.version else { throw .newerKeybag }
        keychainID = try reader.fixedBytes()
        epoch = Epoch(try reader.integer())
        guard epoch.rawValue > 0 else { throw .malformedKeybag }
        guard let protector = ProtectorKind(rawValue: try reader.integer()),
            let deviceSource = DeviceSource(rawValue: try reader.integer())
        else { throw .newerKeybag }
        self.protector = protector
        self.deviceSource = deviceSource
        deviceKeyID = try reader.fixedBytes()
        records = try Self.records(from: &reader)
        mac = try reader.fixedBytes()
        guard reader.isAtEnd else { throw .malformedKeybag }
        try checkRecords()
    }

    private static func records(
        from reader: inout ByteReader<KeybagError>
    ) throws(KeybagError) -> [KeybagTag: [UInt8]] {
        let count = try reader.integer(UInt16.self)
        guard count <= maximalRecordCount else { throw .malformedKeybag }
        var records: [KeybagTag: [UInt8]] = [:]
        var last: UInt16 = 0
        for _ in 0..<count {
            let number = try reader.integer(UInt16.self)
            guard number > last else { throw .malformedKeybag }
            last = number
            let byteCount = Int(try reader.integer(UInt32.self))
            guard byteCount <= maximalBodyByteCount else { throw .malformedKeybag }
            let body = try reader.bytes(byteCount)
            guard let tag = KeybagTag(rawValue: number) else { throw .newerKeybag }
            records[tag] = body
        }
        return records
    }

    /// The bytes that ``init(parsing:)`` takes.
    package var encoded: [UInt8] { authenticatedBytes + mac.bytes }

    /// Everything but the MAC.
    var authenticatedBytes: [UInt8] {
        var bytes = Self.magic
        bytes.append(bigEndian: Self.version)
        bytes += keychainID.bytes
        bytes.append(bigEndian: epoch.rawValue)
        bytes.append(protector.rawValue)
        bytes.append(deviceSource.rawValue)
        bytes += deviceKeyID.bytes
        bytes.append(bigEndian: UInt16(records.count))
        for (tag, body) in records.sorted(by: { $0.key < $1.key }) {
            bytes.append(bigEndian: tag.rawValue)
            bytes.append(bigEndian: UInt32(body.count))
            bytes += body
        }
        return bytes
    }
}

extension KeybagError {
    static var malformedKeybag: KeybagError { KeybagError(.malformed, during: "read the keybag") }
    static var newerKeybag: KeybagError { KeybagError(.newer, during: "read the keybag") }
}
