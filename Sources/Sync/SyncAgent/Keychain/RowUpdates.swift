// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetSealing
package import ValetSync
internal import ValetSystem

// Applies the changes that the replica asks for to rows and entries: docs/SYNC.md §4, *Show*.

extension SyncUpdate {
    /// Makes the changes that the replica asks for, in their order.
    ///
    /// Removed values become replaced ones. Every change that the replica returns has to be applied
    /// in the same transaction.
    ///
    /// - Parameter records: The records to keep: those of the message that is joined or built.
    ///   Others do no harm.
    package func apply(_ changes: [ReplicaChange], bringing records: [Dot: SyncRecord]) throws {
        guard !changes.isEmpty else { return }
        var showing = RowUpdates(self, records, changes)
        for change in changes { try showing.make(change) }
    }
}

/// The changes of one call.
private struct RowUpdates {
    let update: SyncUpdate
    let records: [Dot: SyncRecord]
    /// The records that rows will show, in which case the rows have their contents.
    private var upcoming: Set<Dot> = []
    /// The items whose rows no message has brought.
    private var unsent: Set<SyncItemID> = []

    private var reader: RecordReader { update.reader }

    init(_ update: SyncUpdate, _ records: [Dot: SyncRecord], _ changes: [ReplicaChange]) {
        self.update = update
        self.records = records
        for case .show(_, _, .dot(let dot)) in changes { upcoming.insert(dot) }
    }

    mutating func make(_ change: ReplicaChange) throws {
        switch change {
        case .record(let scope, .keep(let dot)): try keep(dot, in: scope)
        case .record(let scope, .drop(let dot, let isReplaced)):
            if isReplaced { try replace(dot, in: scope) }
            try update.delete(EntryKind.record, ReplicaEntry.id(of: dot, in: scope))
        case .setAside(let key, let scope): try setAside(key, scope)
        case .keepUnsent(let key): unsent.insert(key)
        case .show(let key, let scope, let source): try show(key, in: scope, source)
        case .remove(let key): try remove(key)
        }
    }

    // MARK: Records

    private func keep(_ dot: Dot, in scope: KeyScope) throws {
        let living = update.replica?[scope].summary(of: dot)
        guard let record = records[dot] else {
            // A record that a later change of the same call drops may be missing.
            if living == nil { return }
            throw KeychainFailure(
                .internalFault, during: update.rows.operation, message: "a record is missing")
        }
        let content = try RecordContent(parsing: record.content, in: scope)
        let key = try living?.key ?? update.key(of: content)
        // A record of a log with two histories is brought anew, and is not live any more.
        guard let summary = update.replica?[scope].summary(of: dot, key) else { return }
        let isShown = upcoming.contains(dot) ? try content.isGivenByRow : false
        let isOfRow = isShown || update.tagsOfRows.contains(record.tag)
        let head = head(of: dot, summary, content, in: scope)
        try update.put(
            head, facts: summary.encoded, secret: record.secret(withContent: !isOfRow))
    }

    private func head(
        of dot: Dot, _ summary: RecordSummary, _ content: RecordContent, in scope: KeyScope
    ) -> SyncEntryHead {
        SyncEntryHead(
            EntryKind.record, ReplicaEntry.id(of: dot, in: scope), item: summary.key.number,
            content.sealingClass(in: scope))
    }

    /// Turns a record that is not live any more into a replaced value.
    private func replace(_ dot: Dot, in scope: KeyScope) throws {
        let id = ReplicaEntry.id(of: dot, in: scope)
        guard let entry = try update.tables.entry(EntryKind.record, id),
            let record = try reader.record(dot, in: scope)
        else { return }
        try update.keepReplaced(record, SyncItemID(entry.head.item), dot, in: scope)
    }

    private func setAside(_ key: SyncItemID, _ scope: KeyScope) throws {
        guard let row = try reader.row(of: key),
            let content = try unlessRowDamaged({ try reader.content(of: row) })
        else { return }
        let record = SyncRecord(time: row.recordTime, salt: .random(), content: content.encoded)
        try update.put(
            SyncEntryHead(
                EntryKind.aside, ReplicaEntry.id(of: key), item: key.number,
                content.sealingClass(in: scope)),
            facts: RecordSummary(key: key, time: record.time).encoded,
            secret: record.secret(withContent: true))
    }

