// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

// A replica as entries. A transaction writes the changed ones, and the next process restores the
// replica from them: docs/FORMAT.md §12.2. `SyncedKeychain` keeps them.

/// One fact of a replica. Each record is an entry, too: the keychain makes it, with kind
/// ``Kind/record`` and ``RecordSummary/encoded`` as its facts.
package struct ReplicaEntry: Hashable, Sendable {
    package enum Kind: UInt8, CaseIterable, Sendable {
        /// A record that is kept: scope · dot.
        case record = 1
        /// The state of an item, if it is not the usual state: number of the item.
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

    package let kind: Kind
    package let id: [UInt8]
    /// The facts of the entry; nil to delete the entry.
    package let facts: [UInt8]?

    package static func id(of dot: Dot, in scope: KeyScope) -> [UInt8] {
        [UInt8](fields: scope, dot)
    }

    package static func id(of key: SyncItemID) -> [UInt8] { [UInt8](fields: key) }
}

extension Replica {
    /// Hands `write` the entries that have changed since the last call; the first call hands it all
    /// entries. An entry of a record is handed to `write` only to delete the entry.
    package mutating func takeChanges<E>(_ write: (ReplicaEntry) throws(E) -> Void) throws(E) {
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
            shown[key] == usuallyShown(key) && staying[key] == nil && deferred[key] == nil
            && changes.allSatisfy { $0.0 == nil && $0.1 == nil }
        if isUsual { return nil }
        var bytes = [UInt8](fields: staying[key] != nil, deferred[key] != nil, shown[key])
        for (pending, renewals) in changes {
            bytes += [UInt8](fields: pending, UInt32(renewals?.count ?? 0))
            bytes += (renewals ?? []).flatMap(\.encoded)
        }
        return bytes
    }

    fileprivate mutating func readState(of key: SyncItemID, _ facts: [UInt8]) throws(SyncError) {
        var reader = ByteReader(facts, of: .keptReplica)
        if try Bool(from: &reader) { staying[key] = true }
        if try Bool(from: &reader) { deferred[key] = true }
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

    private func id(_ log: LogID) -> [UInt8] { [UInt8](fields: scope, log) }

    fileprivate mutating func takeChanges<E>(_ write: (ReplicaEntry) throws(E) -> Void) throws(E) {
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
        for log in cloud.logs.takeChanged() {
            let facts = cloud.logs[log].map { [UInt8](fields: $0) }
            try write(ReplicaEntry(kind: .cloud, id: id(log), facts: facts))
        }
        try takeLogChanges(write)
    }

    private mutating func takeLogChanges<E>(_ write: (ReplicaEntry) throws(E) -> Void) throws(E) {
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

// MARK: - Restoring the replica

/// Restores a replica from its entries, in any order.
package struct ReplicaRestoration {
    /// What the entries say of one scope.
    private struct Part {
        var scope: (own: LogID, positions: LogTable)?
        var records: [(dot: Dot, summary: RecordSummary)] = []
        var logs: [LogID: [UInt8]] = [:]
        var messages: [LogID: [(number: UInt64, hash: SyncHash, covers: [Dot])]] = [:]
        var cloud = Cloud()
        var unconfirmed: [LogID: OwnLog.Unconfirmed] = [:]
    }

    private var parts: [KeyScope: Part] = [:]
    private var items: [(key: SyncItemID, facts: [UInt8])] = []

    package init() {}

    /// Adds an entry.
    ///
    /// - Parameter key: The item that a record belongs to. Only entries of kind
    ///   ``ReplicaEntry/Kind/record`` use it.
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
            let record = (try Dot(from: &reader), try RecordSummary(of: key, parsing: facts))
            parts[scope, default: Part()].records.append(record)
        case .item, .scope:
            let (own, positions): (LogID, LogTable) = try facts.fields(of: .keptReplica)
            parts[scope, default: Part()].scope = (own, positions)
        case .log: parts[scope, default: Part()].logs[try LogID(from: &reader)] = facts
        case .message:
            let (log, number) = try reader.fields(LogID.self, UInt64.self)
            let (hash, covers): (SyncHash, [Dot]) = try facts.fields(of: .keptReplica)
            parts[scope, default: Part()].messages[log, default: []].append((number, hash, covers))
        case .cloud:
            _ = try LogID(from: &reader)
            let dots: [Dot] = try facts.fields(of: .keptReplica)
            for dot in dots { parts[scope, default: Part()].cloud.insert(dot) }
        case .unconfirmed:
            let log = try LogID(from: &reader)
            let message: OwnLog.Unconfirmed = try facts.fields(of: .keptReplica)
            parts[scope, default: Part()].unconfirmed[log] = message
        }
        try reader.finish()
    }

    /// Puts the entries together.
    ///
    /// - Parameter owesJoin: The scopes whose join was interrupted: the message that was being
    ///   joined is still kept.
    /// - Returns: nil if there is no replica.
    /// - Throws: ``SyncError/Rule/form`` for entries that do not belong together.
    package consuming func finish(owesJoin: Set<KeyScope>) throws(SyncError) -> Replica? {
        guard parts.values.contains(where: { $0.scope != nil }) else { return nil }
        var replica = Replica(log: .zero, .zero)
        for scope in KeyScope.allCases {
            replica[scope] = try Self.replica(scope, parts[scope] ?? Part())
            replica[scope].owesJoin = owesJoin.contains(scope)
        }
        for item in items { try replica.readState(of: item.key, item.facts) }
        for scope in KeyScope.allCases {
            for (dot, summary) in parts[scope]?.records ?? []
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

    private static func replica(_ scope: KeyScope, _ part: Part) throws(SyncError) -> ScopeReplica {
        guard let (own, positions) = part.scope else {
            throw SyncError(.malformed, .form, in: .keptReplica)
        }
        var replica = ScopeReplica(scope, log: own)
        (replica.positions, replica.cloud) = (positions, part.cloud)
        for (id, facts) in part.logs {
            var reader = ByteReader(facts, of: .keptReplica)
            let old = try Bool(from: &reader) ? try RetiredLog(OwnLog(id), from: &reader) : nil
            guard old != nil || id == own else { continue }
            var log = OwnLog(id)
            try log.read(&reader)
            try reader.finish()
            for message in part.messages[id] ?? [] {
                log.restore(message.number, hash: message.hash, covers: message.covers)
            }
            if let unconfirmed = part.unconfirmed[id] { log.unconfirmed = unconfirmed }
            if var old {
                old.own = log
                replica.retired[id] = old
            } else {
                replica.own = log
            }
        }
        return replica
    }
}

// The encoding of the parts of a replica in a keychain: docs/FORMAT.md §12.3. `ReplicaEntry.Kind`
// says which entry holds what.

extension KeyScope: ByteField, Comparable {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        guard let scope = KeyScope(rawValue: try reader.integer()) else { throw reader.malformed }
        self = scope
    }

    package func append(to bytes: inout [UInt8]) { bytes.append(rawValue) }

    package static func < (left: KeyScope, right: KeyScope) -> Bool {
        left.rawValue < right.rawValue
    }
}

// MARK: Logs

extension OwnLog {
    /// Everything except the messages and the unconfirmed one, which have entries of their own.
    var encoded: [UInt8] {
        [UInt8](
            fields: next, openBase, attempts, announced, awaited, named, owesBatch, owesBase,
            Int64(batchesSinceBase), Int64(batchByteCount), Int64(baseByteCount))
    }

    mutating func read(_ reader: inout ByteReader<SyncError>) throws(SyncError) {
        (next, openBase, attempts, announced, awaited, named, owesBatch, owesBase) =
            try reader.fields()
        let counts = try reader.fields(Int64.self, Int64.self, Int64.self)
        guard min(counts.0, counts.1, counts.2) >= 0 else { throw reader.malformed }
        (batchesSinceBase, batchByteCount) = (Int(counts.0), Int(counts.1))
        baseByteCount = Int(counts.2)
    }
}

extension RetiredLog {
    var encoded: [UInt8] { [UInt8](fields: firstNotCommon, renews, read) }

    init(_ own: OwnLog, from reader: inout ByteReader<SyncError>) throws(SyncError) {
        self.own = own
        (firstNotCommon, renews, read) = try reader.fields()
    }
}

extension OwnLog.Unconfirmed: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        (name, hash, entries) = try reader.fields()
    }

    package func append(to bytes: inout [UInt8]) { bytes += [UInt8](fields: name, hash, entries) }
}

extension BatchDraft.Entry: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        (key, source, covers, dot) = try reader.fields()
        if try Bool(from: &reader) { summary = try RecordSummary(of: key, from: &reader) }
    }

    package func append(to bytes: inout [UInt8]) {
        bytes += [UInt8](fields: key, source, covers, dot, summary != nil)
        bytes += summary?.encoded ?? []
    }
}

