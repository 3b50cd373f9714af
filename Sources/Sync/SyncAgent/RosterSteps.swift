// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetSealing
package import ValetSync
internal import ValetSystem

// Reads the roster, puts back entries that the store has lost, and appends entries: docs/SYNC.md
// §6. Every round begins with `readRoster()`; commands that change the circle call `append(_:)`.

struct RosterShelf {
    enum File: Hashable {
        case entry(SyncHash)
        /// It names an author that was no member when the file was read.
        case unknownAuthor(DeviceID)
        case foreign
    }

    var known: [StoredName: File] = [:]
    /// Whether the keychain lacks something of the roster: an entry that this device has published,
    /// or that a device has named an entry.
    var isUnkept = false
    var waiting: [RosterEntry] = []
    /// The last entry that is known to be in the store.
    var head: LogPosition?
    /// Whether a file was left for the next round.
    var isCutShort = false

    /// The hashes of the entries that the store has shown.
    var shown: Set<SyncHash> {
        Set(
            known.values.compactMap { file in
                if case .entry(let hash) = file { hash } else { nil }
            })
    }

    var foreignCount: Int {
        known.values.count { file in
            if case .entry = file { false } else { true }
        }
    }

    /// Keeps entries for the next round, within the limits of a circle and of ``ReadingLimits``.
    /// The next round reads the others again.
    mutating func wait(for entries: some Sequence<RosterEntry>) {
        var room = ReadingLimits.byteCount
        waiting = []
        for entry in entries {
            room -= min(room, entry.bytes.count)
            if room > 0, waiting.count < RosterEntry.maximalNumber {
                waiting.append(entry)
            } else if let name = known.first(where: { $0.value == .entry(entry.hash) })?.key {
                known[name] = nil
                isCutShort = true
            }
        }
    }
}

/// How much one round reads of files that no member has signed. Later rounds go on with the rest.
enum ReadingLimits {
    static let rosterFileCount = 50_000
    /// The most bytes of a roster, and of a log's files that are no messages.
    static let byteCount = 64 << 20
    /// The most files of a log that are read once more, because they may have arrived since.
    static let retryCount = 256
    /// The most logs of which nothing was read yet.
    static let newLogCount = 1024
}

/// Reads the files of a roster one after the other, and keeps nothing that no member has signed.
struct RosterReader {
    let store: any SyncStore
    let place: StorePlace
    /// Runs between two calls of the store. It throws to break off.
    var checkpoint: () throws(KeychainFailure) -> Void = {}
    private(set) var entries: [RosterEntry] = []
    private(set) var files: [StoredName: RosterShelf.File] = [:]
    /// Whether files were left out because of ``ReadingLimits``.
    private(set) var isCutShort = false

    init(_ store: any SyncStore, _ place: StorePlace) { (self.store, self.place) = (store, place) }

    /// Reads files, and lends their bytes to `sieve`.
    ///
    /// - Parameter own: The names of entries that are kept. They are always read. If there are too
    ///   many others, a random part of them is read, so nobody can choose which are left out.
    mutating func read(
        _ names: [StoredName], of own: Set<StoredName>, through sieve: inout RosterSieve,
        by deadline: () -> Deadline
    ) throws(KeychainFailure) {
        var others = names.filter { $0.hash != nil && !own.contains($0) }
        if others.count > ReadingLimits.rosterFileCount {
            others = others.shuffled().prefix(ReadingLimits.rosterFileCount).sorted()
            isCutShort = true
        }
        let kept = names.filter { $0.hash == nil || own.contains($0) }
        var room = ReadingLimits.byteCount
        for chunk in (kept + others).chunks(of: StoreLimits.readCount) {
            try checkpoint()
            guard room > 0 || own.contains(chunk[0]) else {
                isCutShort = true
                break
            }
            let answers = try store.read(chunk, in: place, by: deadline())
            for (name, answer) in zip(chunk, answers) {
                guard case .bytes(let bytes) = answer else { continue }
                room -= min(room, bytes.count)
                take(sieve.sift(bytes), as: name)
            }
        }
    }

    private mutating func take(_ finding: RosterSieve.Finding, as name: StoredName) {
        switch finding {
        case .signed(let entry):
            files[name] = .entry(entry.hash)
            entries.append(entry)
        case .unknownAuthor(let author): files[name] = .unknownAuthor(author)
        case .foreign: files[name] = .foreign
        }
    }
}

extension SyncSession {
    private static let changing = "change the circle"

    /// Reads what is new in the roster, and chooses the accepted branch.
    package func readRoster() throws(KeychainFailure) {
        let place = StorePlace.roster(circle.circle)
        let listing = try store.list(place, by: storeDeadline)
        guard !listing.isTooLong else {
            // The round goes on with what was read before.
            report.add(.rosterIsTooLong)
            return report.note(roster, self: circle.device)
        }
        let before = roster.acceptedHash
        let reading = try addNewEntries(listing)
        // Others may not have the keys of a branch that has lost: a base says it again.
        if !roster.isAncestor(before, of: roster.acceptedHash) { try oweBases() }
        if rosterShelf.isCutShort { report.add(.rosterIsTooLong) }
        report.addForeign(
            rosterShelf.foreignCount + listing.foreignCount, named: listing.foreignNames)
        try putBack(in: place)
        if !reading.added.isEmpty || roster.acceptedHash != before { try keepRoster() }
        report.note(roster, self: circle.device)
    }

