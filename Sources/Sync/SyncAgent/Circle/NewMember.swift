// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainStore
package import ValetKeys
internal import ValetSealing
package import ValetSync
package import ValetSystem

/// A device before it is a member of a circle: its secrets, until the keychain has them, and the
/// steps of `create`, `join`, `recover` and `move` that make it a member. docs/SYNC.md §2, §6.
package struct NewMember: ~Copyable {
    /// The member's public keys.
    package let member: Member
    private let first: SyncSecret
    private let unlocked: SyncSecret
    private let circleOfKeys: CircleID

    /// Makes new secrets for a circle; zero for one that is being founded.
    package init(of circle: CircleID) {
        self.init(.device, .random(), .random(), circle)
    }

    /// The recovery member of a circle.
    package init(_ key: borrowing RecoveryKey, of circle: CircleID) {
        self.init(
            .recovery, key.syncSecret(.afterFirstUnlock), key.syncSecret(.whileUnlocked), circle)
    }

    private init(
        _ kind: Member.Kind, _ first: consuming SyncSecret, _ unlocked: consuming SyncSecret,
        _ circle: CircleID
    ) {
        member = Member(
            kind, ScopeIdentity(first, .afterFirstUnlock, circle: circle),
            ScopeIdentity(unlocked, .whileUnlocked, circle: circle))
        self.first = first
        self.unlocked = unlocked
        circleOfKeys = circle
    }

    /// The pairs of keys of a scope.
    func identity(_ scope: KeyScope) -> ScopeIdentity {
        switch scope {
        case .afterFirstUnlock: ScopeIdentity(first, scope, circle: circleOfKeys)
        case .whileUnlocked: ScopeIdentity(unlocked, scope, circle: circleOfKeys)
        }
    }

    /// Stores the secrets in the keychain. Creates a keychain that does not exist.
    ///
    /// - Parameter passcode: The keychain's passcode, if it has one.
    package func keepSecrets(
        in store: ItemStore, _ passcode: KeychainPasscode?
    ) throws(KeychainFailure) {
        try store.keychain.setSyncSecrets(first, unlocked, passcode: passcode)
    }
}

/// The notes with which a keychain begins in a circle.
package struct CircleBeginning: Sendable {
    /// The circle, and this device's id in it.
    package let note: CircleNote
    package let roster: Roster
    package let address: StoreAddress
    /// The names of the devices.
    package var names: DeviceNames

    /// The beginning of a member.
    package init(
        _ note: CircleNote, _ roster: Roster, _ address: StoreAddress, _ names: DeviceNames
    ) {
        (self.note, self.roster, self.address, self.names) = (note, roster, address, names)
    }

    /// The bytes of the note ``NoteName/move``: the circle, its roster, and the names.
    var bytes: [UInt8] {
        [UInt8](
            fields: SizedBytes(note.bytes), SizedBytes(roster.kept.bytes), SizedBytes(names.bytes))
    }

    /// Reads ``bytes``.
    ///
    /// - Throws: ``SyncError``: `malformed`, `form`.
    init(parsing bytes: [UInt8], _ address: StoreAddress) throws(SyncError) {
        var reader = ByteReader(bytes, of: .member)
        let parts = try reader.fields(SizedBytes.self, SizedBytes.self, SizedBytes.self)
        let note = try CircleNote(parsing: parts.0.bytes)
        let roster = try Roster(Roster.Kept(parsing: parts.1.bytes), of: note.circle)
        self.init(note, roster, address, DeviceNames(parsing: parts.2.bytes))
    }

    /// Writes the notes in the transaction that begins the replica.
    func keep(in update: SyncUpdate) {
        SyncSession.note(note, roster, in: update)
        update[.address] = address.bytes
        update[.names] = names.bytes
        update[.left] = nil
        update[.paused] = nil
    }

    /// New logs of the device.
    func logs(_ machine: SyncSession.Machine) -> (first: LogID, unlocked: LogID) {
        (
            LogID(of: note.device, random: machine.random(), foreign: []),
            LogID(of: note.device, random: machine.random(), foreign: [])
        )
    }
}

// MARK: - Founding

