// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import SecretMemory

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
        var start = try chunks.bytes(5)[...]
        guard let kind = start.popFirst().flatMap(RecordKind.init),
            let byteCount = start.popNumber(UInt32.self)
        else { throw chunks.damaged }
        switch kind {
        case .item:
            let item = try readItem(byteCount: Int(byteCount))
            itemCount += 1
            return item
        case .trailer:
            guard byteCount == 8 else { throw chunks.damaged }
            var body = try chunks.bytes(8)[...]
            guard body.popNumber(UInt64.self) == itemCount else { throw chunks.damaged }
            outcome = .success(BackupSummary(itemCount: itemCount, ending: try chunks.finish()))
            return nil
        }
    }

    private mutating func readItem(byteCount: Int) throws(BackupError) -> BackupItem {
        guard byteCount >= BackupItem.fixedByteCount else { throw chunks.damaged }
        var fixed = try chunks.bytes(BackupItem.fixedByteCount)[...]
        var left = byteCount - BackupItem.fixedByteCount
        guard let itemClass = fixed.popFirst().flatMap(ItemClass.init),
            let protection = fixed.popFirst().flatMap(ProtectionClass.init),
            let flags = fixed.popFirst().map(RecordFlags.init), flags.isSubset(of: .all),
            let logicalTime = fixed.popNumber(Int64.self),
            let listByteCount = fixed.popNumber(UInt32.self), listByteCount <= left,
            listByteCount <= BackupItem.maximalByteCount,
            let list = AttributeList.parse(try chunks.bytes(Int(listByteCount)))
        else { throw chunks.damaged }
        left -= Int(listByteCount)
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
        var prefix = try chunks.bytes(4)[...]
        let valueByteCount = byteCount - 4
        guard prefix.popNumber(UInt32.self).map(Int.init) == valueByteCount,
            valueByteCount <= BackupItem.maximalByteCount
        else { throw chunks.damaged }
        return SecretValue(try chunks.secret(valueByteCount))
    }
}
