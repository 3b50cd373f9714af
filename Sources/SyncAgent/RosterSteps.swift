// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainSync
internal import ValetSealing
package import ValetSync
internal import ValetSyncStores
internal import ValetSystem

// Reads the roster, puts back what the store has lost, and appends entries: docs/SYNC.md §6. Every
// round begins with it, and the commands that change the circle append here.

/// What the store shows of the roster.
struct RosterShelf {
    /// The entries that were read, by their names in the store; nil for bytes that are no entry.
    var known: [StoredName: SyncHash?] = [:]
    /// Whether a device has named an entry since the roster was kept.
    var hasNewNames = false
    /// Entries whose parents were not read yet.
    var waiting: [RosterEntry] = []
    /// The last entry that the store is known to have.
    var head: LogPosition?
}

extension SyncSession {
    private static let changing = "change the circle"

    /// Reads what is new in the roster, and chooses the accepted branch.
    ///
    /// - Throws: ``StoreError``, ``KeychainFailure``.
    package func readRoster() throws {
        let place = StorePlace.roster(circle.circle)
        let listing = try store.list(place, from: 0, by: storeDeadline)
        rosterShelf.known = rosterShelf.known.filter { listing.names.contains($0.key) }
        let unread = listing.names.filter { rosterShelf.known[$0] == nil }
        let before = roster.acceptedHash
        var entries: [RosterEntry] = []
        for chunk in unread.chunks(of: StoreLimits.readCount) {
            let answers = try store.read(chunk, in: place, by: storeDeadline)
            for (name, answer) in zip(chunk, answers) {
                guard case .bytes(let bytes) = answer else { continue }
                guard let entry = try? RosterEntry(parsing: bytes) else {
                    rosterShelf.known[name] = .some(nil)
                    continue
                }
                rosterShelf.known[name] = entry.hash
                entries.append(entry)
            }
        }
        // Entries that waited for their parents come again with them.
        let reading = roster.add(entries + waitingEntries)
        waitingEntries = reading.waiting.compactMap { hash in
            (entries + waitingEntries).first { $0.hash == hash }
        }
        for (hash, _) in reading.refused {
            if let entry = entries.first(where: { $0.hash == hash }) {
                report.add(.refusedEntry, device: entry.head.signer)
            }
        }
        try putBack(in: place)
        if !reading.added.isEmpty || roster.acceptedHash != before { try keepRoster() }
        report.note(roster, self: circle.device)
    }

    /// Entries whose parents were not read yet, at most as many as a circle has.
    private var waitingEntries: [RosterEntry] {
        get { rosterShelf.waiting }
        set { rosterShelf.waiting = Array(newValue.prefix(Int(RosterEntry.maximalNumber))) }
    }

    /// Puts entries back that the store has lost, as they were.
    private func putBack(in place: StorePlace) throws {
        let shown = Set(rosterShelf.known.values.compactMap { $0 })
        let lost = roster.kept.entries.filter { !shown.contains($0.hash) }
        let path = roster.acceptedPath
        rosterShelf.head = path.last { shown.contains($0.hash) }.map {
            LogPosition(number: UInt64($0.head.number), hash: $0.hash)
        }
        guard !lost.isEmpty else { return }
        if !shown.isEmpty { report.add(.rosterWasLost, count: lost.count) }
        for chunk in lost.chunks(of: StoreLimits.readCount) {
            let files = chunk.map { StoreFile(number: UInt64($0.head.number), bytes: $0.bytes) }
            _ = try store.put(files, in: place, by: storeDeadline)
        }
    }

    /// Keeps the roster in the keychain.
    func keepRoster() throws {
        forgetKeys()
        try keepNames()
    }

    /// Takes note that a device knew an entry.
    func note(_ hash: SyncHash, namedBy device: DeviceID) {
        if roster.note(hash, namedBy: device) { rosterShelf.hasNewNames = true }
    }

    /// Keeps the roster, of which no entry has changed, in the keychain.
    private func keepNames() throws {
        let bytes = roster.kept.bytes
        try keychain.update(Self.changing) { $0[.roster] = bytes }
        rosterShelf.hasNewNames = false
    }

    /// Keeps which entries the devices knew, if that has changed: they may not pretend later that
    /// they did not know them.
    func keepNewNames() throws {
        if rosterShelf.hasNewNames { try keepNames() }
    }

