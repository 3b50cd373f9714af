// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
package import ValetSync
internal import ValetSystem

// Applies the changes of the replica to rows and entries: docs/SYNC.md §4, *Show*.

extension SyncUpdate {
    /// Makes the changes that the replica asks for, in their order.
    ///
    /// A removed value becomes a former one. Every change that the replica returns has to be
    /// applied in the same transaction.
    ///
    /// - Parameter records: The records of the message that is joined or built. Further records do
    ///   no harm.
    /// - Parameter former: What rows showed before local calls wrote them; nil if the changes are
    ///   not those of local calls.
    package func apply(
        _ changes: [ReplicaChange], bringing records: [Dot: SyncRecord],
        overwriting former: [SyncItemID: RecordContent]? = nil
    ) throws(KeychainFailure) {
        guard !changes.isEmpty else { return }
        var showing = RowUpdates(self, records, changes, former)
        for change in changes { try showing.make(change) }
    }
}

private struct RowUpdates {
    let update: SyncUpdate
    let records: [Dot: SyncRecord]
    let former: [SyncItemID: RecordContent]?
    /// The records that rows show after these changes. Their entries omit content that the row
    /// gives.
    private var upcoming: Set<Dot> = []
    /// The items whose rows no message has brought.
    private var unsent: Set<SyncItemID> = []

    private var reader: RecordReader { update.reader }

    init(
        _ update: SyncUpdate, _ records: [Dot: SyncRecord], _ changes: [ReplicaChange],
        _ former: [SyncItemID: RecordContent]?
    ) {
        (self.update, self.records, self.former) = (update, records, former)
        for case .show(_, _, .dot(let dot)) in changes { upcoming.insert(dot) }
    }

    mutating func make(_ change: ReplicaChange) throws(KeychainFailure) {
        switch change {
        case .record(let scope, .keep(let dot)): try keep(dot, in: scope)
        case .record(let scope, .drop(let dot, let isReplaced)):
            let id = ReplicaEntry.id(of: dot, in: scope)
            if isReplaced { try replace(EntryKind.record, id, tag: dot.tag) }
            try update.delete(EntryKind.record, id)
        case .setAside(let key, let scope): try setAside(key, scope)
        case .dropAside(let key, let isReplaced):
            let id = ReplicaEntry.id(of: key)
            if isReplaced { try replace(EntryKind.aside, id) }
            try update.delete(EntryKind.aside, id)
        case .keepUnsent(let key): unsent.insert(key)
        case .show(let key, let scope, let source): try show(key, in: scope, source)
        case .remove(let key): try remove(key)
        }
    }

    // MARK: Records

    private func keep(_ dot: Dot, in scope: KeyScope) throws(KeychainFailure) {
        let living = update.replica?[scope].live[dot]
        guard let record = records[dot] else {
            // A record that a later change of the same call drops may be missing.
            if living == nil { return }
            throw KeychainFailure(
                .internalFault, during: update.operation, message: "a record is missing")
        }
        let content = try content(of: record, in: scope)
        var number = living?.key
        if number == nil { number = try update.key(of: content) }
        guard let key = number else { return }
        // A record of a log with two histories may be a renewal, which is not live.
        guard let summary = update.replica?[scope].summary(of: dot, key) else { return }
        let isShown = upcoming.contains(dot) && content.isGivenByRow
        let isOfRow = isShown || update.tagsOfRows.contains(record.tag)
        let isEqual = try hasEqual(content, of: key, but: dot)
        if isEqual { try copyShown(of: key) }
        let head = head(of: dot, summary, content, in: scope)
        try update.put(
            head, facts: summary.encoded,
            secret: record.secret(withContent: isEqual || !isOfRow))
    }

    /// Whether another record of an item, or its copy that was set aside, has the same value.
    private func hasEqual(
        _ content: RecordContent, of key: SyncItemID, but dot: Dot
    ) throws(KeychainFailure) -> Bool {
        guard update.replica?.hasSeveralRecords(key) == true else { return false }
        for scope in KeyScope.allCases {
            var others = update.replica?[scope].keptDots(of: key).map(RecordSource.dot) ?? []
            if update.replica?[scope].hasAside(key) == true { others.append(.aside) }
            for other in others where other != .dot(dot) {
                let id = Conflict.ID(key: key, scope: scope, source: other)
                var version = try reader.content(of: id)
                // The copy is about to be made of the row.
                if other == .aside, version == nil { version = try reader.shownContent(of: key) }
                if version?.isSameItem(as: content) == true { return true }
            }
        }
        return false
    }

