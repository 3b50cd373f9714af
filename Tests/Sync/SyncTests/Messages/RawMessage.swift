// SPDX-License-Identifier: Apache-2.0

// Plaintexts whose every field can be wrong, and an author that signs them.

import ValetKeychainModel
import ValetSealing

@testable import ValetSync

/// The author of a log, which signs anything.
struct TestAuthor {
    static let circle = CircleID(high: 0xc1, low: 0xc2)
    static let device = DeviceID(high: 0xd1, low: 0xd2)
    static let log = LogID(high: 0xd1, low: 7)
    static let other = LogID(high: 0xe1, low: 9)
    static let before = LogPosition(number: 3, hash: SyncHash(1, 2, 3, 4))

    let pair: SyncSecretCopy
    let scope: KeyScope

    init(_ scope: KeyScope = .afterFirstUnlock) {
        pair = SyncSecretCopy()
        self.scope = scope
    }

    /// Random bytes that can be copied.
    struct SyncSecretCopy {
        let bytes = Randomness.bytes(32)
    }

    func signing() throws -> SigningPair {
        let bytes = pair.bytes
        let seed = try SymmetricKey<Purpose.SigningSeed>(copying: bytes.span)
        return SigningPair(seed: seed)
    }

    /// The circle's key.
    static func key() throws -> CircleKey {
        let bytes = [UInt8](repeating: 0x4b, count: 32)
        return try CircleKey(copying: bytes.span)
    }

    func header(_ kind: MessageHeader.Kind) throws -> MessageHeader {
        MessageHeader(
            kind, 5, in: LogPlace(Self.circle, Self.device, scope, Self.log),
            after: Self.before.hash, naming: (SyncHash(5, 6, 7, 8), try Self.key().id))
    }

    /// Seals and signs a plaintext that is padded here.
    func bytes(_ plaintext: [UInt8], _ header: MessageHeader) throws -> [UInt8] {
        var padded = plaintext
        Padding.pad(&padded, toMultipleOf: MessageFormat.step(ofPlaintext: plaintext.count))
        return try bytes(padded: padded, header)
    }

    /// Seals and signs a padded plaintext.
    func bytes(padded: [UInt8], _ header: MessageHeader) throws -> [UInt8] {
        let key = try Self.key()
        let signing = try signing()
        let built = BuiltMessage(
            header, sealing: padded.span, under: key, signedBy: signing, random: .random())
        return built.bytes
    }

    func verified(_ bytes: [UInt8]) throws -> VerifiedMessage {
        try ReceivedMessage(parsing: bytes).verified(by: signing().publicKey)
    }

    func batch(_ raw: RawBatch) throws -> Batch {
        let bytes = try bytes(raw.bytes, header(.batch))
        let key = try Self.key()
        return try verified(bytes).batch(under: key)
    }

    func base(_ raw: RawBase) throws -> Base {
        let bytes = try bytes(raw.bytes, header(.base))
        let key = try Self.key()
        return try verified(bytes).base(under: key)
    }
}

/// A table whose fields can be wrong.
struct RawTable {
    var logs = [
        (TestAuthor.log, TestAuthor.before), (TestAuthor.other, LogPosition.start),
    ]
    var count: UInt16?

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: count ?? UInt16(logs.count))
        for (log, position) in logs {
            bytes += log.bytes
            bytes.append(bigEndian: position.number)
            bytes += position.hash.bytes
        }
        return bytes
    }
}

/// A dot as it is encoded.
struct RawDot {
    var index: UInt16 = 0
    var number: UInt64 = 1
    var tag: UInt64 = 1

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: index)
        bytes.append(bigEndian: number)
        bytes.append(bigEndian: tag)
        return bytes
    }
}

/// A batch whose fields can be wrong.
struct RawBatch {
    var reads: UInt16 = 1
    var table = RawTable()
    var covers = [RawDot()]
    var coverCount: UInt16?
    var records = [RawRecord().bytes]
    var recordCount: UInt16?
    var end: [UInt8] = []

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: 1_700_000_000_000 as UInt64)
        bytes.append(bigEndian: reads)
        bytes += table.bytes
        bytes.append(bigEndian: coverCount ?? UInt16(covers.count))
        for cover in covers { bytes += cover.bytes }
        bytes.append(bigEndian: recordCount ?? UInt16(records.count))
        for record in records { bytes += record }
        return bytes + end
    }
}

/// A base whose fields can be wrong.
struct RawBase {
    var reads: UInt16 = 1
    var table = RawTable()
    var own: [(UInt64, UInt64)] = [(1, 9), (3, 1)]
    var ownCount: UInt16?
    var dots: UInt32 = 2
    var parts = [SyncHash(1, 1, 1, 1)]
    var partCount: UInt16?
    var end: [UInt8] = []

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: 1_700_000_000_000 as UInt64)
        bytes.append(bigEndian: reads)
        bytes += table.bytes
        bytes.append(bigEndian: ownCount ?? UInt16(own.count))
        for (number, start) in own {
            bytes.append(bigEndian: number)
            bytes.append(bigEndian: start)
        }
        bytes.append(bigEndian: dots)
        bytes.append(bigEndian: partCount ?? UInt16(parts.count))
        for part in parts { bytes += part.bytes }
        return bytes + end
    }
}

/// A record whose fields can be wrong.
struct RawRecord {
    var time: UInt64 = 1
    var salt = RecordSalt(high: 1, low: 2)
    var content = RawContent().bytes
    var byteCount: UInt32?

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: time)
        bytes += salt.bytes
        bytes.append(bigEndian: byteCount ?? UInt32(content.count))
        return bytes + content
    }
}

/// The content of a record whose fields can be wrong.
struct RawContent {
    var itemClass: UInt8 = 1
    var protectionClass: UInt8 = 2
    var kind: UInt8 = 0
    var attributes = Self.list([.accessGroup: .text("g"), .account: .text("me")])
    var attributesByteCount: UInt32?
    var rest: [UInt8] = []

    var bytes: [UInt8] {
        var bytes = [itemClass, protectionClass, kind]
        bytes.append(bigEndian: attributesByteCount ?? UInt32(attributes.count))
        return bytes + attributes + rest
    }

    static func list(_ attributes: ItemAttributes) -> [UInt8] {
        var list = AttributeList()
        for (attribute, value) in attributes { list.set(value, for: attribute.tag) }
        return list.encoded
    }

    /// `LP(value)`, or with another length.
    static func value(_ bytes: [UInt8], byteCount: UInt32? = nil) -> [UInt8] {
        var value: [UInt8] = []
        value.append(bigEndian: byteCount ?? UInt32(bytes.count))
        return value + bytes
    }

    /// A value with one field: docs/FORMAT.md §5.7.
    static let oneField: [UInt8] =
        [0, 0, 0, 10, 0, 1, 1, 1, 0x61, 0, 0, 0, 1, 0x78] + Array("password".utf8)

    /// The message of a *moved* record.
    static func message(number: UInt64) -> [UInt8] {
        var bytes = TestAuthor.log.bytes
        bytes.append(bigEndian: number)
        return bytes
    }
}
