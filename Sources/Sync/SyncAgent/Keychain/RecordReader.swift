// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing
package import ValetSync
internal import ValetSystem

/// Reads records from one moment of a keychain. Updates, views and snapshots of bases use it.
///
/// The content of a record that a row shows is stored once, in the row: the record's entry has only
/// the salt. The tag of the record's dot tells whether the row still gives the same bytes.
struct RecordReader {
    let keys: RowKeys
    let operation: String
    private let store: RowConnection

    init(_ store: RowConnection, _ keys: RowKeys, during operation: String) {
        (self.store, self.keys, self.operation) = (store, keys, operation)
    }

    var tables: SyncTables { store.sync }

    func entry(_ kind: UInt8, _ id: [UInt8]) throws(KeychainFailure) -> SealedSyncEntry? {
        try translating(tables.entry(kind, id), during: operation)
    }

    /// The facts of an entry; nil if there is none.
    func facts(_ kind: UInt8, _ id: [UInt8]) throws(KeychainFailure) -> [UInt8]? {
        guard let entry = try entry(kind, id) else { return nil }
        return try translating(keys.openFacts(entry), during: operation)
    }

    /// The row of an item, or its tombstone; nil for none.
    func row(of key: SyncItemID) throws(KeychainFailure) -> SealedRow? {
        try translating(operation) { () throws(SystemError) in try unopenedRow(of: key) }
    }

    private func unopenedRow(of key: SyncItemID) throws(SystemError) -> SealedRow? {
        guard let place = try tables.place(of: key.number) else { return nil }
        return try store.row(in: place)
    }

    /// The content of the last former row of an item that opens now; nil for none.
    func formerContent(of key: SyncItemID) throws(KeychainFailure) -> RecordContent? {
        try translating(operation) { () throws(SystemError) in
            guard let place = try tables.place(of: key.number) else { return nil }
            for row in try store.formerRows(of: place, keys.hasher).compactMap(\.sound) {
                let content = try unlessClosed { () throws(SystemError) in try opened(row) }
                if let content { return content }
            }
            return nil
        }
    }

    /// The result of `body`; nil if what it opens is damaged, or closed now. Throws every other
    /// error: what could not be read may be there.
    private func unlessClosed<R>(
        _ body: () throws(SystemError) -> R
    ) throws(SystemError) -> R? {
        do {
            return try body()
        } catch {
            guard error.isDamage || error.code == .lockedRow else { throw error }
            return nil
        }
    }

    /// The content of an item's row, whether or not it may travel; nil for a damaged row.
    func content(of row: SealedRow) throws(KeychainFailure) -> RecordContent? {
        try translating(operation) { () throws(SystemError) in
            try unlessDamaged { () throws(SystemError) in try opened(row) }
        }
    }

    private func opened(_ row: SealedRow) throws(SystemError) -> RecordContent {
        let opened = try keys.openUnused(row)
        return RecordContent(
            row.header.itemClass, row.header.protectionClass,
            kind: opened.value.map { .value($0) } ?? .noValue,
            attributes: opened.content.travelling)
    }

    /// The stored record of a dot.
    ///
    /// - Returns: nil if the record is missing, damaged, or closed now.
    func record(_ dot: Dot, in scope: KeyScope) throws(KeychainFailure) -> SyncRecord? {
        guard let entry = try entry(EntryKind.record, ReplicaEntry.id(of: dot, in: scope))
        else { return nil }
        let record = try translating(operation) { () throws(SystemError) in
            try unlessClosed { () throws(SystemError) in try opened(entry) }
        }
        return record?.tag == dot.tag ? record : nil
    }

    /// The copy of an item that was set aside; nil if it is missing, damaged, or closed now.
    func recordSetAside(of key: SyncItemID) throws(KeychainFailure) -> SyncRecord? {
        guard let entry = try entry(EntryKind.aside, ReplicaEntry.id(of: key)) else { return nil }
        return try translating(operation) { () throws(SystemError) in
            try unlessClosed { () throws(SystemError) in try opened(entry) }
        }
    }

    /// The content that the row of an item shows; nil if there is none, or if it is damaged or
    /// closed now.
    func shownContent(of key: SyncItemID) throws(KeychainFailure) -> RecordContent? {
        try translating(operation) { () throws(SystemError) in
            guard let row = try unopenedRow(of: key), !row.header.flags.contains(.tombstone) else {
                return nil
            }
            return try unlessClosed { () throws(SystemError) in try opened(row) }
        }
    }

    /// The record of an entry; nil if the entry or its row is damaged.
    func record(_ entry: SealedSyncEntry) throws(KeychainFailure) -> SyncRecord? {
        try translating(operation) { () throws(SystemError) in
            try unlessDamaged { () throws(SystemError) in try opened(entry) }
        }
    }

