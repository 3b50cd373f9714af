// SPDX-License-Identifier: Apache-2.0

// A replica as entries. A transaction writes the changed ones, and the next process restores the
// replica from them: docs/FORMAT.md §12.2. `SyncedKeychain` keeps them.

package import ValetKeychainModel
internal import ValetSealing

/// One fact of a replica. The records themselves are entries, too, which the keychain makes: of
/// kind ``Kind/record``, with ``RecordSummary/encoded`` as their facts.
package struct ReplicaEntry: Hashable, Sendable {
    /// The subject of an entry.
    package enum Kind: UInt8, CaseIterable, Sendable {
        /// A record that is kept: scope · dot.
        case record = 1
        /// The state of an item that is not the usual one: its number.
        case item = 2
        /// How far the logs of a scope were read: scope.
        case scope = 3
        /// A log that this device writes or wrote: scope · log.
        case log = 4
        /// A message that this device built: scope · log · number.
        case message = 5
        /// The deleted records of a log that are above its position: scope · log.
        case cloud = 6
        /// The contents of the unconfirmed message of a log: scope · log.
        case unconfirmed = 7
    }

    /// The subject of the entry.
    package let kind: Kind
    /// Which one of its kind.
    package let id: [UInt8]
    /// The facts of the entry; nil to delete the entry.
    package let facts: [UInt8]?

    /// The id of a record's entry.
    package static func id(of dot: Dot, in scope: KeyScope) -> [UInt8] {
        [UInt8](fields: scope, dot)
    }

    /// The id of an item's entry.
    package static func id(of key: SyncItemID) -> [UInt8] { [UInt8](fields: key) }
}

extension Replica {
    /// Hands `write` the entries that have changed since the last call; all of them at the first.
    /// Entries of records are among them only to delete them.
    package mutating func takeChanges(_ write: (ReplicaEntry) throws -> Void) rethrows {
        var keys = shown.takeChanged().union(staying.takeChanged())
        keys.formUnion(deferred.takeChanged())
        for scope in KeyScope.allCases { keys.formUnion(self[scope].takeChangedKeys()) }
        for key in keys {
            try write(
                ReplicaEntry(
                    kind: .item, id: ReplicaEntry.id(of: key), facts: encodedState(of: key)))
        }
        for scope in KeyScope.allCases { try self[scope].takeChanges(write) }
    }

    /// The record that the row of an item shows if no entry says otherwise: its only record that is
    /// not *moved*.
    private func usuallyShown(_ key: SyncItemID) -> Shown? {
        var only: Shown?
        for scope in KeyScope.allCases {
            for dot in self[scope].dots(of: key) where self[scope].live[dot]?.moved == nil {
                guard only == nil else { return nil }
                only = Shown(scope: scope, source: .dot(dot))
            }
        }
        return only
    }

    /// Nil for an item in the usual state.
    private func encodedState(of key: SyncItemID) -> [UInt8]? {
        let changes = KeyScope.allCases.map { (self[$0].pending[key], self[$0].renewals[key]) }
        let isUsual =
            shown[key] == usuallyShown(key) && !staying.contains(key) && !deferred.contains(key)
            && changes.allSatisfy { $0.0 == nil && $0.1 == nil }
        if isUsual { return nil }
        var bytes = [UInt8](fields: staying.contains(key), deferred.contains(key), shown[key])
        for (pending, renewals) in changes {
            bytes += [UInt8](fields: pending, UInt32(renewals?.count ?? 0))
            bytes += (renewals ?? []).flatMap(\.encoded)
        }
        return bytes
    }

    fileprivate mutating func readState(of key: SyncItemID, _ facts: [UInt8]) throws(SyncError) {
        var reader = ByteReader(facts, of: .keptReplica)
        if try Bool(from: &reader) { staying.insert(key) }
        if try Bool(from: &reader) { deferred.insert(key) }
        shown[key] = try Shown?(from: &reader)
        for scope in KeyScope.allCases {
            self[scope].pending[key] = try PendingChange?(from: &reader)
            var renewals: [Renewal] = []
            for _ in 0..<(try reader.integer(UInt32.self)) {
                renewals.append(try Renewal(of: key, from: &reader))
            }
            self[scope].renewals[key] = renewals.isEmpty ? nil : renewals
        }
        try reader.finish()
    }