/// A circle that is founded: its first entry, which its founder has signed.
package struct FoundedCircle: Sendable {
    package let id: CircleID
    /// The roster with its first entry.
    package let roster: Roster
    private let entry: RosterEntry

    /// Makes the first entry for a founder, whose keys are made for no circle.
    package init(
        by founder: borrowing NewMember, _ machine: SyncSession.Machine = .own
    ) throws(KeychainFailure) {
        let head = RosterEntry.Head.founding(
            milliseconds: machine.milliseconds(), signer: founder.member.id)
        let keys = CircleKeys(epoch: 1, f: .random(), u: .random())
        let wraps = try machine.wraps(keys, for: [founder.member], head)
        let identity = founder.identity(.whileUnlocked)
        entry = RosterEntry(
            head, .create(salt: .random(), founder.member, wraps), signedBy: identity.signing)
        id = entry.hash.half()
        guard let roster = Roster(founding: entry.bytes, of: id) else {
            throw KeychainFailure(.internalFault, during: "found a circle")
        }
        self.roster = roster
    }

    /// Makes the circle in the store.
    ///
    /// - Throws: ``KeychainFailure``.
    package func publish(in store: any SyncStore) throws(KeychainFailure) {
        let deadline = Deadline(after: .seconds(60))
        try store.create(id, by: deadline)
        let outcome = try store.append(
            entry.bytes, at: LogPosition(number: 1, hash: entry.hash), to: .roster(id), after: nil,
            by: deadline)
        guard outcome == .stored else {
            throw KeychainFailure.store(
                .storeMalformed, during: "found a circle", reason: "it exists already")
        }
    }
}

extension SyncedKeychain {
    /// Begins the replica of a circle's founder, whose items are the first of the circle.
    package func found(
        _ beginning: CircleBeginning, _ machine: SyncSession.Machine = .own
    ) throws(KeychainFailure) {
        let logs = beginning.logs(machine)
        try update("found a circle") { update in
            if update.replica != nil { try update.end(keeping: []) }
            try update.begin(Replica(log: logs.first, logs.unlocked), sendsItems: true)
            beginning.keep(in: update)
        }
    }

    /// Goes on in a new circle with all live records of the current one.
    ///
    /// The secrets of the new member and the new circle are kept in two transactions. If the
    /// process dies between them, ``finishMove(_:)`` does the second one.
    package func move(
        _ beginning: CircleBeginning,
        keepingSecrets keepSecrets: () throws(KeychainFailure) -> Void,
        _ machine: SyncSession.Machine = .own
    ) throws(KeychainFailure) {
        try update(Self.moving) { $0[.move] = beginning.bytes }
        try keepSecrets()
        try finishMove(machine)
    }

    /// Finishes a move that was broken off: forward if the keychain has the secrets of the member
    /// of the new circle, otherwise back.
    func finishMove(_ machine: SyncSession.Machine) throws(KeychainFailure) {
        let notes = try read(Self.moving) { view in
            try [NoteName.move, .address].map { try view[$0] }
        }
        guard let notes, let move = notes[0] else { return }
        guard let address = notes[1],
            let beginning = try? CircleBeginning(parsing: move, StoreAddress(parsing: address))
        else { return try update(Self.moving) { $0[.move] = nil } }
        let member = beginning.roster.accepted.members[beginning.note.device]?.member
        let circleOfKeys = beginning.note.circleOfKeys
        let logs = beginning.logs(machine)
        try update(Self.moving) { update in
            update[.move] = nil
            let ownKey = try update.withSecret(.afterFirstUnlock) {
                ScopeIdentity($0, .afterFirstUnlock, circle: circleOfKeys).signing.publicKey
            }
            guard let ownKey, ownKey == member?.signF else { return }
            try update.move(to: logs.first, logs.unlocked)
            update[.report] = nil
            update[.logTimes] = nil
            beginning.keep(in: update)
        }
    }

    private static let moving = "move to a new circle"

    /// Begins the replica of a device that joins.
    ///
    /// A keychain that has left this circle goes on with the replica that it has kept. So it sends
    /// only changes since then, and no deleted item comes back.
    package func join(
        _ beginning: CircleBeginning, _ machine: SyncSession.Machine = .own
    ) throws(KeychainFailure) {
        let logs = beginning.logs(machine)
        try update("join the circle") { update in
            let isReturning = update[.left] == beginning.note.circle.bytes
            let isIdle = KeyScope.allCases.allSatisfy {
                update.replica?[$0].own.unconfirmed == nil
            }
            if update.replica != nil, isReturning, isIdle {
                update.replica?.firstUnlock.startLog(logs.first)
                update.replica?.unlocked.startLog(logs.unlocked)
            } else {
                if update.replica != nil { try update.end(keeping: []) }
                try update.begin(Replica(log: logs.first, logs.unlocked), sendsItems: false)
            }
            beginning.keep(in: update)
        }
    }
}