    /// What an entry of a record has itself.
    enum OwnContent {
        case content(RecordContent, of: SyncItemID, time: UInt64)
        /// Nothing: the content is that of the item's row.
        case ofRow
        case damaged
    }

    /// Reads what an entry of a record has itself. Facts that do not open do no harm to an entry
    /// without content.
    func ownContent(_ kind: UInt8, _ id: [UInt8]) throws(KeychainFailure) -> OwnContent {
        try translating(operation) { () throws(SystemError) in
            try unlessDamaged { () throws(SystemError) in
                guard let entry = try tables.entry(kind, id),
                    let parts = try keys.openSecret(entry)?.splitSalt()
                else { throw .row(.damagedContent) }
                guard let bytes = parts.content else { return .ofRow }
                let (key, facts) = (SyncItemID(entry.head.item), try keys.openFacts(entry))
                let (content, summary) = try soundly { () throws(SyncError) in
                    (
                        try RecordContent(unchecked: bytes),
                        try RecordSummary(of: key, parsing: facts)
                    )
                }
                // Checks the names.
                _ = try content.itemContent
                return .content(content, of: key, time: summary.time)
            } ?? .damaged
        }
    }

    /// The salt of an entry without content, whose record takes its content from the row; nil for
    /// an entry with content, and for a damaged one.
    func saltWithoutContent(_ entry: SealedSyncEntry) throws(KeychainFailure) -> RecordSalt? {
        try translating(operation) { () throws(SystemError) in
            let secret = try unlessDamaged { () throws(SystemError) in try keys.openSecret(entry) }
            guard let (salt, content) = try (secret ?? nil)?.splitSalt(), content == nil else {
                return nil
            }
            return salt
        }
    }

    /// The record of an entry; made from its row if the entry has only the salt.
    private func opened(_ entry: SealedSyncEntry) throws(SystemError) -> SyncRecord {
        let key = SyncItemID(entry.head.item)
        let facts = try keys.openFacts(entry)
        let summary = try soundly { () throws(SyncError) in
            try RecordSummary(of: key, parsing: facts)
        }
        guard let secret = try keys.openSecret(entry) else {
            throw .row(.damagedContent)
        }
        let (salt, content) = try secret.splitSalt()
        if let content { return SyncRecord(time: summary.time, salt: salt, content: content) }
        guard let row = try unopenedRow(of: key) else { throw .row(.damagedContent) }
        return SyncRecord(time: summary.time, salt: salt, content: try opened(row).encoded)
    }
}

extension SyncRecord {
    /// The sealed part of a record's entry: its salt, and the content unless a row has it.
    func secret(withContent: Bool) -> SecretValue {
        let count = withContent ? content.byteCount : 0
        var bytes = SecretBytes(byteCount: SealedSyncEntry.saltByteCount + count)
        bytes.write(salt.bytes.span, at: 0)
        if withContent { content.withBytes { bytes.write($0, at: SealedSyncEntry.saltByteCount) } }
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
            try content.noteSize(of: value)
            return content
        }
    }

    /// The item's value, in the form of docs/FORMAT.md §5.7 if it has fields; nil for an item
    /// without one.
    package var value: SecretValue? {
        guard case .value(let value) = kind else { return nil }
        return value
    }

    /// The item's value and its fields; nil for an item without a value.
    ///
    /// - Throws: ``KeychainFailure/Code/damaged``.
    package var itemValue: ItemValue? {
        get throws(KeychainFailure) {
            try translating("read a value of a circle") { () throws(SystemError) in
                guard let value else { return nil }
                return try itemContent.value(sealedAs: value)
            }
        }
    }

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
    var recordTime: UInt64 { min(UInt64(max(0, logicalTime)), SyncRecord.greatestTime) }

    var localState: LocalState {
        let flags = header.flags
        if flags.contains(.tombstone) { return .absent }
        guard flags.contains(.synchronizable), !flags.isGuarded,
            !header.protectionClass.isThisDeviceOnly
        else { return .stays }
        return .travels(header.protectionClass.scope, time: recordTime)
    }
}

// Turns rows into records, and finds the items of records.

extension SyncUpdate {
    /// Puts pending changes into a batch: ``ScopeReplica/draftBatch(limits:read:)`` with
    /// ``record(_:in:)-(PendingSource,_)``.
    package func draftBatch(in scope: KeyScope) throws(KeychainFailure) -> BatchDraft? {
        var failure: KeychainFailure?
        let draft = replica?[scope].draftBatch { source in
            guard failure == nil else { return nil }
            do throws(KeychainFailure) {
                return try record(source, in: scope)
            } catch {
                failure = error
                return nil
            }
        }
        if let failure { throw failure }
        return draft
    }

