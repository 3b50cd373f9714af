// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing
package import ValetSync
internal import ValetSystem

/// A version of an item that its row does not show: a conflict or a replaced value.
package struct KeptVersion: Sendable {
    /// Names the version.
    package enum ID: Hashable, Sendable {
        /// A live record that is not shown.
        case conflict(KeyScope, Dot)
        /// A value that another device replaced or deleted.
        case replaced(Dot)
    }

    package let id: ID
    package let key: SyncItemID
    /// The device that wrote it, by the first half of its id; 0 if it was written here.
    package let author: UInt64
    /// When it was written: ``SyncRecord/time``.
    package let time: UInt64
    /// When a replaced value was removed: milliseconds since 1970.
    package let takenAway: UInt64?
    /// The item's class, protection class, group and attributes, with its value; nil if its scope
    /// is closed, or the entry is damaged.
    package let content: RecordContent?
}

// MARK: - Replaced values

extension SyncUpdate {
    /// How many more replaced values fit, up to `maximalCount`:
    /// ``ScopeReplica/begin(_:room:limits:)``.
    package func replacedRoom(_ maximalCount: Int) -> Int { replaced.room(maximalCount) }

    /// Deletes the oldest replaced values while there are more than `maximalCount`, or too many
    /// bytes.
    package func dropExcessReplaced(_ maximalCount: Int) throws {
        for old in replaced.excess(maximalCount) { try forget(old) }
    }

    /// Keeps the values of records that are too late to be joined, as replaced ones.
    package func keepReplaced(_ records: [SyncRecord], in scope: KeyScope) throws {
        for record in records {
            let key = try summary(of: record, in: scope).key
            try keepReplaced(
                record, key, Dot(log: .zero, number: 0, tag: record.tag), in: scope)
        }
    }

    /// Keeps the value of a row that has no record, unless it is kept already.
    func keepReplaced(_ content: RecordContent, of row: SealedRow, _ key: SyncItemID) throws {
        for dot in (replaced.entries[key] ?? [:]).keys {
            guard let known = try self.content(ofReplaced: dot) else { continue }
            if known.encoded.isEqual(to: content.encoded) { return }
        }
        let record = SyncRecord(time: row.recordTime, salt: .random(), content: content.encoded)
        let dot = Dot(log: .zero, number: 0, tag: record.tag)
        try keepReplaced(record, key, dot, in: content.protectionClass.scope)
    }

    /// Keeps the value of a record that was removed.
    func keepReplaced(
        _ record: SyncRecord, _ key: SyncItemID, _ dot: Dot, in scope: KeyScope
    ) throws {
        let content = try unchecked(record.content)
        guard !content.hasMoved else { return }
        let facts = ReplacedFacts(
            dot, in: scope, time: record.time, milliseconds: milliseconds,
            byteCount: record.content.byteCount)
        try put(
            SyncEntryHead(
                EntryKind.replaced, ReplacedFacts.id(of: dot), item: key.number,
                content.sealingClass(in: scope)),
            facts: facts.encoded, secret: record.secret(withContent: true))
        replaced.insert(facts.entry(of: key))
        let all = Array((replaced.entries[key] ?? [:]).values)
        for old in ReplacedValues.expired(all, at: milliseconds) { try forget(old) }
    }

    private func forget(_ entry: ReplacedValues.Entry) throws {
        try delete(EntryKind.replaced, ReplacedFacts.id(of: entry.dot))
        replaced.remove(entry.dot, entry.key)
    }

    /// Deletes the expired replaced values.
    func forgetExpired() throws {
        let all = replaced.entries.values.flatMap(\.values)
        for old in ReplacedValues.expired(all, at: milliseconds) { try forget(old) }
    }

    func content(ofReplaced dot: Dot) throws -> RecordContent? {
        try reader.content(of: .replaced(dot))
    }

    // MARK: Choices of the user