extension PendingSource: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        switch try reader.integer(UInt8.self) {
        case 0: self = .row(try SyncItemID(from: &reader))
        case 1: self = .aside(try SyncItemID(from: &reader))
        case 2:
            let key = try SyncItemID(from: &reader)
            self = .moved(key, time: try reader.integer(), to: try MessageName(from: &reader))
        case 3: self = .dot(try Dot(from: &reader))
        default: throw reader.malformed
        }
    }

    package func append(to bytes: inout [UInt8]) {
        switch self {
        case .row(let key): bytes += [UInt8](fields: 0 as UInt8, key)
        case .aside(let key): bytes += [UInt8](fields: 1 as UInt8, key)
        case .moved(let key, let time, let message):
            bytes += [UInt8](fields: 2 as UInt8, key, time, message)
        case .dot(let dot): bytes += [UInt8](fields: 3 as UInt8, dot)
        }
    }
}

// MARK: Items

extension SyncItemID: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) { self.init(try reader.integer()) }

    package func append(to bytes: inout [UInt8]) { bytes.append(bigEndian: number) }
}

extension RecordSummary {
    /// time:8 · whether the record is *moved*:1 · the message that it then names.
    package var encoded: [UInt8] { [UInt8](fields: time, moved) }

    init<E>(of key: SyncItemID, from reader: inout ByteReader<E>) throws(E) {
        self.key = key
        (time, moved) = try reader.fields()
    }