    /// Makes the record of something pending.
    ///
    /// - Returns: nil if it cannot be made now: ``unsendable`` says why, unless its row is closed.
    package func record(
        _ source: PendingSource, in scope: KeyScope
    ) throws(KeychainFailure) -> SyncRecord? {
        switch source {
        case .row(let key): try recordOfRow(key, in: scope)
        case .aside(let key): try recordSetAside(key, in: scope)
        case .moved(let key, let time, let message):
            try recordOfMove(key, in: scope, time: time, by: message)
        case .dot(let dot): try reader.record(dot, in: scope)
        }
    }

    private func recordOfRow(
        _ key: SyncItemID, in scope: KeyScope
    ) throws(KeychainFailure) -> SyncRecord? {
        guard let row = try reader.row(of: key) else { return refuse(key, .damaged) }
        guard let content = try unlessLocked(reader.content(of: row)) else { return nil }
        guard let content else { return refuse(key, .damaged) }
        let record = sendable(content, key, in: scope, time: row.recordTime, salt: .random())
        if let record { tagsOfRows.insert(record.tag) }
        return record
    }

    private func recordSetAside(
        _ key: SyncItemID, in scope: KeyScope
    ) throws(KeychainFailure) -> SyncRecord? {
        guard let entry = try reader.entry(EntryKind.aside, ReplicaEntry.id(of: key)) else {
            return refuse(key, .damaged)
        }
        guard let record = try unlessLocked(reader.record(entry)) else { return nil }
        guard let record, let content = try? RecordContent(unchecked: record.content) else {
            return refuse(key, .damaged)
        }
        return sendable(content, key, in: scope, time: record.time, salt: record.salt)
    }

    /// The result of `body`; nil if it fails with `locked`.
    private func unlessLocked<R>(
        _ body: @autoclosure () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        do {
            return try body()
        } catch {
            guard error.code == .locked else { throw error }
            return nil
        }
    }

    private func sendable(
        _ content: RecordContent, _ key: SyncItemID, in scope: KeyScope, time: UInt64,
        salt: RecordSalt
    ) -> SyncRecord? {
        do {
            try content.checkTravels(in: scope)
            return SyncRecord(time: time, salt: salt, content: content.encoded)
        } catch {
            return refuse(key, error.rule == .limit ? .tooLarge : .damaged)
        }
    }

    private func refuse(_ key: SyncItemID, _ reason: UnsendableItem.Reason) -> SyncRecord? {
        let item = UnsendableItem(key: key, reason: reason)
        if !unsendable.contains(item) { unsendable.append(item) }
        return nil
    }

    /// Makes the record that says that an item moved to the other scope. Its access group and
    /// primary key come from the item's row, or from a former one.
    private func recordOfMove(
        _ key: SyncItemID, in scope: KeyScope, time: UInt64, by message: MessageName
    ) throws(KeychainFailure) -> SyncRecord? {
        guard let known = try knownContent(of: key) else { return nil }
        let isElsewhere = known.protectionClass.scope != scope
        let usual: ProtectionClass = scope == .whileUnlocked ? .afterFirstUnlock : .whenUnlocked
        let names = known.itemClass.primaryKeyAttributes.map(\.tag) + [Attribute.accessGroup.tag]
        var attributes = AttributeList()
        for entry in known.attributes.entries where names.contains(entry.tag) {
            attributes.set(entry.value, for: entry.tag)
        }
        let content = RecordContent(
            known.itemClass, isElsewhere ? known.protectionClass : usual, kind: .moved(message),
            attributes: attributes)
        return sendable(content, key, in: scope, time: time, salt: .random())
    }

    private func knownContent(of key: SyncItemID) throws(KeychainFailure) -> RecordContent? {
        if let row = try reader.row(of: key), !row.header.flags.contains(.tombstone) {
            // A row of a closed scope is read later.
            return try unlessLocked(reader.content(of: row)) ?? nil
        }
        return try reader.formerContent(of: key)
    }

    // MARK: Records of messages

    /// The summary of a record in a message. Gives the item a number if it is new, even if the
    /// message is not joined.
    ///
    /// - Returns: A failure for a record that may not travel in the scope.
    package func summary(
        of record: SyncRecord, in scope: KeyScope
    ) throws(KeychainFailure) -> Result<RecordSummary, SyncError> {
        let content: RecordContent
        do { content = try RecordContent(parsing: record.content, in: scope) } catch {
            return .failure(error)
        }
        var moved: MessageName?
        if case .moved(let message) = content.kind { moved = message }
        return .success(
            RecordSummary(key: try key(of: content), time: record.time, moved: moved))
    }

    /// The number of the item that `content` names.
    package func key(of content: RecordContent) throws(KeychainFailure) -> SyncItemID {
        let item = try translating(operation) { () throws(SystemError) in try content.itemContent }
        return try key(
            in: rows.state.hasher.place(
                content.itemClass, item.attributes, group: item.accessGroup,
                isSynchronizable: true))
    }
}

extension RecordSalt {
    static func random() -> RecordSalt {
        RecordSalt(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
    }
}
