// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
package import ValetSync

/// A read transaction of sync. It ends with the call that lends it.
package final class SyncView {
    /// Whether scope `u` is closed.
    package var isLocked: Bool { reader.keys.isLocked }

    let reader: RecordReader
    private var kept: KeptReplica?

    init(_ reader: RecordReader, _ kept: KeptReplica?) throws {
        self.reader = reader
        let stamp = try reader.store.sync.readMark().stamp
        if kept?.stamp == stamp { self.kept = kept }
    }

    /// The keychain's replica; nil without a circle. Reading it takes long for many items, unless
    /// this process has just written it.
    package var replica: Replica? {
        get throws {
            if let kept { return kept.replica }
            let fresh = try KeptReplica(reader.store.sync, reader.keys)
            kept = fresh
            return fresh.replica
        }
    }

    /// Whether the keychain has a replica. Takes no time.
    package var isInCircle: Bool {
        get throws {
            let kind = ReplicaEntry.Kind.scope.rawValue
            return try reader.store.sync.entry(kind, [KeyScope.afterFirstUnlock.rawValue]) != nil
        }
    }

    /// The note of that name.
    package subscript(note: NoteName) -> [UInt8]? {
        get throws {
            try reader.store.sync.entry(EntryKind.note, note.id).map(reader.keys.openFacts)
        }
    }

    /// Opens a version with its value.
    ///
    /// - Returns: nil if it is closed now, or gone.
    package func content(of version: KeptVersion.ID) throws -> RecordContent? {
        try reader.content(of: version)
    }
}