    /// Stores what the row of an item shows in the entry of its record, too. A local write replaces
    /// it in the row, and then nothing else would tell that another record has the same value.
    private func copyShown(of key: SyncItemID) throws(KeychainFailure) {
        guard let row = try reader.row(of: key), let content = try reader.shownContent(of: key)
        else { return }
        try copyContents(of: key, but: nil, from: row, content)
    }

    private func head(
        of dot: Dot, _ summary: RecordSummary, _ content: RecordContent, in scope: KeyScope
    ) -> SyncEntryHead {
        SyncEntryHead(
            EntryKind.record, ReplicaEntry.id(of: dot, in: scope), item: summary.key.number,
            content.sealingClass(in: scope))
    }

    /// Turns a record that is not live any more, or a copy that was set aside, into a former value.
    ///
    /// - Throws: `locked` if it is closed now: the value must not be lost because of a lock.
    private func replace(
        _ kind: UInt8, _ id: [UInt8], tag: UInt64? = nil
    ) throws(KeychainFailure) {
        guard let entry = try reader.entry(kind, id) else { return }
        let found: SyncRecord?
        do throws(KeychainFailure) {
            found = try reader.record(entry)
        } catch {
            throw error.code == .locked ? KeychainFailure.lockedCircle : error
        }
        guard let record = found, tag == nil || record.tag == tag else { return }
        let content = try update.content(of: record)
        guard let former else { return try update.keepReplaced(content, at: record.time) }
        let key = SyncItemID(entry.head.item)
        for shown in [former[key], try reader.shownContent(of: key)] {
            // The user has replaced this value knowingly, or keeps it.
            if let shown, content.isSameItem(as: shown) { return }
        }
        // The limit is not applied: one call may cover more values than it allows, and it has just
        // kept what the row showed.
        _ = try update.keepUnlessKnown(content, at: record.time)
    }

    private func setAside(_ key: SyncItemID, _ scope: KeyScope) throws(KeychainFailure) {
        guard let row = try reader.row(of: key), let content = try reader.content(of: row) else {
            return
        }
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
    ) throws(KeychainFailure) {
        switch source {
        case .row: return
        case .aside:
            let id = ReplicaEntry.id(of: key)
            guard let entry = try reader.entry(EntryKind.aside, id),
                let record = try reader.record(entry)
            else { return }
            try write(record, update.content(of: record), key, showing: nil)
            try update.delete(EntryKind.aside, id)
        case .dot(let dot):
            var record = records[dot]
            if record == nil { record = try reader.record(dot, in: scope) }
            guard let record else {
                throw KeychainFailure(.row(.damagedContent), during: update.operation)
            }
            try write(record, content(of: record, in: scope), key, showing: dot)
        }
    }

    private func content(
        of record: SyncRecord, in scope: KeyScope
    ) throws(KeychainFailure) -> RecordContent {
        try translating(update.operation) { () throws(SystemError) in
            try soundly { () throws(SyncError) in
                try RecordContent(parsing: record.content, in: scope)
            }
        }
    }

    /// Writes a record into the row of its item.
    private mutating func write(
        _ record: SyncRecord, _ content: RecordContent, _ key: SyncItemID, showing dot: Dot?
    ) throws(KeychainFailure) {
        let item = try update.item(of: content)
        let flags: RowFlags = .synchronizable
        let indexed = update.rows.hashed(item, content.itemClass, flags)
        let kind = RowKind(protectionClass: content.protectionClass, flags: flags)
        let rows = update.rows(at: record.time)
        let existing = try rows.row(indexed.index.place)
        guard case .row(let row)? = existing, !row.header.flags.contains(.tombstone),
            let former = try reader.content(of: row)
        else {
            _ = try rows.makeWay(over: existing)
            _ = try rows.insert(content.itemClass, kind, indexed, value: content.value)
            return
        }
        if unsent.remove(key) != nil, !former.isSameItem(as: content) {
            try update.keepReplaced(former, at: row.recordTime)
        }
        try copyContents(of: key, but: dot, from: row, former)
        try rows.replace(row, kind, indexed, value: content.value)
    }

