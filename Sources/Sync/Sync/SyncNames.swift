// SPDX-License-Identifier: Apache-2.0

// The values that all parts of sync use: names of logs, messages and records, and decoded
// messages (docs/SYNC.md §3). The replica and the logs work on them; the code in folder `Bytes`
// parses and encodes them.

package import ValetKeychainModel
package import ValetSealing

/// 16 bytes that are not secret. `Name` makes each kind a distinct type.
///
/// They are kept as two numbers, because a join compares and hashes them for every record.
package struct SyncBytes<Name>: Hashable, Comparable, Sendable, ByteField {
    /// The first 8 bytes, big endian.
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        self.init(high: try reader.integer(), low: try reader.integer())
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
    }

    package static var zero: Self { Self(high: 0, low: 0) }

    package var bytes: [UInt8] { [UInt8](fields: self) }

    package static func < (left: Self, right: Self) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}

/// The names that distinguish kinds of ``SyncBytes``.
package enum SyncBytesName {
    package enum Circle {}
    package enum Device {}
    package enum Log {}
    package enum RecordSalt {}
    package enum Mailbox {}
    package enum File {}
}

/// Names a circle: half of the hash of its first roster entry.
package typealias CircleID = SyncBytes<SyncBytesName.Circle>
/// Names a member of a circle: half of a hash of its public keys.
package typealias DeviceID = SyncBytes<SyncBytesName.Device>
/// Names a log: the first 8 bytes are those of its author's ``DeviceID``.
package typealias LogID = SyncBytes<SyncBytesName.Log>
/// Random bytes made with a record. Because of them, the record's tag cannot test guesses of the
/// value.
package typealias RecordSalt = SyncBytes<SyncBytesName.RecordSalt>
/// Names the place of an invitation's mails.
package typealias MailboxID = SyncBytes<SyncBytesName.Mailbox>
/// Half of the hash of a file's bytes, which is part of its name in a store.
package typealias FileHash = SyncBytes<SyncBytesName.File>

extension LogID {
    package func belongs(to device: DeviceID) -> Bool { high == device.high }
}

/// A BLAKE2b-256 hash of a message, a part or a roster entry.
package struct SyncHash: Hashable, Comparable, Sendable, ByteField {
    /// The first 8 bytes, big endian.
    package let first: UInt64
    private let second: UInt64
    private let third: UInt64
    private let fourth: UInt64

    package init(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
        (self.first, self.second, self.third, self.fourth) = (first, second, third, fourth)
    }

    package init(_ digest: Digest) {
        self = digest.withBytes { bytes in
            let words = InlineArray<4, UInt64> { word in
                (0..<8).reduce(0) { $0 << 8 | UInt64(bytes[8 * word + $1]) }
            }
            return SyncHash(words[0], words[1], words[2], words[3])
        }
    }

    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        self.init(
            try reader.integer(), try reader.integer(), try reader.integer(), try reader.integer())
    }

    /// 32 zero bytes, where a message has nothing before it.
    package static var zero: SyncHash { SyncHash(0, 0, 0, 0) }

    package func append(to bytes: inout [UInt8]) {
        for word in [first, second, third, fourth] { bytes.append(bigEndian: word) }
    }

    package var bytes: [UInt8] { [UInt8](fields: self) }

    package func half<Name>(as kind: SyncBytes<Name>.Type = SyncBytes<Name>.self)
        -> SyncBytes<Name>
    {
        SyncBytes(high: first, low: second)
    }

    package static func < (left: SyncHash, right: SyncHash) -> Bool {
        (left.first, left.second, left.third, left.fourth)
            < (right.first, right.second, right.third, right.fourth)
    }
}

/// Names a message: numbers rise within a log, from 1.
package struct MessageName: Hashable, Comparable, Sendable, ByteField {
    package let log: LogID
    package let number: UInt64

    package init(log: LogID, number: UInt64) { (self.log, self.number) = (log, number) }

    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        (log, number) = try reader.fields()
    }

    package func append(to bytes: inout [UInt8]) {
        log.append(to: &bytes)
        bytes.append(bigEndian: number)
    }

    package static func < (left: MessageName, right: MessageName) -> Bool {
        left.log != right.log ? left.log < right.log : left.number < right.number
    }
}

/// Names a record for ever: by the message that brought it, and by its bytes.
package struct Dot: Hashable, Comparable, Sendable, ByteField {
    package let log: LogID
    package let number: UInt64
    package let tag: UInt64

    package init(log: LogID, number: UInt64, tag: UInt64) {
        (self.log, self.number, self.tag) = (log, number, tag)
    }

    package var message: MessageName { MessageName(log: log, number: number) }

    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        (log, number, tag) = try reader.fields()
    }

    package func append(to bytes: inout [UInt8]) {
        message.append(to: &bytes)
        bytes.append(bigEndian: tag)
    }

    package static func < (left: Dot, right: Dot) -> Bool {
        if left.log != right.log { return left.log < right.log }
        return left.number != right.number ? left.number < right.number : left.tag < right.tag
    }
}