    /// Writes the value of a version into its item, as a local call would; this covers all
    /// conflicts of the item. A replaced value stays among the replaced ones.
    ///
    /// - Throws: ``KeychainFailure/Code/itemNotFound`` if there is no such version, or its scope is
    ///   closed.
    package func take(_ version: KeptVersion.ID) throws {
        guard let content = try reader.content(of: version) else { throw missing }
        var item = try content.itemContent
        item.attributes[.modificationDate] = .date(rows.now.date(after: item.modificationDate))
        let indexed = rows.hashed(item, content.itemClass, .synchronizable)
        let kind = RowKind(protectionClass: content.protectionClass, flags: .synchronizable)
        let existing = try rows.row(indexed.index.place)
        if case .row(let row)? = existing, !row.header.flags.contains(.tombstone),
            try rows.openIfSound(row) != nil
        {
            try rows.replace(row, kind, indexed, value: content.value)
        } else {
            let predecessor = try rows.makeWay(over: existing)
            _ = try rows.insert(
                content.itemClass, kind, indexed, value: content.value,
                after: predecessor.logicalTime)
        }
        _ = try collect()
    }

    /// Deletes a version: of a conflict, on all devices.
    ///
    /// - Throws: As ``take(_:)``.
    package func drop(_ version: KeptVersion.ID) throws {
        switch version {
        case .replaced(let dot):
            guard let entry = replaced.entry(dot) else { throw missing }
            try forget(entry)
        case .conflict(let scope, let dot):
            guard replica?[scope].summary(of: dot) != nil else { throw missing }
            let changes = replica?.drop(dot, in: scope) ?? []
            try apply(changes, bringing: [:])
        }
    }

    private var missing: KeychainFailure {
        KeychainFailure(
            .itemNotFound, during: rows.operation,
            message: "there is no such version, or it is locked")
    }
}

extension RecordContent {
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
    /// The content of a version; nil if it is closed, damaged or gone.
    func content(of version: KeptVersion.ID) throws -> RecordContent? {
        switch version {
        case .conflict(let scope, let dot):
            guard let record = try record(dot, in: scope) else { return nil }
            return try? RecordContent(parsing: record.content, in: scope)
        case .replaced(let dot):
            guard let entry = try tables.entry(EntryKind.replaced, ReplacedFacts.id(of: dot)),
                let secret = try? keys.openSecret(entry),
                let content = try? secret.splitSalt().content
            else { return nil }
            return try? RecordContent(unchecked: content)
        }
    }

    /// The conflicts of a replica, by item. Equal values of two devices are none.
    func conflicts(of replica: Replica) throws -> [KeptVersion] {
        let shownItems = replica.shownItems
        return try replica.itemsWithSeveralRecords.flatMap { key -> [KeptVersion] in
            let others = replica.conflicts(of: key)
            guard !others.isEmpty, let shown = shownItems[key], case .dot(let dot) = shown.source
            else { return [] }
            let present = try content(of: .conflict(shown.scope, dot))
            return try others.compactMap { scope, dot in
                let id = KeptVersion.ID.conflict(scope, dot)
                let content = try content(of: id)
                if let content, present?.isSameItem(as: content) == true { return nil }
                return KeptVersion(
                    id: id, key: key, author: dot.log.high,
                    time: replica[scope].summary(of: dot)?.time ?? 0, takenAway: nil,
                    content: content)
            }
        }
    }

    /// The replaced values, by item and by the time of their removal.
    func replaced() throws -> [KeptVersion] {
        var all: [(key: SyncItemID, facts: ReplacedFacts)] = []
        try tables.eachEntry(EntryKind.replaced...EntryKind.replaced) { entry in
            let facts = try ReplacedFacts(parsing: keys.openFacts(entry))
            all.append((SyncItemID(entry.head.item), facts))
        }
        all.sort { ($0.key, $0.facts.milliseconds) < ($1.key, $1.facts.milliseconds) }
        return try all.map { key, facts in
            let id = KeptVersion.ID.replaced(facts.dot)
            return KeptVersion(
                id: id, key: key, author: facts.dot.log.high, time: facts.time,
                takenAway: facts.milliseconds, content: try content(of: id))
        }
    }
}