    /// Appends an entry that this device signs.
    ///
    /// - Parameter make: Makes what the entry does after the state that it is given. It runs again
    ///   if another device was quicker.
    /// - Throws: ``SyncTrouble``: `removed`, `undecided`, `circleIsFull`, `rosterInMotion`;
    ///   ``KeychainFailure``: `locked`; ``StoreError``.
    @discardableResult
    package func append(
        _ make: (RosterState, RosterEntry.Head) throws -> RosterEntry.Operation
    ) throws -> RosterEntry {
        for _ in 0..<5 {
            guard isMember else { throw SyncTrouble.removed }
            guard roster.alarm.isEmpty else { throw SyncTrouble.undecided }
            let state = roster.accepted
            guard state.number < RosterEntry.maximalNumber else { throw SyncTrouble.circleIsFull }
            let head = state.next(milliseconds: machine.milliseconds(), signer: circle.device)
            let operation = try make(state, head)
            let signed = try withIdentity(.whileUnlocked) {
                RosterEntry(head, operation, signedBy: $0.signing)
            }
            guard let entry = signed else {
                throw KeychainFailure(
                    .locked, during: Self.changing,
                    hint: "unlock the keychain with `valet unlock`")
            }
            if try store(entry) { return entry }
            try readRoster()
        }
        throw SyncTrouble.rosterInMotion
    }

    /// Puts an entry into the store, and accepts it.
    ///
    /// - Returns: false if another entry took its place.
    private func store(_ entry: RosterEntry) throws -> Bool {
        let place = StorePlace.roster(circle.circle)
        let position = LogPosition(number: UInt64(entry.head.number), hash: entry.hash)
        var outcome = try store.append(
            entry.bytes, at: position, to: place, after: rosterShelf.head, by: storeDeadline)
        if case .otherHead(let head) = outcome, head.map({ roster.contains($0.hash) }) ?? true {
            // The store was set back, and entries were put back without moving its head.
            outcome = try store.append(
                entry.bytes, at: position, to: place, after: head, by: storeDeadline)
        }
        guard outcome == .stored else { return false }
        rosterShelf.head = position
        let reading = roster.add([entry])
        try keepRoster()
        return reading.added.contains(entry.hash) && roster.acceptedHash == entry.hash
    }

    // MARK: Duties

    /// Does what the first unlocked member has to do before its next message: removes the devices
    /// that a lost branch removed, and makes new keys after a device has left.
    package func doDuties() throws {
        guard isMember, roster.alarm.isEmpty else { return }
        let outstanding = roster.outstanding
        let removals = outstanding.removals.subtracting([circle.device])
        if !removals.isEmpty {
            try append { state, head in
                try self.removal(of: removals.sorted(), after: state, head)
            }
        } else if outstanding.needsRotation {
            try append { state, head in
                let (wraps, former) = try self.newKeys(after: state, head, without: [])
                return .rotate(wraps, former)
            }
            try deleteLogsLater(
                of: roster.accepted.leavers.keys.sorted(), since: machine.milliseconds())
            try oweBases()
        }
    }

    /// The operation that removes members and gives the others new keys.
    package func removal(
        of devices: [DeviceID], after state: RosterState, _ head: RosterEntry.Head
    ) throws -> RosterEntry.Operation {
        let (wraps, former) = try newKeys(after: state, head, without: devices)
        return .remove(devices.sorted(), wraps, former)
    }

    /// New keys of the next epoch for the members that stay.
    private func newKeys(
        after state: RosterState, _ head: RosterEntry.Head, without removed: [DeviceID]
    ) throws -> (Wraps, FormerKeys) {
        let former = try newestKeys()
        let keys = CircleKeys(epoch: state.epoch + 1, f: .random(), u: .random())
        let wraps = try Wraps(
            keys, for: state.members(without: removed), at: head.place,
            ephemeral: .random(), random: machine.random)
        return (
            wraps,
            FormerKeys(former, under: keys, circle: circle.circle, random: machine.random)
        )
    }

    /// The operation that admits a member, and gives it the keys of now.
    package func addition(
        of member: Member, _ head: RosterEntry.Head
    ) throws -> RosterEntry.Operation {
        let keys = try newestKeys()
        return .add(
            member,
            try Wraps(
                keys, for: [member], at: head.place, ephemeral: .random(),
                random: machine.random))
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
