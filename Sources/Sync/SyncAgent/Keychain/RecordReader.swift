// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
package import ValetSealing
package import ValetSync
internal import ValetSystem

/// Reads records from one moment of a keychain. Updates, views and snapshots of bases use it.
///
/// The record that a row shows is not stored a second time: its entry has only the salt, and the
/// row has the rest. The tag of its dot tells whether the row still gives the same bytes.
struct RecordReader {
    let store: RowConnection
    let keys: RowKeys

    var tables: SyncTables { store.sync }

    /// The row of an item, or its tombstone; nil for none.
    func row(of key: SyncItemID) throws -> SealedRow? {
        guard let place = try tables.place(of: key.number) else { return nil }
        return try store.row(in: place)
    }

    /// The content of an item's row, whether or not it may travel.
    ///
    /// - Throws: ``SystemError``.
    func content(of row: SealedRow) throws -> RecordContent {
        let opened = try keys.openUnused(row)
        return RecordContent(
            unchecked: row.header.itemClass, row.header.protectionClass,
            kind: opened.value.map { .value($0) } ?? .noValue,
            attributes: opened.content.travelling)
    }

    /// The record of a dot that is kept.
    ///
    /// - Returns: nil if it is missing, damaged, or closed now.
    func record(_ dot: Dot, in scope: KeyScope) throws -> SyncRecord? {
        guard let entry = try tables.entry(EntryKind.record, ReplicaEntry.id(of: dot, in: scope))
        else { return nil }
        let record = try? self.record(entry)
        return record?.tag == dot.tag ? record : nil
    }

    /// The record of an entry; made from its row if the entry has only the salt.
    ///
    /// - Throws: ``SystemError``; ``SyncError``.
    func record(_ entry: SealedSyncEntry) throws -> SyncRecord {
        let key = SyncItemID(entry.head.item)
        let summary = try RecordSummary(of: key, parsing: keys.openFacts(entry))
        guard let secret = try keys.openSecret(entry) else {
            throw SystemError.row(.damagedContent)
        }
        let (salt, content) = try secret.splitSalt()
        if let content { return SyncRecord(time: summary.time, salt: salt, content: content) }
        guard let row = try row(of: key) else { throw SystemError.row(.damagedContent) }
        return SyncRecord(
            time: summary.time, salt: salt, content: try self.content(of: row).encoded)
    }
}

extension SyncRecord {
    /// The sealed part of a record's entry: its salt, and the content unless a row has it.
    func secret(withContent: Bool) -> SecretValue {
        let count = withContent ? content.byteCount : 0
        var bytes = SecretBytes(byteCount: SealedSyncEntry.saltByteCount + count)
        bytes.write(salt.bytes.span, at: 0)
        if withContent {
            content.withBytes { bytes.write($0, at: SealedSyncEntry.saltByteCount) }
        }
        return SecretValue(bytes)
    }
}

extension SecretValue {
    /// Splits the result of ``SyncRecord/secret(withContent:)``.
    ///
    /// - Throws: ``SystemError``: `damagedContent`.
    func splitSalt() throws(SystemError) -> (salt: RecordSalt, content: SecretValue?) {
        let count = SealedSyncEntry.saltByteCount
        guard byteCount >= count else { throw .row(.damagedContent) }
        return try withBytes { (bytes: Span<UInt8>) throws(SystemError) in
            var reader = ByteReader(
                (0..<count).map { bytes[$0] }, malformed: SystemError.row(.damagedContent))
            let salt = try RecordSalt(from: &reader)
            guard bytes.count > count else { return (salt, nil) }
            return (salt, SecretValue(copying: bytes.extracting(count..<bytes.count)))
        }
    }
}

extension ItemContent {
    /// The attributes of the item's record: docs/SYNC.md §3.3.
    var travelling: AttributeList {
        var content = self
        content.valueByteCount = nil
        content.attributes[.accessControl] = nil
        return content.list
    }
}

extension RecordContent {
    /// The content of the item's row.
    ///
    /// - Throws: ``SystemError``: `damagedContent`.
    var itemContent: ItemContent {
        get throws(SystemError) {
            var content = try ItemContent(itemClass, attributes)
            if case .value(let value) = kind { content.valueByteCount = value.byteCount }
            return content
        }
    }

    /// The item's value; nil for an item without one.
    package var value: SecretValue? {
        guard case .value(let value) = kind else { return nil }
        return value
    }

    /// Whether this is a *moved* record.
    var hasMoved: Bool {
        if case .moved = kind { true } else { false }
    }

    /// The class whose keys seal the record in a keychain. A *moved* record names a class of the
    /// other scope.
    func sealingClass(in scope: KeyScope) -> ProtectionClass {
        if protectionClass.scope == scope { return protectionClass }
        return scope == .whileUnlocked ? .whenUnlocked : .afterFirstUnlock
    }
}

extension SealedRow {
    /// The time of the row's record: docs/SYNC.md §3.3.
    var recordTime: UInt64 {
        min(UInt64(max(0, logicalTime)), SyncRecord.greatestTime)
    }

    /// The row's state, as sync sees it.
    var localState: LocalState {
        let flags = header.flags
        if flags.contains(.tombstone) { return .absent }
        guard flags.contains(.synchronizable), !flags.isGuarded,
            !header.protectionClass.isThisDeviceOnly
        else { return .stays }
        return .travels(header.protectionClass.scope, time: recordTime)
    }
}
