// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSync

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
    var replaced = ReplacedValues()
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
    ///   do not fit together; ``RowFailure/locked`` before the first unlock.
    init(_ tables: SyncTables, _ keys: RowKeys) throws {
        (mark, stamp) = try tables.readMark()
        var restoration = ReplicaRestoration()
        outgoing = [:]
        do {
            try tables.forEachEntry(EntryKind.ofReplica) { entry in
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
            try tables.forEachEntry(EntryKind.replaced...EntryKind.replaced) { entry in
                replaced.insert(try keys.replaced(entry))
            }
        } catch let error as RowFailure where error.isDamage {
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

extension RowKeys {
    /// The replaced value of an entry.
    func replaced(_ entry: SealedSyncEntry) throws(RowFailure) -> ReplacedValues.Entry {
        try ReplacedValues.Entry(
            SyncItemID(entry.head.item), parsing: try openFacts(entry),
            malformed: RowFailure.content)
    }
}

extension ReplicaEntry {
    /// The id of a replaced value's entry.
    static func id(ofReplaced dot: Dot) -> [UInt8] { id(of: dot, in: .whileUnlocked) }
}
