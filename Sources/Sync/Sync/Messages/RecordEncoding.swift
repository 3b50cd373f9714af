// SPDX-License-Identifier: Apache-2.0

// Records and what they say about items, as bytes: docs/SYNC.md §3. Batches and parts of bases hold
// records; the replica reads their content.

package import ValetKeychainModel
package import ValetSealing

extension SyncRecord {
    /// The greatest time of a record: 2^62.
    package static let greatestTime: UInt64 = 1 << 62
    /// The most bytes of a content: 192 KiB.
    package static let maximalContentByteCount = TravellingItem.maximalByteCount
    static let headByteCount = 8 + 16 + 4

    package var byteCount: Int { Self.headByteCount + content.byteCount }

    static func head(time: UInt64, salt: RecordSalt, contentByteCount: Int) -> [UInt8] {
        [UInt8](fields: time, salt, UInt32(contentByteCount))
    }

    private var head: [UInt8] {
        Self.head(time: time, salt: salt, contentByteCount: content.byteCount)
    }

    func write(to writer: inout SecretWriter) {
        writer.append(head)
        writer.append(content)
    }

    /// Reads a record, and checks that an item of that content may travel in `scope`.
    ///
    /// - Throws: ``SyncError``: `form`, `time`, `limit`, and the rules of ``RecordContent``.
    init(from reader: inout OpenedReader, in scope: KeyScope) throws(SyncError) {
        let time = try reader.integer(UInt64.self)
        guard time <= Self.greatestTime else { throw reader.refusal(.time) }
        let salt = try reader.field(16, as: RecordSalt.self)
        let byteCount = try reader.length(upTo: Self.maximalContentByteCount)
        self.init(time: time, salt: salt, content: try reader.secret(byteCount))
        _ = try RecordContent(parsing: content, in: scope)
    }

    package static func isRising(_ left: SyncRecord, _ right: SyncRecord) -> Bool {
        if left.head != right.head { return left.head.span.precedes(right.head.span) }
        return left.content.withBytes { left in
            right.content.withBytes { right in left.precedes(right) }
        }
    }
}

extension RecordContent {
    private enum EncodedKind: UInt8 {
        case noValue = 0
        case value = 1
        case moved = 2
    }

    /// Checks that an item of this content may travel in `scope`.
    ///
    /// - Throws: ``SyncError``: `protection`, `content`, `moved`, `number`; `limit` if it is too
    ///   large.
    package func checkTravels(in scope: KeyScope) throws(SyncError) {
        try check(in: scope)
        guard byteCount <= SyncRecord.maximalContentByteCount else {
            throw SyncError(.invalid, .limit, in: .record)
        }
    }

    private var byteCount: Int {
        switch kind {
        case .noValue: TravellingItem.byteCount(attributes: attributes, valueByteCount: nil)
        case .value(let value):
            TravellingItem.byteCount(attributes: attributes, valueByteCount: value.byteCount)
        case .moved:
            TravellingItem.byteCount(attributes: attributes, valueByteCount: nil) + 16 + 8
        }
    }

    package var encoded: SecretValue {
        var writer = SecretWriter(byteCount: byteCount)
        let encodedKind: EncodedKind =
            switch kind {
            case .noValue: .noValue
            case .value: .value
            case .moved: .moved
            }
        writer.append(
            [UInt8](
                fields: itemClass.rawValue, protectionClass.rawValue, encodedKind.rawValue,
                SizedBytes(attributes.encoded)))
        switch kind {
        case .noValue: break
        case .value(let value):
            writer.append(UInt32(value.byteCount))
            writer.append(value)
        case .moved(let message):
            writer.append([UInt8](fields: message))
        }
        return SecretValue(writer.finish())
    }

    /// Reads a content.
    ///
    /// - Throws: ``SyncError``: `form`, `limit`, `content`, `protection`, `moved`, `number`.
    package init(parsing bytes: SecretValue, in scope: KeyScope) throws(SyncError) {
        guard bytes.byteCount <= SyncRecord.maximalContentByteCount else {
            throw SyncError(.invalid, .limit, in: .record)
        }
        try self.init(unchecked: bytes)
        try check(in: scope)
    }

    /// The most bytes of a field of a content: a keychain keeps no larger values.
    private static let longestField = 32 << 20

    /// Reads the content of any item, also of one that may not travel, for example because it is
    /// too large.
    ///
    /// - Throws: ``SyncError``: `form`, `limit`, `content`.
    package init(unchecked bytes: SecretValue) throws(SyncError) {
        var reader = OpenedReader(copying: bytes, in: .record)
        guard let itemClass = ItemClass(rawValue: try reader.integer()),
            let protectionClass = ProtectionClass(rawValue: try reader.integer()),
            let encodedKind = EncodedKind(rawValue: try reader.integer())
        else { throw reader.refusal(.content) }
        let list = try reader.bytes(try reader.length(upTo: Self.longestField))
        guard let attributes = AttributeList(encoded: list[...]) else {
            throw reader.refusal(.content)
        }
        let kind: Kind
        switch encodedKind {
        case .noValue: kind = .noValue
        case .value: kind = .value(try reader.secret(try reader.length(upTo: Self.longestField)))
        case .moved: kind = .moved(try reader.field(24))
        }
        try reader.finish()
        self.init(itemClass, protectionClass, kind: kind, attributes: attributes)
    }

    private func check(in scope: KeyScope) throws(SyncError) {
        var isMoved = false
        if case .moved(let message) = kind {
            isMoved = true
            guard message.number > 0 else { throw SyncError(.invalid, .number, in: .record) }
        }
        // The class in a *moved* record is the new one, in the other scope.
        guard !protectionClass.isThisDeviceOnly,
            (protectionClass.scope == scope) != isMoved
        else { throw SyncError(.invalid, .protection, in: .record) }
        guard case .text = attributes[Attribute.accessGroup.tag],
            attributes.entries.allSatisfy({ itemClass.mayTravel($0) })
        else { throw SyncError(.invalid, .content, in: .record) }
        guard hasFieldsAsSaid else { throw SyncError(.invalid, .content, in: .record) }
        let names = [Attribute.accessGroup] + itemClass.primaryKeyAttributes
        let tags = names.map(\.tag)
        guard !isMoved || attributes.entries.allSatisfy({ tags.contains($0.tag) }) else {
            throw SyncError(.invalid, .moved, in: .record)
        }
    }
}

extension RecordContent {
    /// Whether the value has as many fields as the attributes say: docs/FORMAT.md §5.7.
    private var hasFieldsAsSaid: Bool {
        guard let attribute = attributes[Attribute.fieldCount.tag] else { return true }
        guard case .number(let number) = attribute, let count = Int(exactly: number),
            case .value(let value) = kind
        else { return false }
        return ItemValue(sealedForm: value, fieldCount: count) != nil
    }
}

extension ItemClass {
    /// Whether an item that travels may have the attribute: docs/FORMAT.md §11.3.
    fileprivate func mayTravel(_ entry: AttributeList.Entry) -> Bool {
        if case .accessControl = entry.value { return false }
        guard let attribute = Attribute(tag: entry.tag) else { return false }
        switch attribute {
        case .synchronizable, .accessible, .accessControl: return false
        default: return attribute.exists(in: self)
        }
    }
}