    // MARK: Rows

    private mutating func show(
        _ key: SyncItemID, in scope: KeyScope, _ source: RecordSource
    ) throws {
        switch source {
        case .row: return
        case .aside:
            let id = ReplicaEntry.id(of: key)
            guard let entry = try update.tables.entry(EntryKind.aside, id),
                let record = try unlessRowDamaged({ try reader.record(entry) })
            else { return }
            try write(record, update.unchecked(record.content), key, showing: nil)
            try update.delete(EntryKind.aside, id)
        case .dot(let dot):
            guard let record = try records[dot] ?? reader.record(dot, in: scope) else {
                throw SystemError.row(.damagedContent)
            }
            try write(record, RecordContent(parsing: record.content, in: scope), key, showing: dot)
        }
    }

    /// Writes a record into the row of its item.
    private mutating func write(
        _ record: SyncRecord, _ content: RecordContent, _ key: SyncItemID, showing dot: Dot?
    ) throws {
        let item = try content.itemContent
        let flags: RowFlags = .synchronizable
        let indexed = update.rows.hashed(item, content.itemClass, flags)
        let kind = RowKind(protectionClass: content.protectionClass, flags: flags)
        let rows = update.rows(at: record.time)
        let existing = try rows.row(indexed.index.place)
        guard case .row(let row)? = existing, !row.header.flags.contains(.tombstone),
            let former = try unlessRowDamaged({ try reader.content(of: row) })
        else {
            _ = try rows.makeWay(over: existing)
            _ = try rows.insert(content.itemClass, kind, indexed, value: content.value)
            return
        }
        if unsent.remove(key) != nil, !former.isSameItem(as: content) {
            try update.keepReplaced(former, of: row, key)
        }
        try copyContents(of: key, but: dot, from: row, former)
        try rows.replace(row, kind, indexed, value: content.value)
    }

    /// Gives the other live records of an item contents of their own, if they used those of the
    /// row.
    private func copyContents(
        of key: SyncItemID, but dot: Dot?, from row: SealedRow, _ content: RecordContent
    ) throws {
        for scope in KeyScope.allCases {
            for other in update.replica?[scope].keptDots(of: key) ?? [] where other != dot {
                let id = ReplicaEntry.id(of: other, in: scope)
                guard let entry = try update.tables.entry(EntryKind.record, id),
                    let secret = try unlessRowDamaged({ try update.rows.state.openSecret(entry) }),
                    let (salt, none) = try secret?.splitSalt(), none == nil,
                    let summary = update.replica?[scope].summary(of: other, key)
                else { continue }
                let record = SyncRecord(time: summary.time, salt: salt, content: content.encoded)
                guard record.tag == other.tag else { continue }
                try update.put(
                    head(of: other, summary, content, in: scope), facts: summary.encoded,
                    secret: record.secret(withContent: true))
            }
        }
    }

    private func remove(_ key: SyncItemID) throws {
        guard let row = try reader.row(of: key), !row.header.flags.contains(.tombstone) else {
            return
        }
        if let content = try unlessRowDamaged({ try reader.content(of: row) }) {
            try copyContents(of: key, but: nil, from: row, content)
            try update.keepReplaced(content, of: row, key)
            try update.rows.delete(row)
        } else {
            try update.rows.quarantine(.row(row))
        }
    }
}

extension SyncUpdate {
    /// The transaction that writes rows for a record of that time.
    fileprivate func rows(at time: UInt64) -> RowTransaction {
        var rows = rows
        rows.synced = SyncedTimes(
            logicalTime: Int64(min(time, SyncRecord.greatestTime)), changeNumber: mark)
        hasWritten = true
        return rows
    }
}

extension RecordContent {
    /// Whether a row that shows the item gives the same attributes in the same form.
    fileprivate var isGivenByRow: Bool {
        get throws { try !hasMoved && itemContent.travelling == attributes }
    }
}
