// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSync

// Joins a base, whose parts may have many records: they are all stored in the keychain before the
// first slice, and each part is opened again when a slice needs its records.

extension SyncSession {
    private static let readingBase = "read a base of another device"

    func join(
        _ base: Base, _ message: VerifiedMessage, under key: CircleKeyring.Held,
        _ place: LogPlace
    ) throws(KeychainFailure) -> Joined {
        if try isOwnLogNamed(in: base.table, by: place) { return .success(true) }
        guard try storeParts(of: base, message, place) else { return .success(false) }
        var parts = OpenedParts(base, message, key, place.scope)
        var live: [Dot: RecordSummary] = [:]
        var cloud: [Dot] = []
        while !parts.isComplete {
            let read = try keychain.update(Self.readingBase) { update -> Result<Void, SyncError> in
                do {
                    for entry in try parts.next(update) {
                        live[entry.dot] = try entry.record.map {
                            try update.summary(of: $0, in: place.scope)
                        }
                        if entry.record == nil { cloud.append(entry.dot) }
                    }
                    return .success(())
                } catch let error as SyncError {
                    return .failure(error)
                }
            }
            if case .failure(let error) = read {
                try forgetIncoming(place.scope)
                return .failure(error)
            }
        }
        let incoming = IncomingMessage(
            base, named: message.header.name, hash: message.hash, live: live, cloud: cloud)
        let begun = try keychain.update(Self.readingBase) { update in
            self.begin(incoming, in: place, update)
        }
        return try finish(begun, message, place, (base.milliseconds, base.table)) { dot, update in
            try parts.record(dot, update)
        }
    }

    /// Stores all parts of a base in the keychain, unless a join that was broken off has stored
    /// them.
    ///
    /// - Returns: false if the store does not give all of them.
    private func storeParts(
        of base: Base, _ message: VerifiedMessage, _ place: LogPlace
    ) throws(KeychainFailure) -> Bool {
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
}

/// The parts of a base that is being joined. One of them is in memory at a time.
private struct OpenedParts {
    private let key: CircleKeyring.Held
    private let scope: KeyScope
    private var reader: BasePartReader
    /// The first dot of each part that was read, with a reader that reads the part next.
    private var starts: [(dot: Dot, reader: BasePartReader)] = []
    private var current: (index: Int, records: [Dot: SyncRecord])?

    init(
        _ base: Base, _ message: VerifiedMessage, _ key: CircleKeyring.Held, _ scope: KeyScope
    ) {
        (self.key, self.scope) = (key, scope)
        reader = BasePartReader(base, message.header)
    }

    var isComplete: Bool { reader.isComplete }

    /// The entries of the next part, with all checks. There must be one.
    mutating func next(_ update: SyncUpdate) throws -> [BasePart.Entry] {
        let before = reader
        let bytes = try update.incomingPart(starts.count, scope) ?? []
        let entries = try reader.read(bytes, under: key.key).entries
        if let first = entries.first { starts.append((first.dot, before)) }
        return entries
    }

    /// The record of a dot that the base has.
    mutating func record(_ dot: Dot, _ update: SyncUpdate) throws -> SyncRecord? {
        guard let index = starts.lastIndex(where: { $0.dot <= dot }) else { return nil }
        if current?.index != index {
            var reader = starts[index].reader
            let bytes = try update.incomingPart(index, scope) ?? []
            let part = try reader.read(bytes, under: key.key)
            var records: [Dot: SyncRecord] = [:]
            for entry in part.entries { records[entry.dot] = entry.record }
            current = (index, records)
        }
        return current?.records[dot]
    }
}