    fileprivate mutating func showUsual(_ key: SyncItemID) { shown[key] = usuallyShown(key) }
}

extension ScopeReplica {
    fileprivate mutating func takeChangedKeys() -> Set<SyncItemID> {
        let changed = pending.takeChanged().union(renewals.takeChanged())
        latestNews.formUnion(changed.filter { isNews($0) })
        return changed.union(changedDots.values)
    }

    private func id(_ log: LogID) -> [UInt8] { ReplicaEntry.id(of: log, in: scope) }

    fileprivate mutating func takeChanges(
        _ write: (ReplicaEntry) throws -> Void
    ) rethrows {
        for (dot, key) in changedDots where live[dot] == nil && renewal(of: dot, key) == nil {
            let id = ReplicaEntry.id(of: dot, in: scope)
            try write(ReplicaEntry(kind: .record, id: id, facts: nil))
        }
        changedDots = [:]
        if hasChanged {
            let facts = [UInt8](fields: own.id, positions)
            try write(ReplicaEntry(kind: .scope, id: [scope.rawValue], facts: facts))
            hasChanged = false
        }
        for log in cloud.takeChanged() {
            let facts = cloud.logs[log].map { [UInt8](fields: $0) }
            try write(ReplicaEntry(kind: .cloud, id: id(log), facts: facts))
        }
        try takeLogChanges(write)
    }

    private mutating func takeLogChanges(_ write: (ReplicaEntry) throws -> Void) rethrows {
        for log in retired.takeChanged() {
            guard var old = retired[log] else { continue }
            try old.own.takeChanges(in: scope, write)
            try write(
                ReplicaEntry(kind: .log, id: id(log), facts: [1] + old.encoded + old.own.encoded))
        }
        guard hasOwnChanged else { return }
        try own.takeChanges(in: scope, write)
        try write(ReplicaEntry(kind: .log, id: id(own.id), facts: [0] + own.encoded))
        hasOwnChanged = false
    }
}

extension ReplicaEntry {
    fileprivate static func id(of log: LogID, in scope: KeyScope) -> [UInt8] {
        [UInt8](fields: scope, log)
    }

    static func message(_ own: OwnLog, _ number: UInt64, in scope: KeyScope) -> ReplicaEntry {
        let facts = own.built[number].map { [UInt8](fields: $0, own.covers[number] ?? []) }
        return ReplicaEntry(
            kind: .message, id: [UInt8](fields: scope, own.id, number), facts: facts)
    }

    static func unconfirmed(_ own: OwnLog, in scope: KeyScope) -> ReplicaEntry {
        ReplicaEntry(
            kind: .unconfirmed, id: id(of: own.id, in: scope),
            facts: own.unconfirmed.map { [UInt8](fields: $0) })
    }
}

// MARK: - Restoring the replica