    private func addNewEntries(_ listing: StoreListing) throws(KeychainFailure) -> Roster.Reading {
        var sieve = RosterSieve(roster)
        let names = Set(listing.names)
        rosterShelf.known = rosterShelf.known.filter { name, file in
            guard names.contains(name) else { return false }
            if case .unknownAuthor(let author) = file { return !sieve.knows(author) }
            return true
        }
        let unread = listing.names.filter { rosterShelf.known[$0] == nil }
        var reader = RosterReader(store, .roster(circle.circle))
        reader.checkpoint = checkpoint
        let own = unread.isEmpty ? [] : Set(roster.entries.map(\.file.name))
        try reader.read(unread, of: own, through: &sieve) { storeDeadline }
        rosterShelf.known.merge(reader.files) { _, new in new }
        rosterShelf.isCutShort = reader.isCutShort
        // Entries that waited for their parents are added again, together with the new ones.
        let entries = Dictionary(
            (reader.entries + rosterShelf.waiting).map { ($0.hash, $0) },
            uniquingKeysWith: { first, _ in first })
        let reading = roster.add(Array(entries.values))
        rosterShelf.wait(for: reading.waiting.compactMap { entries[$0] })
        for (hash, error) in reading.refused where error.code == .invalid {
            // The signature was checked before, so the signer did make this entry.
            guard let signer = entries[hash]?.head.signer else { continue }
            report.add(.refusedEntry, device: signer)
        }
        return reading
    }

    private func putBack(in place: StorePlace) throws(KeychainFailure) {
        let shown = rosterShelf.shown
        let lost = roster.entries.filter { !shown.contains($0.hash) }
        let path = roster.acceptedPath
        rosterShelf.head = path.last { shown.contains($0.hash) }.map {
            LogPosition(number: UInt64($0.head.number), hash: $0.hash)
        }
        guard !lost.isEmpty else { return }
        if !shown.isEmpty { report.add(.rosterWasLost, count: lost.count) }
        for chunk in lost.chunks(of: StoreLimits.readCount) {
            _ = try store.put(chunk.map(\.file), in: place, by: storeDeadline)
        }
    }

    func keepRoster() throws(KeychainFailure) {
        keyrings = [:]
        try keepNames()
    }

    /// Writes the roster to the keychain. If its entries have changed, call ``keepRoster()``.
    func keepNames() throws(KeychainFailure) {
        let bytes = roster.bytes
        try keychain.set(.roster, bytes, during: "write down the devices of the circle")
        rosterShelf.isUnkept = false
    }

    /// Appends an entry that this device signs.
    ///
    /// The entry in the store is the effect of a change of the circle. So callers do before this
    /// call what must not be missing after it, and use ``afterPublishing(_:)`` for what follows.
    ///
    /// - Parameter make: Makes the operation of the entry, given the state that the entry changes;
    ///   nil if nothing is left to do. It runs again if another device has appended an entry first.
    /// - Throws: ``KeychainFailure``: `notAMember`, `undecidedRoster`, `circleIsFull`,
    ///   `rosterInMotion`, `locked`, and those of the store.
    @discardableResult
    package func append(
        _ make: (RosterState, RosterEntry.Head) throws(KeychainFailure) -> RosterEntry.Operation?
    ) throws(KeychainFailure) -> RosterEntry? {
        for _ in 0..<5 {
            guard isMember else { throw KeychainFailure.circle(.notAMember) }
            guard roster.alarm.isEmpty else { throw KeychainFailure.circle(.undecidedRoster) }
            let state = roster.accepted
            guard state.number < RosterEntry.maximalNumber else {
                throw KeychainFailure.circle(.circleIsFull)
            }
            let head = state.next(milliseconds: machine.milliseconds(), signer: circle.device)
            guard let operation = try make(state, head) else { return nil }
            let signed = try withIdentity(.whileUnlocked) {
                RosterEntry(head, operation, signedBy: $0.signing)
            }
            guard let entry = signed else { throw KeychainFailure.lockedCircle }
            // An entry that others refuse would stop the circle, and could not be taken back.
            var trial = roster
            guard (try? RosterEntry(parsing: entry.bytes)) != nil,
                trial.add([entry]).added.contains(entry.hash)
            else {
                throw KeychainFailure(
                    .internalFault, during: Self.changing,
                    message: "other devices would refuse this change; nothing was changed")
            }
            if try publish(entry) { return entry }
            try readRoster()
        }
        throw KeychainFailure.circle(.rosterInMotion)
    }