/// The position in a log: number and hash of the last message that was read.
package struct LogPosition: Hashable, Sendable, ByteField {
    package let number: UInt64
    package let hash: SyncHash

    package init(number: UInt64, hash: SyncHash) { (self.number, self.hash) = (number, hash) }

    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        (number, hash) = try reader.fields()
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: number)
        hash.append(to: &bytes)
    }

    package static var start: LogPosition { LogPosition(number: 0, hash: .zero) }
}

/// The position in each log. A log that is absent was not read at all.
package typealias LogTable = [LogID: LogPosition]

/// An item in the form in which devices exchange it. Its bytes stay the same on every device.
package struct SyncRecord: Sendable {
    package let time: UInt64
    /// Random, made with the record.
    package let salt: RecordSalt
    /// The encoded ``RecordContent``, which holds the item's value.
    package let content: SecretValue
    package let tag: UInt64

    package init(time: UInt64, salt: RecordSalt, content: SecretValue) {
        (self.time, self.salt, self.content) = (time, salt, content)
        tag = Self.tag(time: time, salt: salt, content: content)
    }

    private static func tag(time: UInt64, salt: RecordSalt, content: SecretValue) -> UInt64 {
        let head = head(time: time, salt: salt, contentByteCount: content.byteCount)
        let digest = UnkeyedHash.digest(.syncRecord) { hash in
            content.withBytes { content in hash.append(head.span, content) }
        }
        return SyncHash(digest).first
    }
}

package struct RecordContent: Sendable {
    /// The item's value, or what stands in its place.
    package enum Kind: Sendable {
        case noValue
        case value(SecretValue)
        /// The item is now in the other scope; the named message brought it there.
        case moved(MessageName)
    }

    package let itemClass: ItemClass
    /// The item's protection class; in a *moved* record, the new one.
    package let protectionClass: ProtectionClass
    package let kind: Kind
    /// The attributes, in the form of a backup; in a *moved* record, only those that name the item.
    package let attributes: AttributeList

    /// The content of any item, even of one that cannot be synchronized, for example because it is
    /// too large.
    package init(
        _ itemClass: ItemClass, _ protectionClass: ProtectionClass, kind: Kind,
        attributes: AttributeList
    ) {
        (self.itemClass, self.protectionClass) = (itemClass, protectionClass)
        (self.kind, self.attributes) = (kind, attributes)
    }
}

/// The open part of a message, which its author signs with the rest.
package struct MessageHeader: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case batch
        case base
    }

    package var kind: Kind
    package var circle: CircleID
    /// The scope, which has keys, logs and a replica of its own.
    package var scope: KeyScope
    package var device: DeviceID
    /// The log, which belongs to the author, and the number, which rises within it.
    package var name: MessageName
    /// The hash of the message before in this log; zero for the first.
    package var previous: SyncHash
    /// The hash of the newest roster entry that the author has accepted.
    package var roster: SyncHash
    /// The id of the circle's key that seals the message.
    package var keyID: KeyID

    package init(
        _ kind: Kind, _ number: UInt64, in place: LogPlace, after previous: SyncHash,
        naming said: (roster: SyncHash, keyID: KeyID)
    ) {
        (self.kind, circle, scope, device) = (kind, place.circle, place.scope, place.device)
        name = MessageName(log: place.log, number: number)
        (self.previous, roster, keyID) = (previous, said.roster, said.keyID)
    }
}

/// Says what changed since its author's last message.
package struct Batch: Sendable {
    /// When it was built: milliseconds since 1970.
    package var milliseconds: UInt64
    /// The highest version of the format that the author reads.
    package var reads: UInt16
    /// The author's positions in the logs that the covers name, and in those that it has read
    /// further since its last message.
    package var table: LogTable
    /// The records that are deleted or replaced, strictly rising.
    package var covers: [Dot]
    /// The new records. The dot of each has this message's log and number.
    package var records: [SyncRecord]
}

/// Says, with its parts, everything that its author knows.
package struct Base: Sendable {
    /// A message of the author's log by its number and the first 8 bytes of its hash.
    package struct OwnMessage: Hashable, Sendable {
        package let number: UInt64
        /// ``SyncHash/first`` of its hash.
        package let hashStart: UInt64
    }

    /// When it was built: milliseconds since 1970.
    package var milliseconds: UInt64
    package var reads: UInt16
    package var table: LogTable
    /// The author's last messages in this log before this one, by rising numbers.
    package var own: [OwnMessage]
    package var dotCount: UInt32
    package var parts: [SyncHash]
}

package struct BasePart: Sendable {
    /// A record that the author has seen.
    package struct Entry: Sendable {
        package let dot: Dot
        /// The record; nil if it is deleted and its dot is in the author's cloud.
        package let record: SyncRecord?

        package init(_ dot: Dot, _ record: SyncRecord?) { (self.dot, self.record) = (dot, record) }
    }

    /// The records, by dots that rise strictly through all parts.
    package var entries: [Entry]

    package init(entries: [Entry]) { self.entries = entries }
}