/// Restores a replica from its entries, in any order.
package struct ReplicaRestoration {
    private var records: [KeyScope: [(dot: Dot, summary: RecordSummary)]] = [:]
    private var items: [(key: SyncItemID, facts: [UInt8])] = []
    private var scopes: [KeyScope: [UInt8]] = [:]
    private var logs: [KeyScope: [LogID: [UInt8]]] = [:]
    private var messages: [KeyScope: [LogID: [(number: UInt64, facts: [UInt8])]]] = [:]
    private var clouds: [KeyScope: [[UInt8]]] = [:]
    private var unconfirmed: [KeyScope: [LogID: [UInt8]]] = [:]

    /// Starts without entries.
    package init() {}

    /// Adds an entry.
    ///
    /// - Parameter key: The item, of a record.
    /// - Throws: ``SyncError/Rule/form``.
    package mutating func add(
        _ kind: ReplicaEntry.Kind, id: [UInt8], of key: SyncItemID, facts: [UInt8]
    ) throws(SyncError) {
        var reader = ByteReader(id, of: .keptReplica)
        if kind == .item {
            items.append((try SyncItemID(from: &reader), facts))
            return try reader.finish()
        }
        let scope = try KeyScope(from: &reader)
        switch kind {
        case .record:
            let dot = try Dot(from: &reader)
            records[scope, default: []].append((dot, try RecordSummary(of: key, parsing: facts)))
        case .item, .scope: scopes[scope] = facts
        case .log: logs[scope, default: [:]][try LogID(from: &reader)] = facts
        case .message:
            let (log, number) = try reader.fields(LogID.self, UInt64.self)
            messages[scope, default: [:]][log, default: []].append((number, facts))
        case .cloud:
            clouds[scope, default: []].append(facts)
            _ = try LogID(from: &reader)
        case .unconfirmed: unconfirmed[scope, default: [:]][try LogID(from: &reader)] = facts
        }
        try reader.finish()
    }

    /// Puts the entries together.
    ///
    /// - Parameter owesJoin: The scopes whose join was interrupted: their message is still kept.
    /// - Returns: nil if there is no replica.
    /// - Throws: ``SyncError/Rule/form`` for entries that do not belong together.
    package consuming func finish(owesJoin: Set<KeyScope>) throws(SyncError) -> Replica? {
        guard !scopes.isEmpty else { return nil }
        var replica = Replica(log: .zero, .zero)
        for scope in KeyScope.allCases {
            replica[scope] = try self.replica(scope)
            replica[scope].owesJoin = owesJoin.contains(scope)
        }
        for item in items { try replica.readState(of: item.key, item.facts) }
        for scope in KeyScope.allCases {
            for (dot, summary) in records[scope] ?? []
            where replica[scope].renewal(of: dot, summary.key) == nil {
                replica[scope].addLive(dot, summary)
            }
        }
        let explicit = Set(items.map(\.key))
        for scope in KeyScope.allCases {
            for key in Set(replica[scope].changedDots.values) where !explicit.contains(key) {
                replica.showUsual(key)
            }
            for log in replica[scope].retired.values.keys { replica[scope].renewAll(of: log) }
        }
        replica.takeChanges { _ in }
        return replica
    }

    private func replica(_ scope: KeyScope) throws(SyncError) -> ScopeReplica {
        var reader = ByteReader(scopes[scope] ?? [], of: .keptReplica)
        let own = try LogID(from: &reader)
        var replica = ScopeReplica(scope, log: own)
        replica.positions = try LogTable(from: &reader)
        try reader.finish()
        for (id, facts) in logs[scope] ?? [:] {
            var reader = ByteReader(facts, of: .keptReplica)
            let old = try Bool(from: &reader) ? try RetiredLog(OwnLog(id), from: &reader) : nil
            guard old != nil || id == own else { continue }
            var log = OwnLog(id)
            try log.read(&reader)
            try reader.finish()
            try restoreMessages(of: &log, scope)
            if var old {
                old.own = log
                replica.retired[id] = old
            } else {
                replica.own = log
            }
        }
        for facts in clouds[scope] ?? [] {
            var reader = ByteReader(facts, of: .keptReplica)
            for dot in try [Dot](from: &reader) { replica.cloud.insert(dot) }
            try reader.finish()
        }
        return replica
    }

    private func restoreMessages(of log: inout OwnLog, _ scope: KeyScope) throws(SyncError) {
        for message in messages[scope]?[log.id] ?? [] {
            var reader = ByteReader(message.facts, of: .keptReplica)
            let (hash, covers) = try reader.fields(SyncHash.self, [Dot].self)
            try reader.finish()
            log.restore(message.number, hash: hash, covers: covers)
        }
        guard let facts = unconfirmed[scope]?[log.id] else { return }
        var reader = ByteReader(facts, of: .keptReplica)
        log.unconfirmed = try OwnLog.Unconfirmed(from: &reader)
        try reader.finish()
    }
}
