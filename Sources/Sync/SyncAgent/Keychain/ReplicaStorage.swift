// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSync
internal import ValetSystem

/// The contents of the tables of sync, in memory: `SyncedKeychain` keeps it between two updates.
struct KeptReplica {
    /// The stamp of the tables with these contents.
    var stamp: Int64
    /// Up to which change number local changes were collected.
    var mark: Int64
    /// nil in no circle.
    var replica: Replica?
    /// The unconfirmed messages.
    var outgoing: [KeyScope: [UInt8]]
    /// The replaced values that are kept.
    var replaced = ReplacedList()
}

/// The kinds of entries: docs/FORMAT.md §12.2. Those up to 7 are ``ReplicaEntry/Kind``.
enum EntryKind {
    static let record = ReplicaEntry.Kind.record.rawValue
    static let ofReplica: ClosedRange<UInt8> = 1...7
    /// A copy that was set aside, by the item's number.
    static let aside: UInt8 = 8
    /// A replaced value, by its dot.
    static let replaced: UInt8 = 9
    /// The unconfirmed message of a scope.
    static let outgoing: UInt8 = 10
    /// The message that is being joined in a scope.
    static let incoming: UInt8 = 11
    /// A part of it, by scope and index.
    static let incomingPart: UInt8 = 12
    /// A note, by its name.
    static let note = SyncTables.noteKind

    /// Everything that a circle needs, except notes and replaced values.
    static let ofCircle: [UInt8] = Array(ofReplica) + [aside, outgoing, incoming, incomingPart]
}

extension KeptReplica {
    private static let reading = "read what is known of the circle"

    /// Reads the tables, which takes long for many items.
    ///
    /// - Throws: ``KeychainFailure/Code/keychainDamaged`` if an entry does not open, or the entries
    ///   do not fit together; ``SystemError``: `lockedRow` before the first unlock.
    init(_ tables: SyncTables, _ keys: RowKeys) throws {
        (mark, stamp) = try tables.readMark()
        var restoration = ReplicaRestoration()
        outgoing = [:]
        do {
            try tables.eachEntry(EntryKind.ofReplica) { entry in
                guard let kind = ReplicaEntry.Kind(rawValue: entry.head.kind) else { return }
                try restoration.add(
                    kind, id: entry.head.id, of: SyncItemID(entry.head.item),
                    facts: try keys.openFacts(entry))
            }
            var owesJoin: Set<KeyScope> = []
            for scope in KeyScope.allCases {
                let id = [scope.rawValue]
                if try tables.entry(EntryKind.incoming, id) != nil { owesJoin.insert(scope) }
                guard let entry = try tables.entry(EntryKind.outgoing, id) else { continue }
                outgoing[scope] = try keys.openFacts(entry)
            }
            replica = try restoration.finish(owesJoin: owesJoin)
            try tables.eachEntry(EntryKind.replaced...EntryKind.replaced) { entry in
                let value = try ReplacedFacts(parsing: keys.openFacts(entry))
                replaced.insert(value.entry(of: SyncItemID(entry.head.item)))
            }
        } catch let error as SystemError where error.isDamage {
            throw Self.damage
        } catch is SyncError {
            throw Self.damage
        }
    }

    /// Only the mark, for a keychain whose tables are about to be emptied. Replaced values go as
    /// well, because the damaged one is not known.
    init(emptying tables: SyncTables) throws {
        (mark, stamp) = try tables.readMark()
        outgoing = [:]
        try tables.deleteAll(EntryKind.replaced)
    }

    static var damage: KeychainFailure {
        KeychainFailure(
            .keychainDamaged, during: reading,
            message: "what the keychain knows of its circle is damaged; the items are not",
            hint: "run `valet sync leave --here`, and join the circle again")
    }
}

/// The facts of a replaced value.
struct ReplacedFacts {
    let dot: Dot
    /// The scope of the record.
    let scope: KeyScope
    /// When the record was made.
    let time: UInt64
    /// When the value was removed.
    let milliseconds: UInt64
    let byteCount: Int

    func entry(of key: SyncItemID) -> ReplacedValues.Entry {
        ReplacedValues.Entry(key: key, milliseconds: milliseconds, dot: dot, byteCount: byteCount)
    }

    /// dot:32 · scope:1 · time:8 · milliseconds:8 · number of bytes:4.
    var encoded: [UInt8] {
        var bytes = ReplicaEntry.id(of: dot, in: scope)
        bytes.append(bigEndian: time)
        bytes.append(bigEndian: milliseconds)
        bytes.append(bigEndian: UInt32(byteCount))
        return bytes
    }

    init(
        _ dot: Dot, in scope: KeyScope, time: UInt64, milliseconds: UInt64, byteCount: Int
    ) {
        (self.dot, self.scope, self.time) = (dot, scope, time)
        (self.milliseconds, self.byteCount) = (milliseconds, byteCount)
    }

    /// Reads ``encoded``.
    ///
    /// - Throws: ``SystemError``: `damagedContent`.
    init(parsing bytes: [UInt8]) throws(SystemError) {
        var reader = ByteReader(bytes, malformed: SystemError.row(.damagedContent))
        guard let scope = KeyScope(rawValue: try reader.integer()) else {
            throw .row(.damagedContent)
        }
        let log = try LogID(from: &reader)
        let dot = Dot(log: log, number: try reader.integer(), tag: try reader.integer())
        let time = try reader.integer(UInt64.self)
        let milliseconds = try reader.integer(UInt64.self)
        self.init(
            dot, in: scope, time: time, milliseconds: milliseconds,
            byteCount: Int(try reader.integer(UInt32.self)))
        guard reader.isAtEnd else { throw .row(.damagedContent) }
    }

    /// The name of the entry.
    static func id(of dot: Dot) -> [UInt8] { ReplicaEntry.id(of: dot, in: .whileUnlocked) }
}

/// Which replaced values are kept, and how many bytes they take.
struct ReplacedList {
    private(set) var entries: [SyncItemID: [Dot: ReplacedValues.Entry]] = [:]
    private var count = 0
    private var byteCount = 0

    /// How many more values fit, up to `maximalCount`.
    func room(_ maximalCount: Int) -> Int {
        byteCount < ReplacedValues.maximalByteCount ? max(0, maximalCount - count) : 0
    }

    /// The values to drop because they do not fit: those that were removed first.
    func excess(_ maximalCount: Int) -> [ReplacedValues.Entry] {
        var (count, byteCount) = (count, byteCount)
        guard count > maximalCount || byteCount > ReplacedValues.maximalByteCount else {
            return []
        }
        let byAge = entries.values.flatMap(\.values).sorted {
            ($0.milliseconds, $0.dot) < ($1.milliseconds, $1.dot)
        }
        return Array(
            byAge.prefix { entry in
                let isExcess =
                    count > maximalCount || byteCount > ReplacedValues.maximalByteCount
                count -= 1
                byteCount -= entry.byteCount
                return isExcess
            })
    }

    mutating func insert(_ entry: ReplacedValues.Entry) {
        remove(entry.dot, entry.key)
        entries[entry.key, default: [:]][entry.dot] = entry
        count += 1
        byteCount += entry.byteCount
    }

    mutating func remove(_ dot: Dot, _ key: SyncItemID) {
        guard let entry = entries[key]?.removeValue(forKey: dot) else { return }
        count -= 1
        byteCount -= entry.byteCount
        if entries[key]?.isEmpty == true { entries[key] = nil }
    }

    /// The value of a record; nil if it is not kept.
    func entry(_ dot: Dot) -> ReplacedValues.Entry? {
        entries.values.lazy.compactMap { $0[dot] }.first
    }
}