    /// Reads ``encoded``.
    ///
    /// - Throws: ``SyncError/Rule/form``.
    package init(of key: SyncItemID, parsing bytes: [UInt8]) throws(SyncError) {
        var reader = ByteReader(bytes, of: .keptReplica)
        try self.init(of: key, from: &reader)
        try reader.finish()
    }
}

extension PendingChange: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        switch try reader.integer(UInt8.self) {
        case 0: record = nil
        case 1: record = .row(time: try reader.integer())
        case 2: record = .aside(time: try reader.integer())
        case 3: record = .moved(time: try reader.integer(), to: nil)
        case 4:
            record = .moved(time: try reader.integer(), to: try MessageName(from: &reader))
        default: throw reader.malformed
        }
        (covers, coversItem) = try reader.fields()
    }

    package func append(to bytes: inout [UInt8]) {
        switch record {
        case nil: bytes.append(0)
        case .row(let time): bytes += [UInt8](fields: 1 as UInt8, time)
        case .aside(let time): bytes += [UInt8](fields: 2 as UInt8, time)
        case .moved(let time, nil): bytes += [UInt8](fields: 3 as UInt8, time)
        case .moved(let time, let message?): bytes += [UInt8](fields: 4 as UInt8, time, message)
        }
        bytes += [UInt8](fields: covers, coversItem)
    }
}

