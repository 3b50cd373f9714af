// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory

/// One reading of a backup, item by item, with one chunk and one item in memory.
///
/// An item that was given out is one that was written, at its place; whether the file goes on to
/// its end only ``end()`` can tell.
package struct BackupItems: ~Copyable {
    private var chunks: ChunkReader
    private var itemCount: UInt64 = 0
    private var outcome: Result<BackupSummary, BackupError>?

    init(_ chunks: consuming ChunkReader) {
        self.chunks = chunks
    }

    /// The next item; nil after the last one, once everything up to the end of the file is proved.
    ///
    /// - Throws: ``BackupError``, from then on always: `damaged`, `truncated`, `io`, at a place.
    package mutating func next() throws(BackupError) -> BackupItem? {
        switch outcome {
        case .success: return nil
        case .failure(let error): throw error
        case nil: break
        }
        do throws(BackupError) {
            return try readRecord()
        } catch {
            outcome = .failure(error)
            throw error
        }
    }

    /// What is at the end, after what is left has been read.
    ///
    /// - Throws: As ``next()``.
    package mutating func end() throws(BackupError) -> BackupSummary {
        while try next() != nil {}
        guard let outcome else { throw chunks.damaged }
        return try outcome.get()
    }

    private mutating func readRecord() throws(BackupError) -> BackupItem? {
        var start = try fields(byteCount: 5)
        let kind = RecordKind(rawValue: try start.integer())
        let byteCount: UInt32 = try start.integer()
        switch kind {
        case .item:
            let item = try readItem(byteCount: Int(byteCount))
            itemCount += 1
            return item
        case .trailer:
            guard byteCount == 8 else { throw chunks.damaged }
            var body = try fields(byteCount: 8)
            guard try body.integer(UInt64.self) == itemCount else { throw chunks.damaged }
            outcome = .success(BackupSummary(itemCount: itemCount, ending: try chunks.finish()))
            return nil
        case nil: throw chunks.damaged
        }
    }

    private mutating func readItem(byteCount: Int) throws(BackupError) -> BackupItem {
        guard byteCount >= BackupItem.fixedByteCount else { throw chunks.damaged }
        var fixed = try fields(byteCount: BackupItem.fixedByteCount)
        var left = byteCount - BackupItem.fixedByteCount
        guard let itemClass = ItemClass(rawValue: try fixed.integer()),
            let protection = ProtectionClass(rawValue: try fixed.integer())
        else { throw fixed.malformed }
        let flags = RecordFlags(rawValue: try fixed.integer())
        let logicalTime: Int64 = try fixed.integer()
        let listByteCount = Int(try fixed.integer(UInt32.self))
        guard flags.isSubset(of: .all), listByteCount <= left,
            listByteCount <= BackupItem.maximalByteCount
        else { throw fixed.malformed }
        let bytes = try chunks.bytes(listByteCount)
        guard let list = BackupAttributes(encoded: bytes) else { throw chunks.damaged }
        left -= listByteCount
        let value = try flags.contains(.hasValue) ? readValue(byteCount: left) : nil
        guard value != nil || left == 0 else { throw chunks.damaged }
        let properties = NewItem(
            itemClass, attributes: list.attributes, accessGroup: list.accessGroup,
            isSynchronizable: flags.contains(.synchronizable), protectionClass: protection)
        do throws(BackupError) {
            return try BackupItem(properties, logicalTime: logicalTime, value: value)
        } catch {
            throw chunks.damaged
        }
    }

    /// Reads LP(value), which takes up `byteCount` bytes.
    private mutating func readValue(byteCount: Int) throws(BackupError) -> SecretValue {
        guard byteCount >= 4 else { throw chunks.damaged }
        var prefix = try fields(byteCount: 4)
        let valueByteCount = byteCount - 4
        guard try prefix.integer(UInt32.self) == valueByteCount,
            valueByteCount <= BackupItem.maximalByteCount
        else { throw chunks.damaged }
        return SecretValue(try chunks.secret(valueByteCount))
    }

    /// The next bytes, which have the size of the fields in them.
    private mutating func fields(byteCount: Int) throws(BackupError) -> ByteReader<BackupError> {
        let bytes = try chunks.bytes(byteCount)
        return ByteReader(bytes, malformed: chunks.damaged)
    }
}