    /// Stores the row's content in the entries of the item's other records that have only a salt.
    private func copyContents(
        of key: SyncItemID, but dot: Dot?, from row: SealedRow, _ content: RecordContent
    ) throws(KeychainFailure) {
        for scope in KeyScope.allCases {
            for other in update.replica?[scope].keptDots(of: key) ?? [] where other != dot {
                let id = ReplicaEntry.id(of: other, in: scope)
                guard let entry = try reader.entry(EntryKind.record, id),
                    let salt = try reader.saltWithoutContent(entry),
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

    private func remove(_ key: SyncItemID) throws(KeychainFailure) {
        guard let row = try reader.row(of: key), !row.header.flags.contains(.tombstone) else {
            return
        }
        if let content = try reader.content(of: row) {
            try copyContents(of: key, but: nil, from: row, content)
            try update.keepReplaced(content, at: row.recordTime)
            try update.rows.delete(row)
        } else {
            try update.rows.setAside(.row(row))
        }
    }
}

extension SyncUpdate {
    /// The transaction that writes rows for a record with the time `time`.
    fileprivate func rows(at time: UInt64) -> RowTransaction {
        hasWritten = true
        return rows.storing(
            SyncedTimes(
                logicalTime: Int64(min(time, SyncRecord.greatestTime)), changeNumber: mark))
    }
}

extension RecordContent {
    /// Whether a row that shows this content gives the same attributes in the same form.
    fileprivate var isGivenByRow: Bool {
        !hasMoved && (try? itemContent)?.travelling == attributes
    }
}

/// What became of the values that no row shows, at the end of a replica.
package struct UnshownValues: Hashable, Sendable {
    /// How many became former values.
    package var kept = 0
    /// How many cannot be read.
    package var unreadable = 0
}

/// A version of an item that its row does not show, and that lives or waits to be sent.
package struct Conflict: Sendable {
    /// The record in its scope, or the copy of the item that was set aside.
    package struct ID: Hashable, Sendable {
        package let key: SyncItemID
        package let scope: KeyScope
        package let source: RecordSource
    }

    package let id: ID
    /// The tag of the record: it stays the same when the record is sent. If a copy that was set
    /// aside cannot be read, it is the number of the item.
    package let tag: UInt64
    /// The device that wrote it, by the first half of its id.
    package let author: UInt64
    package let time: UInt64
    /// The item's class, protection class, group and attributes, with its value; nil if its scope
    /// is closed, or the entry is damaged.
    package let content: RecordContent?
    /// The content that the item's row shows; nil if that cannot be read.
    package let shown: RecordContent?
}

// MARK: - Replaced values

extension SyncUpdate {
    /// The most bytes of all kept values together.
    private static let maximalByteCount = 64 << 20

    /// How many more replaced values fit, up to `maximalCount` in all. A join that removes more
    /// values waits until a user accepts it.
    package func roomForReplaced(_ maximalCount: Int) throws(KeychainFailure) -> Int {
        let kept = try rows.replacedRows()
        let byteCount = kept.reduce(0) { $0 + $1.byteCount }
        return byteCount < Self.maximalByteCount ? max(0, maximalCount - kept.count) : 0
    }

    /// Deletes the oldest replaced values while there are more than `maximalCount`, or too many
    /// bytes.
    package func dropExcessReplaced(_ maximalCount: Int) throws(KeychainFailure) {
        let kept = try rows.replacedRows()
        var (count, byteCount) = (kept.count, kept.reduce(0) { $0 + $1.byteCount })
        for row in kept where count > maximalCount || byteCount > Self.maximalByteCount {
            try rows.dropFormer(row.kept)
            (count, byteCount) = (count - 1, byteCount - row.byteCount)
        }
    }

    /// Keeps the values of records that are too late to be joined, as replaced ones.
    package func keepReplaced(
        _ records: [SyncRecord], in scope: KeyScope
    ) throws(KeychainFailure) {
        for record in records {
            guard case .success = try summary(of: record, in: scope) else { continue }
            try keepReplaced(record)
        }
    }

    fileprivate func keepReplaced(_ record: SyncRecord) throws(KeychainFailure) {
        try keepReplaced(content(of: record), at: record.time)
    }

    /// Keeps the content of a record with the time `time`, as a former value.
    fileprivate func keepReplaced(
        _ content: RecordContent, at time: UInt64
    ) throws(KeychainFailure) {
        guard !content.hasMoved else { return }
        try rows(at: time).keepReplaced(
            content.itemClass, content.rowKind, indexed(content), value: content.value)
    }

    /// Keeps the content of a record with the time `time`, whatever the setting `history` says.
    ///
    /// - Returns: false if it is kept already.
    fileprivate func keepUnlessKnown(
        _ content: RecordContent, at time: UInt64
    ) throws(KeychainFailure) -> Bool {
        try rows(at: time).keepUnlessKnown(
            content.itemClass, content.rowKind, indexed(content), value: content.value) != nil
    }

    private func indexed(_ content: RecordContent) throws(KeychainFailure) -> IndexedContent {
        rows.hashed(try item(of: content), content.itemClass, .synchronizable)
    }

    // MARK: The end of a replica

    /// Turns what no row shows into former values: conflicts, and local values that were set aside
    /// for newer ones. The setting `history` does not matter.
    ///
    /// - Parameter losesUnreadable: Whether values that cannot be read are given up.
    /// - Throws: `damaged` for values that cannot be read, unless they are given up; `locked` if
    ///   one is locked.
    package func keepUnshown(
        losingUnreadable losesUnreadable: Bool
    ) throws(KeychainFailure) -> UnshownValues {
        var found = UnshownValues()
        found.unreadable = try visitUnshown(losingUnreadable: losesUnreadable) {
            (content, time) throws(KeychainFailure) in
            if try keepUnlessKnown(content, at: time) { found.kept += 1 }
        }
        return found
    }

    /// Looks whether ``keepUnshown(losingUnreadable:)`` can read what it keeps. Changes nothing.
    ///
    /// - Throws: As ``keepUnshown(losingUnreadable:)``.
    package func checkUnshown(losingUnreadable losesUnreadable: Bool) throws(KeychainFailure) {
        _ = try visitUnshown(losingUnreadable: losesUnreadable) { _, _ in }
    }

    /// - Returns: How many values cannot be read.
    private func visitUnshown(
        losingUnreadable losesUnreadable: Bool,
        _ body: (RecordContent, UInt64) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) -> Int {
        let shown = Set((replica?.shownItems ?? [:]).values.compactMap(\.entryID))
        let names = try translating(tables.recordNames(), during: operation)
        var unreadable = 0
        for (kind, id) in names where kind != EntryKind.record || !shown.contains(id) {
            switch try reader.ownContent(kind, id) {
            case .damaged: unreadable += 1
            case .ofRow: break
            case .content(let content, let key, let time):
                if try !isShown(content, by: key) { try body(content, time) }
            }
        }
        guard losesUnreadable || unreadable == 0 else {
            throw KeychainFailure(
                .damaged, during: operation,
                message: "values of the circle that no item shows cannot be read: "
                    + "\(unreadable)",
                hint: "`valet sync leave --here --skip-damaged` forgets the circle without them")
        }
        return unreadable
    }

    /// Whether the item's row shows the same content, or the content is no value at all.
    private func isShown(
        _ content: RecordContent, by key: SyncItemID
    ) throws(KeychainFailure) -> Bool {
        guard !content.hasMoved else { return true }
        guard let row = try reader.row(of: key), !row.header.flags.contains(.tombstone),
            let present = try reader.content(of: row)
        else { return false }
        let same = RecordContent(
            content.itemClass, content.protectionClass, kind: content.kind,
            attributes: try item(of: content).travelling)
        return present.isSameItem(as: same)
    }

    /// The content of a record that this keychain has written, or checked.
    fileprivate func content(of record: SyncRecord) throws(KeychainFailure) -> RecordContent {
        try translating(operation) { () throws(SystemError) in
            try soundly { () throws(SyncError) in try RecordContent(unchecked: record.content) }
        }
    }

    fileprivate func item(of content: RecordContent) throws(KeychainFailure) -> ItemContent {
        try translating(operation) { () throws(SystemError) in try content.itemContent }
    }

    // MARK: Choices of the user

    /// Writes the value of a conflict into its item, as a local call would; this covers all
    /// conflicts of the item. The present value becomes a former one.
    ///
    /// - Throws: ``KeychainFailure/Code/itemNotFound`` if there is no such conflict, or its scope
    ///   is closed.
    package func take(_ conflict: Conflict.ID) throws(KeychainFailure) {
        guard let content = try reader.content(of: conflict) else { throw missing }
        var item = try item(of: content)
        item.attributes[.modificationDate] = .date(rows.now.date(after: item.modificationDate))
        let indexed = rows.hashed(item, content.itemClass, .synchronizable)
        let kind = RowKind(protectionClass: content.protectionClass, flags: .synchronizable)
        let existing = try rows.row(indexed.index.place)
        if case .row(let row)? = existing, !row.header.flags.contains(.tombstone),
            let former = try reader.content(of: row)
        {
            if !former.isSameItem(as: content) {
                try keepReplaced(former, at: row.recordTime)
            }
            try rows.replace(row, kind, indexed, value: content.value)
        } else {
            let predecessor = try rows.makeWay(over: existing)
            _ = try rows.insert(
                content.itemClass, kind, indexed, value: content.value,
                after: predecessor.logicalTime)
        }
        _ = try collect()
    }

    /// Deletes a conflict, on all devices.
    ///
    /// - Throws: ``KeychainFailure/Code/itemNotFound`` if there is no such conflict any more: the
    ///   item may show the value by now.
    package func drop(_ conflict: Conflict.ID) throws(KeychainFailure) {
        let isConflict = replica?.conflicts(of: conflict.key).contains {
            $0.scope == conflict.scope && $0.source == conflict.source
        }
        guard isConflict == true else { throw missing }
        let changes =
            replica?.drop(conflict.source, of: conflict.key, in: conflict.scope) ?? []
        try apply(changes, bringing: [:])
    }

    private var missing: KeychainFailure {
        KeychainFailure(
            .itemNotFound, during: operation,
            message: "there is no such conflict, or it is locked")
    }
}

extension Replica.Shown {
    /// The id of the entry of the shown record; nil for a row that no message has brought.
    fileprivate var entryID: [UInt8]? {
        guard case .dot(let dot) = source else { return nil }
        return ReplicaEntry.id(of: dot, in: scope)
    }
}

extension RecordContent {
    fileprivate var rowKind: RowKind {
        RowKind(protectionClass: protectionClass, flags: .synchronizable)
    }

    /// Whether both have the same content for the same item, apart from the dates of creation and
    /// change.
    func isSameItem(as other: RecordContent) -> Bool {
        guard itemClass == other.itemClass, protectionClass == other.protectionClass,
            timeless == other.timeless
        else { return false }
        switch (kind, other.kind) {
        case (.noValue, .noValue): return true
        case (.value(let value), .value(let otherValue)): return value.isEqual(to: otherValue)
        case (.moved(let name), .moved(let otherName)): return name == otherName
        case (.noValue, _), (.value, _), (.moved, _): return false
        }
    }

    private var timeless: [AttributeList.Entry] {
        let times = [Attribute.creationDate.tag, Attribute.modificationDate.tag]
        return attributes.entries.filter { !times.contains($0.tag) }
    }
}

// MARK: - Reading

extension RecordReader {
    /// The content of a conflict, or of the record that a row shows; nil if its scope is closed, or
    /// if it is damaged or gone.
    func content(of conflict: Conflict.ID) throws(KeychainFailure) -> RecordContent? {
        switch conflict.source {
        case .row: return try shownContent(of: conflict.key)
        case .aside:
            guard let record = try recordSetAside(of: conflict.key) else { return nil }
            return try? RecordContent(unchecked: record.content)
        case .dot(let dot):
            guard let record = try record(dot, in: conflict.scope) else { return nil }
            return try? RecordContent(parsing: record.content, in: conflict.scope)
        }
    }

    fileprivate func tag(of conflict: Conflict.ID) throws(KeychainFailure) -> UInt64 {
        if case .dot(let dot) = conflict.source { return dot.tag }
        let number = UInt64(bitPattern: conflict.key.number)
        return try recordSetAside(of: conflict.key)?.tag ?? number
    }
}

extension SyncView {
    /// The conflicts, by item. Equal values of two devices are not a conflict.
    package func conflicts() throws(KeychainFailure) -> [Conflict] {
        guard let replica = try replica else { return [] }
        var found: [Conflict] = []
        for key in replica.itemsWithSeveralRecords {
            let others = replica.conflicts(of: key)
            guard !others.isEmpty, let shown = replica.shown(of: key) else { continue }
            let present = try content(
                of: Conflict.ID(key: key, scope: shown.scope, source: shown.source))
            for other in others {
                let id = Conflict.ID(key: key, scope: other.scope, source: other.source)
                let content = try content(of: id)
                if let content, present?.isSameItem(as: content) == true { continue }
                var log = replica[other.scope].own.id
                if case .dot(let dot) = other.source { log = dot.log }
                found.append(
                    Conflict(
                        id: id, tag: try reader.tag(of: id), author: log.high, time: other.time,
                        content: content, shown: present))
            }
        }
        return found
    }
}