// MARK: - Joining

/// The roster of a circle as a device reads it that is no member yet. Nothing is kept.
package struct ForeignRoster: Sendable {
    package let roster: Roster

    /// Reads the roster of a circle; nil if its first entry is not in the store.
    ///
    /// - Throws: ``KeychainFailure``.
    package init?(
        of circle: CircleID, in store: any SyncStore, by deadline: Deadline
    ) throws(KeychainFailure) {
        let place = StorePlace.roster(circle)
        let listing = try store.list(place, by: deadline)
        guard !listing.isTooLong else {
            throw KeychainFailure.store(
                .storeMalformed, during: "read the roster", reason: "it has too many files",
                hint: "delete the files in its folder that no device of yours has written")
        }
        var found: Roster?
        for chunk in listing.names.filter({ $0.number == 1 }).chunks(of: StoreLimits.readCount)
        where found == nil {
            for case .bytes(let bytes) in try store.read(chunk, in: place, by: deadline) {
                found = found ?? Roster(founding: bytes, of: circle)
            }
        }
        guard var roster = found else { return nil }
        var sieve = RosterSieve(roster)
        var reader = RosterReader(store, place)
        try reader.read(listing.names, of: [], through: &sieve) { deadline }
        _ = roster.add(reader.entries)
        self.roster = roster
    }

    /// Whether a device was admitted by the branch that the sponsor has offered: the walk goes from
    /// the first entry through the offered one to the device's own.
    package func admits(_ device: DeviceID, after offer: InvitationOffer) -> Bool {
        guard roster.circle == offer.circle, roster.accepted.members[device] != nil,
            roster.isAncestor(offer.head, of: roster.acceptedHash)
        else { return false }
        return roster.acceptedPath.contains { entry in
            guard case .add(let member, _) = entry.operation else { return false }
            return member.id == device && entry.head.number > offer.number
        }
    }

    /// When the newest accepted entry was made: milliseconds since 1970, by its author's clock.
    package var milliseconds: UInt64 { roster.acceptedPath.last?.head.milliseconds ?? 0 }

    /// Whether a recovery key is a member.
    package func has(_ recovery: borrowing NewMember) -> Bool {
        roster.accepted.members[recovery.member.id] != nil
    }

    /// Admits a device with the recovery key, and puts the entry into the store.
    ///
    /// - Returns: The roster with the device; nil if another entry took its place: read again.
    /// - Throws: ``KeychainFailure``: `noCircleKeys` if nobody gave keys to the recovery key.
    package func admit(
        _ newcomer: borrowing NewMember, by recovery: borrowing NewMember,
        in store: any SyncStore, _ machine: SyncSession.Machine = .own
    ) throws(KeychainFailure) -> Roster? {
        let id = recovery.member.id
        let first = recovery.identity(.afterFirstUnlock)
        let unlocked = recovery.identity(.whileUnlocked)
        guard let f = CircleKeyring(roster, for: id, first).newest,
            let u = CircleKeyring(roster, for: id, unlocked).newest
        else { throw KeychainFailure.circle(.noCircleKeys) }
        let state = roster.accepted
        let head = state.next(milliseconds: machine.milliseconds(), signer: id)
        let keys = CircleKeys(epoch: state.epoch, f: f.key.copy(), u: u.key.copy())
        let wraps = try machine.wraps(keys, for: [newcomer.member], head)
        let entry = RosterEntry(
            head, .add(newcomer.member, wraps), signedBy: unlocked.signing)
        let last = LogPosition(number: UInt64(state.number), hash: state.hash)
        let outcome = try store.append(
            entry.bytes, at: LogPosition(number: UInt64(head.number), hash: entry.hash),
            to: .roster(roster.circle), after: last, by: Deadline(after: .seconds(60)))
        var next = roster
        guard outcome == .stored, next.add([entry]).added == [entry.hash],
            next.acceptedHash == entry.hash
        else { return nil }
        return next
    }
}
