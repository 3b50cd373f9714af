// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSealing
package import ValetSync
internal import ValetSystem

// Turns rows into records, and finds the items of records.

extension SyncUpdate {
    /// Puts pending changes into a batch: ``ScopeReplica/draftBatch(limits:read:)`` with
    /// ``record(_:in:)-(PendingSource,_)``.
    package func draftBatch(
        in scope: KeyScope, limits: SyncLimits = SyncLimits()
    ) throws -> BatchDraft? {
        var failure: (any Error)?
        let draft = replica?[scope].draftBatch(limits: limits) { source in
            guard failure == nil else { return nil }
            do {
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
    package func record(_ source: PendingSource, in scope: KeyScope) throws -> SyncRecord? {
        switch source {
        case .row(let key): try recordOfRow(key, in: scope)
        case .aside(let key): try recordSetAside(key, in: scope)
        case .moved(let key, let time, let message):
            try recordOfMove(key, in: scope, time: time, by: message)
        case .dot(let dot): try reader.record(dot, in: scope)
        }
    }

    private func recordOfRow(_ key: SyncItemID, in scope: KeyScope) throws -> SyncRecord? {
        guard let row = try reader.row(of: key) else { return refuse(key, .damaged) }
        let record: SyncRecord?
        do {
            let content = try reader.content(of: row)
            record = sendable(content, key, in: scope, time: row.recordTime, salt: .random())
        } catch let error as SystemError where error.isOfRow {
            return error.isDamage ? refuse(key, .damaged) : nil
        }
        if let record { tagsOfRows.insert(record.tag) }
        return record
    }

    private func recordSetAside(_ key: SyncItemID, in scope: KeyScope) throws -> SyncRecord? {
        guard let entry = try tables.entry(EntryKind.aside, ReplicaEntry.id(of: key)) else {
            return refuse(key, .damaged)
        }
        do {
            let record = try reader.record(entry)
            let content = try unchecked(record.content)
            return sendable(content, key, in: scope, time: record.time, salt: record.salt)
        } catch let error as SystemError where error.isOfRow {
            return error.isDamage ? refuse(key, .damaged) : nil
        } catch is SyncError {
            return refuse(key, .damaged)
        }
    }

    /// Reads a content that may be too large to travel.
    func unchecked(_ content: SecretValue) throws -> RecordContent {
        try RecordContent(unchecked: content)
    }

    private func sendable(
        _ content: RecordContent, _ key: SyncItemID, in scope: KeyScope, time: UInt64,
        salt: RecordSalt
    ) -> SyncRecord? {
        do {
            let checked = try RecordContent(
                content.itemClass, content.protectionClass, kind: content.kind,
                attributes: content.attributes, in: scope)
            return SyncRecord(time: time, salt: salt, content: checked.encoded)
        } catch {
            return refuse(key, error.rule == .limit ? .tooLarge : .damaged)
        }
    }

    private func refuse(_ key: SyncItemID, _ reason: UnsendableItem.Reason) -> SyncRecord? {
        let item = UnsendableItem(key: key, reason: reason)
        if !unsendable.contains(item) { unsendable.append(item) }
        return nil
    }

    /// Says that an item moved to the other scope. Its names come from its row, or from a value
    /// that is kept.
    private func recordOfMove(
        _ key: SyncItemID, in scope: KeyScope, time: UInt64, by message: MessageName
    ) throws -> SyncRecord? {
        guard let known = try knownContent(of: key) else { return nil }
        let isElsewhere = known.protectionClass.scope != scope
        let usual: ProtectionClass = scope == .whileUnlocked ? .afterFirstUnlock : .whenUnlocked
        let names = known.itemClass.primaryKeyAttributes.map(\.tag) + [Attribute.accessGroup.tag]
        var attributes = AttributeList()
        for entry in known.attributes.entries where names.contains(entry.tag) {
            attributes.set(entry.value, for: entry.tag)
        }
        let content = try RecordContent(
            known.itemClass, isElsewhere ? known.protectionClass : usual, kind: .moved(message),
            attributes: attributes, in: scope)
        return SyncRecord(time: time, salt: .random(), content: content.encoded)
    }

    private func knownContent(of key: SyncItemID) throws -> RecordContent? {
        if let row = try reader.row(of: key), !row.header.flags.contains(.tombstone) {
            // A row of a closed scope is read later.
            return try? reader.content(of: row)
        }
        for (dot, _) in replaced.entries[key] ?? [:] {
            if let content = try content(ofReplaced: dot) { return content }
        }
        return nil
    }

    // MARK: Records of messages

    /// The record of a dot that is live or a renewal, byte for byte.
    ///
    /// - Returns: nil if it cannot be read: its row is damaged, or its scope closed.
    package func record(_ dot: Dot, in scope: KeyScope) throws -> SyncRecord? {
        try reader.record(dot, in: scope)
    }

    /// The summary of a record in a message. Gives the item a number if it is new, even if the
    /// message is not joined.
    ///
    /// - Throws: ``SyncError`` for a record that may not travel in the scope.
    package func summary(of record: SyncRecord, in scope: KeyScope) throws -> RecordSummary {
        let content = try RecordContent(parsing: record.content, in: scope)
        var moved: MessageName?
        if case .moved(let message) = content.kind { moved = message }
        return RecordSummary(key: try key(of: content), time: record.time, moved: moved)
    }

    /// The number of the item that `content` names.
    package func key(of content: RecordContent) throws -> SyncItemID {
        let item = try content.itemContent
        return try key(
            in: rows.state.hasher.place(
                content.itemClass, item.attributes, group: item.accessGroup,
                isSynchronizable: true))
    }
}

extension RecordSalt {
    /// A new salt.
    static func random() -> RecordSalt {
        RecordSalt(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
    }
}