extension Renewal {
    var encoded: [UInt8] { [UInt8](fields: source) + summary.encoded + [UInt8](fields: covers) }

    init(of key: SyncItemID, from reader: inout ByteReader<SyncError>) throws(SyncError) {
        source = try Dot(from: &reader)
        summary = try RecordSummary(of: key, from: &reader)
        covers = try Set(from: &reader)
    }
}

extension Replica.Shown: ByteField {
    package init<E>(from reader: inout ByteReader<E>) throws(E) {
        scope = try KeyScope(from: &reader)
        switch try reader.integer(UInt8.self) {
        case 0: source = .row
        case 1: source = .aside
        case 2: source = .dot(try Dot(from: &reader))
        default: throw reader.malformed
        }
    }

    package func append(to bytes: inout [UInt8]) {
        switch source {
        case .row: bytes += [UInt8](fields: scope, 0 as UInt8)
        case .aside: bytes += [UInt8](fields: scope, 1 as UInt8)
        case .dot(let dot): bytes += [UInt8](fields: scope, 2 as UInt8, dot)
        }
    }
}

// Collections of the replica that remember their changes, so that a transaction writes only
// changes, and a batch looks only at changes.

/// A dictionary that remembers which keys were changed.
struct Tracked<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private(set) var values: [Key: Value] = [:]
    private(set) var changed: Set<Key> = []

    var isEmpty: Bool { values.isEmpty }

    subscript(key: Key) -> Value? {
        get { values[key] }
        _modify {
            changed.insert(key)
            yield &values[key]
        }
    }

    subscript(key: Key, default value: @autoclosure () -> Value) -> Value {
        get { values[key] ?? value() }
        _modify {
            changed.insert(key)
            yield &values[key, default: value()]
        }
    }

    mutating func takeChanged() -> Set<Key> {
        defer { changed = [] }
        return changed
    }
}

/// The deleted records of messages that were not read yet, by log.
struct Cloud: Sendable {
    var logs = Tracked<LogID, Set<Dot>>()
    private(set) var count = 0
    /// The logs whose dots, or whose position, have changed since they were trimmed.
    private var untrimmed: Set<LogID> = []

    var dots: Set<Dot> { logs.values.values.reduce(into: []) { $0.formUnion($1) } }

    func contains(_ dot: Dot) -> Bool { logs[dot.log]?.contains(dot) == true }

    mutating func insert(_ dot: Dot) {
        guard !contains(dot) else { return }
        logs[dot.log, default: []].insert(dot)
        count += 1
        untrimmed.insert(dot.log)
    }

    /// A log was read further.
    mutating func noteRead(_ log: LogID) {
        if logs[log] != nil { untrimmed.insert(log) }
    }

    /// Drops the dots that the positions have reached.
    mutating func trim(to positions: LogTable) {
        for log in untrimmed {
            guard let dots = logs[log], let last = positions[log]?.number else { continue }
            let rest = dots.filter { $0.number > last }
            guard rest.count < dots.count else { continue }
            count -= dots.count - rest.count
            logs[log] = rest.isEmpty ? nil : rest
        }
        untrimmed = []
    }
}

/// The items that a batch may have to send, in the order of their changes.
///
/// Each batch takes items from the front, so no batch has to look at all pending items.
struct NewsQueue: Sendable {
    private var keys: [SyncItemID] = []
    private var head = 0
    private var known: Set<SyncItemID> = []

    var items: ArraySlice<SyncItemID> { keys[head...] }

    mutating func append(_ new: some Sequence<SyncItemID>) {
        for key in new where known.insert(key).inserted { keys.append(key) }
    }

    /// Drops the items in front that have nothing to send.
    mutating func drop(while isOld: (SyncItemID) -> Bool) {
        while head < keys.count, isOld(keys[head]) {
            known.remove(keys[head])
            head += 1
        }
        guard head > keys.count / 2 else { return }
        keys.removeFirst(head)
        head = 0
    }
}
