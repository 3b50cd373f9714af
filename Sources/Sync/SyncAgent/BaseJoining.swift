// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSync
internal import ValetSyncStores

// Joins a base, whose parts may have many records: they are all stored in the keychain before the
// first slice, and each part is opened again when a slice needs its records.

extension SyncSession {
    private static let readingBase = "read a base of another device"

    func join(
        _ base: Base, _ message: VerifiedMessage, under key: CircleKeyring.Held,
        _ place: LogPlace
    ) throws -> Bool {
        if try isOwnLogNamed(in: base.table, by: place) { return true }
        let scope = place.scope
        guard try storeParts(of: base, message, place) else { return false }
        var parts = OpenedParts(base, message, key, scope, keychain)
        guard let contents = try readParts(&parts, message, place) else { return false }
        let incoming = IncomingMessage(
            base, named: message.header.name, hash: message.hash, live: contents.live,
            cloud: contents.cloud)
        let start: JoinStart = try keychain.update(Self.readingBase) { update in
            self.begin(incoming, in: scope, update)
        }
        guard try isBegun(start, place) else { return false }
        try continueJoin(scope) { dot, update in try parts.record(dot, update) }
        try dropExcessReplaced(place)
        noteJoinTarget(message, base.table)
        report.saw(place, base.milliseconds, base.table)
        return true
    }

    /// Stores all parts of a base in the keychain, unless a join that was broken off has stored
    /// them.
    ///
    /// - Returns: false if the store does not give all of them.
    private func storeParts(
        of base: Base, _ message: VerifiedMessage, _ place: LogPlace
    ) throws -> Bool {
        let scope = place.scope
        let isKept = try keychain.update(Self.readingBase) { update in
            guard try update.incoming(scope) == message.encoded else { return false }
            // Parts were stored in their order.
            return try base.parts.isEmpty
                || update.incomingPart(base.parts.count - 1, scope) != nil
        }
        if isKept { return true }
        guard let shelf = shelves[place], let entry = shelf.entry(of: message.hash),
            let names = shelf.parts(of: entry)
        else {
            try forgetIncoming(scope)
            return false
        }
        try keychain.update(Self.readingBase) { try $0.setIncoming(message.encoded, scope) }
        for chunk in Array(names.enumerated()).chunks(of: StoreLimits.readCount) {
            let answers = try store.read(
                chunk.map(\.element), in: .log(place), by: storeDeadline)
            for (part, answer) in zip(chunk, answers) {
                guard case .bytes(let bytes) = answer,
                    BuiltPart.hash(of: bytes) == base.parts[part.offset]
                else {
                    shelves[place]?.brokenBases[message.hash] = shelf.partNames(
                        entry.name.number)
                    try forgetIncoming(scope)
                    return false
                }
                try keychain.update(Self.readingBase) { update in
                    try update.setIncomingPart(bytes, part.offset, scope)
                }
            }
        }
        return true
    }

    private func readParts(
        _ parts: inout OpenedParts, _ message: VerifiedMessage, _ place: LogPlace
    ) throws -> (live: [Dot: RecordSummary], cloud: [Dot])? {
        var live: [Dot: RecordSummary] = [:]
        var cloud: [Dot] = []
        do {
            while let part = try parts.next() {
                let records = part.entries.compactMap(\.record)
                let summaries = try keychain.update(Self.readingBase) { update in
                    try records.map { try update.summary(of: $0, in: place.scope) }
                }
                var next = summaries.makeIterator()
                for entry in part.entries {
                    if entry.record == nil {
                        cloud.append(entry.dot)
                    } else {
                        live[entry.dot] = next.next()
                    }
                }
            }
        } catch let error as SyncError {
            try forgetIncoming(place.scope)
            throw error
        }
        return (live, cloud)
    }
}

/// The parts of a base that is being joined. One of them is in memory at a time.
private struct OpenedParts {
    private let base: Base
    private let message: VerifiedMessage
    private let key: CircleKeyring.Held
    private let scope: KeyScope
    private let keychain: SyncedKeychain
    private var reader: BasePartReader
    private var nextIndex = 0
    /// The first dot of each part that was read.
    private var starts: [Dot] = []
    /// For each part, a reader that reads it next.
    private var readers: [BasePartReader] = []
    private var current: (index: Int, records: [Dot: SyncRecord])?

    init(
        _ base: Base, _ message: VerifiedMessage, _ key: CircleKeyring.Held, _ scope: KeyScope,
        _ keychain: SyncedKeychain
    ) {
        self.base = base
        self.message = message
        self.key = key
        self.scope = scope
        self.keychain = keychain
        reader = BasePartReader(base, message.header)
    }

    /// The next part, with all checks; nil after the last.
    mutating func next() throws -> BasePart? {
        guard !reader.isComplete else { return nil }
        readers.append(reader)
        let part = try reader.read(try bytes(nextIndex), under: key.key)
        nextIndex += 1
        if let first = part.entries.first { starts.append(first.dot) }
        return part
    }

    /// The record of a dot that the base has.
    mutating func record(_ dot: Dot, _ update: SyncUpdate) throws -> SyncRecord? {
        guard let index = starts.lastIndex(where: { $0 <= dot }) else { return nil }
        if current?.index != index {
            var reader = readers[index]
            let bytes = try update.incomingPart(index, scope) ?? []
            let part = try reader.read(bytes, under: key.key)
            var records: [Dot: SyncRecord] = [:]
            for entry in part.entries { records[entry.dot] = entry.record }
            current = (index, records)
        }
        return current?.records[dot]
    }

    private func bytes(_ index: Int) throws -> [UInt8] {
        let scope = scope
        return try keychain.update("read a base of another device") { update in
            try update.incomingPart(index, scope) ?? []
        }
    }
}