    /// Puts an entry into the store, and accepts it. Nothing throws once the store has it.
    ///
    /// - Returns: false if another entry took its place.
    private func publish(_ entry: RosterEntry) throws(KeychainFailure) -> Bool {
        var outcome = try store.publish(
            entry, in: circle.circle, after: rosterShelf.head, by: storeDeadline)
        if case .otherHead(let head) = outcome, head.map({ roster.contains($0.hash) }) ?? true {
            // The store was set back, and entries were put back without moving its head.
            outcome = try store.publish(entry, in: circle.circle, after: head, by: storeDeadline)
        }
        guard outcome == .stored else { return false }
        rosterShelf.head = entry.position
        let reading = roster.add([entry])
        // If this fails, `lookAtLogs` does it, or the next process reads the entry in the store.
        rosterShelf.isUnkept = true
        afterPublishing { () throws(KeychainFailure) in try keepRoster() }
        return reading.added.contains(entry.hash) && roster.acceptedHash == entry.hash
    }

    /// Runs a step that follows a published entry, and that the next round does if it fails here.
    /// The change is made, whatever becomes of the step: its failure is ``unfinished``.
    func afterPublishing(_ step: () throws(KeychainFailure) -> Void) {
        do throws(KeychainFailure) {
            try step()
        } catch {
            unfinished = unfinished ?? error
        }
    }

    // MARK: Duties

    /// Does the duties of the first unlocked member before its next message: removes the devices
    /// that a lost branch removed, and makes new keys after a device has left.
    package func doDuties() throws(KeychainFailure) {
        guard isMember, roster.alarm.isEmpty else { return }
        let outstanding = roster.outstanding
        let removals = outstanding.removals.subtracting([circle.device])
        if !removals.isEmpty {
            try append { (state, head) throws(KeychainFailure) in
                try self.deleteLogsLater(of: Array(removals), since: .max)
                return try self.removal(of: Array(removals), after: state, head)
            }
        } else if outstanding.needsRotation {
            try append { (state, head) throws(KeychainFailure) in
                for device in state.leavers.keys.sorted() {
                    let isRead = try self.hasRead(device)
                    try self.deleteLogsLater(
                        of: [device], since: isRead ? self.machine.milliseconds() : .max)
                }
                try self.oweBases()
                let (wraps, former) = try self.newKeys(after: state, head, without: [])
                return .rotate(wraps, former)
            }
        }
    }

    /// The removal of those of `devices` that are members; nil if none is.
    package func removal(
        of devices: [DeviceID], after state: RosterState, _ head: RosterEntry.Head
    ) throws(KeychainFailure) -> RosterEntry.Operation? {
        let present = devices.filter { state.members[$0] != nil }.sorted()
        guard !present.isEmpty else { return nil }
        let (wraps, former) = try newKeys(after: state, head, without: present)
        return .remove(present, wraps, former)
    }

    /// New keys of the next epoch for the members that stay.
    private func newKeys(
        after state: RosterState, _ head: RosterEntry.Head, without removed: [DeviceID]
    ) throws(KeychainFailure) -> (Wraps, FormerKeys) {
        let former = try newestKeys()
        let keys = CircleKeys(epoch: state.epoch + 1, f: .random(), u: .random())
        return (
            try machine.wraps(keys, for: state.members(without: removed), head),
            FormerKeys(former, under: keys, circle: circle.circle, random: machine.random)
        )
    }
}

extension SyncSession.Machine {
    /// The keys of an entry in boxes for `members`.
    ///
    /// - Throws: ``KeychainFailure``: `internalFault` if the key agreement with a member fails. No
    ///   roster has such a member.
    func wraps(
        _ keys: borrowing CircleKeys, for members: [Member], _ head: RosterEntry.Head
    ) throws(KeychainFailure) -> Wraps {
        do {
            return try Wraps(keys, for: members, in: head, ephemeral: .random(), random: random)
        } catch {
            throw KeychainFailure(.internalFault, during: "change the circle", message: "\(error)")
        }
    }
}

extension RosterEntry {
    /// The file that has the entry.
    var file: StoreFile { StoreFile(number: UInt64(head.number), bytes: bytes) }

    var position: LogPosition { LogPosition(number: UInt64(head.number), hash: hash) }
}

extension SyncStore {
    /// Appends an entry to the roster of a circle.
    ///
    /// A store may fail although others see the entry already, such as a folder whose disk reports
    /// an error after the file has its name. Such an entry counts as stored. If the store loses it,
    /// rounds put it back.
    func publish(
        _ entry: RosterEntry, in circle: CircleID, after head: LogPosition?, by deadline: Deadline
    ) throws(KeychainFailure) -> AppendOutcome {
        let place = StorePlace.roster(circle)
        do throws(KeychainFailure) {
            return try append(
                entry.bytes, at: entry.position, to: place, after: head, by: deadline)
        } catch {
            // The deadline may be why the call has failed.
            let listing = try? list(place, by: Deadline(after: .seconds(10)))
            guard listing?.names.contains(entry.file.name) == true else { throw error }
            return .stored
        }
    }
}

extension Array {
    /// The elements in pieces of at most `count`.
    func chunks(of count: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: count).map {
            Array(self[$0..<Swift.min(self.count, $0 + count)])
        }
    }
}
