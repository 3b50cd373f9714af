// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSealing
package import ValetSync
package import ValetSystem

/// A device before it is a member of a circle: its secrets, until the keychain has them, and the
/// steps of `create`, `join`, `recover` and `move` that make it a member. docs/SYNC.md §2, §6.
package struct NewMember: ~Copyable {
    package let member: Member
    private let first: SyncSecret
    private let unlocked: SyncSecret
    private let circleOfKeys: CircleID

    /// Makes new secrets for the circle with this id: zero for a circle that is being founded.
    package init(of circle: CircleID) { self.init(.device, .random(), .random(), circle) }

    package init(
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

    func identity(_ scope: KeyScope) -> ScopeIdentity {
        switch scope {
        case .afterFirstUnlock: ScopeIdentity(first, scope, circle: circleOfKeys)
        case .whileUnlocked: ScopeIdentity(unlocked, scope, circle: circleOfKeys)
        }
    }

    /// Stores the secrets in the keychain. Creates the keychain if it does not exist.
    ///
    /// - Parameter passcode: The keychain's passcode, if it has one.
    @discardableResult
    package func keepSecrets(
        in store: ItemStore, _ passcode: Passcode?
    ) throws(KeychainFailure) -> KeyChangeOutcome {
        try store.keychain.setSyncSecrets(first, unlocked, passcode: passcode)
    }
}

/// The notes with which a keychain begins in a circle.
package struct CircleBeginning: Sendable {
    package let note: CircleNote
    package let roster: Roster
    package let address: StoreAddress
    package var names: DeviceNames

    package init(
        _ note: CircleNote, _ roster: Roster, _ address: StoreAddress, _ names: DeviceNames
    ) {
        (self.note, self.roster, self.address, self.names) = (note, roster, address, names)
    }

    /// The bytes of the note ``NoteName/move``: the circle, its roster, and the names.
    var bytes: [UInt8] { [UInt8](fields: SizedBytes(note.bytes), SizedBytes(roster.bytes), names) }

    /// Parses ``bytes``; other bytes are `malformed`, `newer`, `invalid` or `tampered`.
    init(parsing bytes: [UInt8], _ address: StoreAddress) throws(SyncError) {
        var reader = ByteReader(bytes, of: .member)
        let parts = try reader.fields(SizedBytes.self, SizedBytes.self, DeviceNames.self)
        let note = try CircleNote(parsing: parts.0.bytes)
        let roster = try Roster(parsing: parts.1.bytes, of: note.circle)
        self.init(note, roster, address, parts.2)
    }

    /// Writes the notes in the transaction that begins the replica.
    func keep(in update: SyncUpdate) throws(KeychainFailure) {
        try update.set(.circle, note.bytes)
        try update.set(.roster, roster.bytes)
        try update.set(.address, address.bytes)
        try update.set(.names, [UInt8](fields: names))
        try update.set(.left, nil)
        try update.set(.paused, nil)
    }

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
    package let roster: Roster
    private let entry: RosterEntry

    /// Makes the first entry. The keys of `founder` are derived with zero as the circle's id.
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
    package func publish(in store: any SyncStore) throws(KeychainFailure) {
        let deadline = Deadline(after: .seconds(60))
        try store.create(id, by: deadline)
        let outcome = try store.publish(entry, in: id, after: nil, by: deadline)
        guard outcome == .stored else {
            throw KeychainFailure.store(
                .storeMalformed, during: "found a circle", reason: "it exists already")
        }
    }
}

extension SyncedKeychain {
    /// Begins the replica of a circle's founder, whose items are the first of the circle.
    ///
    /// - Returns: How many values of a former circle became former values.
    @discardableResult
    package func found(
        _ beginning: CircleBeginning, _ machine: SyncSession.Machine = .own
    ) throws(KeychainFailure) -> Int {
        let logs = beginning.logs(machine)
        return try update("found a circle") { (update) throws(KeychainFailure) in
            let kept = update.replica == nil ? 0 : try update.end().kept
            try update.begin(Replica(log: logs.first, logs.unlocked), sendsItems: true)
            try beginning.keep(in: update)
            return kept
        }
    }

    /// Moves the replica to a new circle, with all live records of the current one.
    ///
    /// Stores the secrets of the new member and the new circle in two transactions. The first one
    /// decides: if the second one fails, or the process dies before, the next session does it by
    /// ``finishMove(_:)``.
    ///
    /// - Returns: Why the second one is still to be done; nil if it is done.
    /// - Throws: ``KeychainFailure`` if the keychain stays in its circle.
    package func move(
        _ beginning: CircleBeginning,
        keepingSecrets keepSecrets: () throws(KeychainFailure) -> Void,
        _ machine: SyncSession.Machine = .own
    ) throws(KeychainFailure) -> KeychainFailure? {
        try set(.move, beginning.bytes, during: Self.moving)
        try keepSecrets()
        do throws(KeychainFailure) {
            try finishMove(machine)
            return nil
        } catch {
            return error
        }
    }

    /// Completes a pending move if the keychain has the secrets of the new circle's member.
    /// Otherwise cancels it.
    func finishMove(_ machine: SyncSession.Machine) throws(KeychainFailure) {
        let notes = try notes(.move, .address, during: Self.moving)
        guard let notes, let move = notes[0] else { return }
        guard let address = notes[1],
            let beginning = try? CircleBeginning(parsing: move, StoreAddress(parsing: address))
        else { return try set(.move, nil, during: Self.moving) }
        let member = beginning.roster.accepted.members[beginning.note.device]?.member
        let circleOfKeys = beginning.note.circleOfKeys
        let logs = beginning.logs(machine)
        try update(Self.moving) { (update) throws(KeychainFailure) in
            try update.set(.move, nil)
            let ownKey = try update.withSecret(.afterFirstUnlock) {
                (secret) throws(KeychainFailure) in
                ScopeIdentity(secret, .afterFirstUnlock, circle: circleOfKeys).signing.publicKey
            }
            guard let ownKey, ownKey == member?.signF else { return }
            try update.move(to: logs.first, logs.unlocked)
            try update.set(.report, nil)
            try update.set(.logTimes, nil)
            try beginning.keep(in: update)
        }
    }

    private static let moving = "move to a new circle"

    /// Begins the replica of a device that joins.
    ///
    /// A keychain that has left this circle goes on with the replica that it has kept. So it sends
    /// only changes since then, and no deleted item comes back.
    ///
    /// - Returns: How many values of a former circle became former values.
    @discardableResult
    package func join(
        _ beginning: CircleBeginning, _ machine: SyncSession.Machine = .own
    ) throws(KeychainFailure) -> Int {
        let logs = beginning.logs(machine)
        return try update("join the circle") { (update) throws(KeychainFailure) in
            let isReturning = try update[.left] == beginning.note.circle.bytes
            let isIdle = KeyScope.allCases.allSatisfy {
                update.replica?[$0].own.unconfirmed == nil
            }
            var kept = 0
            if update.replica != nil, isReturning, isIdle {
                update.replica?.firstUnlock.startLog(logs.first)
                update.replica?.unlocked.startLog(logs.unlocked)
            } else {
                if update.replica != nil { kept = try update.end().kept }
                try update.begin(Replica(log: logs.first, logs.unlocked), sendsItems: false)
            }
            try beginning.keep(in: update)
            return kept
        }
    }
}

// MARK: - Joining

/// The roster of a circle, read by a device that is not a member yet. The keychain stores nothing
/// of it.
extension Roster {
    /// Reads the roster of a circle; nil if its first entry is not in the store.
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
        self = roster
    }

    /// Whether the branch that the sponsor has offered admits a device: the accepted path leads
    /// from the first entry through the offered one to the entry that adds the device.
    package func admits(_ device: DeviceID, after offer: InvitationOffer) -> Bool {
        guard circle == offer.circle, accepted.members[device] != nil,
            isAncestor(offer.head, of: acceptedHash)
        else { return false }
        return acceptedPath.contains { entry in
            guard case .add(let member, _) = entry.operation else { return false }
            return member.id == device && entry.head.number > offer.number
        }
    }

    /// When the newest accepted entry was made: milliseconds since 1970, by its author's clock.
    package var milliseconds: UInt64 { acceptedPath.last?.head.milliseconds ?? 0 }

    package func has(_ recovery: borrowing NewMember) -> Bool {
        accepted.members[recovery.member.id] != nil
    }

    /// Admits a device with the recovery key, and puts the entry into the store.
    ///
    /// - Returns: The roster with the device; nil if another entry took its place. Then the caller
    ///   must read the roster again.
    /// - Throws: ``KeychainFailure``: `noCircleKeys` if nobody gave keys to the recovery key.
    package func admit(
        _ newcomer: borrowing NewMember, by recovery: borrowing NewMember,
        in store: any SyncStore, _ machine: SyncSession.Machine = .own
    ) throws(KeychainFailure) -> Roster? {
        let id = recovery.member.id
        let first = recovery.identity(.afterFirstUnlock)
        let unlocked = recovery.identity(.whileUnlocked)
        guard let f = CircleKeyring(self, for: id, first).newest,
            let u = CircleKeyring(self, for: id, unlocked).newest
        else { throw KeychainFailure.circle(.noCircleKeys) }
        let state = accepted
        let head = state.next(milliseconds: machine.milliseconds(), signer: id)
        let keys = CircleKeys(epoch: state.epoch, f: f.key.copy(), u: u.key.copy())
        let wraps = try machine.wraps(keys, for: [newcomer.member], head)
        let entry = RosterEntry(head, .add(newcomer.member, wraps), signedBy: unlocked.signing)
        let last = LogPosition(number: UInt64(state.number), hash: state.hash)
        let outcome = try store.publish(
            entry, in: circle, after: last, by: Deadline(after: .seconds(60)))
        var next = self
        guard outcome == .stored, next.add([entry]).added == [entry.hash],
            next.acceptedHash == entry.hash
        else { return nil }
        return next
    }
}

// The steps in which a member changes its circle: it admits devices, removes them, leaves, and
// chooses between branches. docs/SYNC.md §6. Each step expects that the session has just read the
// roster.

extension SyncSession {
    private static let leaving = "leave the circle"

    package var offer: InvitationOffer {
        InvitationOffer(
            circle: circle.circle, number: roster.accepted.number, head: roster.acceptedHash,
            sponsor: circle.device)
    }

    package var hasRoom: Bool { roster.accepted.members.count < Wraps.maximalMemberCount }

    /// Makes a device or a recovery key a member, and makes batches due that say how far this
    /// device has read.
    ///
    /// - Throws: As ``append(_:)``; then the circle has no new member.
    package func admit(_ member: Member) throws(KeychainFailure) {
        try doDuties()
        // A session that begins does not know the heads of its own logs yet. The new member looks
        // for messages as soon as it sees its entry, so nothing slow comes after that.
        try readLogs()
        try keychain.update("admit a device") { update in
            for scope in KeyScope.allCases { update.replica?[scope].oweTable() }
        }
        // A request that is repeated after a crash must not end in an entry that no device accepts.
        if roster.accepted.members[member.id] == nil {
            try append { (state, head) throws(KeychainFailure) in
                guard state.members.count < Wraps.maximalMemberCount else {
                    throw KeychainFailure.circle(.circleIsFull)
                }
                return .add(
                    member, try self.machine.wraps(try self.newestKeys(), for: [member], head))
            }
        }
        afterPublishing { () throws(KeychainFailure) in _ = try sendPending() }
    }

    /// Removes members, after reading everything that they have written.
    ///
    /// - Returns: Whether the store has a base with everything that was read. If not, something
    ///   pending or damaged keeps this device from building the base, which follows later.
    /// - Throws: As ``append(_:)``; then they are still members.
    @discardableResult
    package func remove(
        _ devices: [DeviceID], _ progress: () -> Void = {}
    ) throws(KeychainFailure) -> Bool {
        try doDuties()
        try readLogs(progress)
        _ = try sendPending()
        let begun = machine.milliseconds()
        var hasBase = true
        for scope in KeyScope.allCases {
            let isSent = try sendBase(scope)
            hasBase = hasBase && isSent
        }
        try deleteLogsLater(of: devices, since: begun)
        if !hasBase { try oweBases() }
        try append { (state, head) throws(KeychainFailure) in
            try self.removal(of: devices, after: state, head)
        }
        return hasBase
    }

    /// Makes the keychain's recovery key a member, after removing those that it replaces.
    package func admitRecoveryKey(_ member: Member) throws(KeychainFailure) {
        let key = try keychain.store.keychain.status().recoveryPublicKey ?? []
        // Comes first: a member that the note does not name counts as replaced.
        try keychain.set(.recovery, member.id.bytes + key, during: "note the recovery key")
        try removeStaleRecoveryKeys()
        try admit(member)
    }

    /// Removes recovery members whose keys are not the keychain's recovery key any more.
    func removeStaleRecoveryKeys() throws(KeychainFailure) {
        let note = try keychain.note(.recovery, during: "look for the recovery key")
        let stale = roster.staleRecoveryKeys(
            of: circle.device, noted: note,
            present: try keychain.store.keychain.status().recoveryPublicKey)
        if !stale.isEmpty { try remove(stale) }
    }

    /// Sends what is pending, and leaves the circle. Items and replica stay. Its conflicts become
    /// former values, too, as no command lists them outside of a circle.
    ///
    /// If the keychain cannot forget the circle then, the next ``round(_:)`` does it, and the
    /// result counts nothing.
    ///
    /// - Parameter losesUnreadable: Whether conflicts that cannot be read are given up.
    /// - Throws: As ``append(_:)``; `unsentChanges` if something could not be sent; `damaged`
    ///   as ``SyncUpdate/keepUnshown(losingUnreadable:)``. Then this device is still a member.
    @discardableResult
    package func leave(
        losingUnreadable losesUnreadable: Bool = false
    ) throws(KeychainFailure) -> UnshownValues {
        try doDuties()
        try readLogs()
        let isSent = try sendPending()
        let isIdle = try keychain.update(Self.leaving) { update in
            KeyScope.allCases.allSatisfy {
                (update.replica?[$0].hasNews == false || self.report.holdsItemsBack)
                    && update.replica?[$0].own.unconfirmed == nil
            }
        }
        guard isSent, isIdle else { throw KeychainFailure.circle(.unsentChanges) }
        try keychain.update(Self.leaving) { (update) throws(KeychainFailure) in
            try update.checkUnshown(losingUnreadable: losesUnreadable)
        }
        let last = try lastMessages()
        try append { _, _ in .leave(last) }
        var values = UnshownValues()
        afterPublishing { () throws(KeychainFailure) in
            values = try forget(losingUnreadable: losesUnreadable)
        }
        return values
    }

    /// Forgets the circle on this device, without a message. Its conflicts become former values.
    /// This device may come back, and then goes on where it was.
    ///
    /// - Throws: As ``SyncUpdate/keepUnshown(losingUnreadable:)``.
    @discardableResult
    func forget(
        losingUnreadable losesUnreadable: Bool
    ) throws(KeychainFailure) -> UnshownValues {
        let circle = circle.circle
        return try keychain.update(Self.leaving) { (update) throws(KeychainFailure) in
            let values = try update.keepUnshown(losingUnreadable: losesUnreadable)
            // The note of the recovery key stays: that key is still a member.
            for name in [NoteName.circle, .roster, .report, .logTimes, .address, .paused] {
                try update.set(name, nil)
            }
            try update.set(.left, circle.bytes)
            return values
        }
    }

    /// The last messages of this device's logs in the store, as its *leave* names them.
    private func lastMessages() throws(KeychainFailure) -> [RosterEntry.LastMessage] {
        let logs = try logs(of: [circle.device])
        return try look { replica in
            logs.compactMap { place in
                let position = replica[place.scope].position(of: place.log)
                guard position.number > 0 else { return nil }
                return RosterEntry.LastMessage(
                    place.scope, MessageName(log: place.log, number: position.number),
                    hash: position.hash)
            }
        }
    }

    /// Chooses between two branches that remove each other's authors: `device` counts as removed
    /// on this device.
    ///
    /// - Returns: false if there is nothing to choose, or the device is not among the authors.
    package func distrust(_ device: DeviceID) throws(KeychainFailure) -> Bool {
        guard !roster.alarm.isEmpty, roster.alarmAuthors.contains(device) else { return false }
        roster.distrust(device)
        try keepRoster()
        return true
    }

    /// Permits a device to replace more values than can be kept, until its messages were read.
    package func accept(_ device: DeviceID) throws(KeychainFailure) {
        report.accepted.insert(device.high)
        let bytes = report.bytes
        try keychain.set(.report, bytes, during: "permit a device to replace values")
    }
}

extension Roster {
    /// The recovery members whose keys were replaced or revoked since they joined: those that
    /// `device` has added, or added before it left and came back, except the one of the present
    /// key. An old paper key must not open the circle any more. Other devices have recovery keys of
    /// their own.
    ///
    /// - Parameters:
    ///   - note: The note ``NoteName/recovery``.
    ///   - present: The public half of the keychain's recovery key; nil if it has none.
    package func staleRecoveryKeys(
        of device: DeviceID, noted note: [UInt8]?, present: [UInt8]?
    ) -> [DeviceID] {
        var reader = ByteReader(note ?? [], of: .member)
        let noted = try? DeviceID(from: &reader)
        let valid = noted.flatMap { id in
            note?.dropFirst(id.bytes.count).elementsEqual(present ?? []) == true ? id : nil
        }
        return acceptedPath.compactMap { entry in
            guard case .add(let member, _) = entry.operation, member.kind == .recovery,
                accepted.members[member.id] != nil, member.id != valid,
                entry.head.signer == device || member.id == noted
            else { return nil }
            return member.id
        }
    }

    package var alarmAuthors: Set<DeviceID> {
        Set(entries.filter { alarm.contains($0.hash) }.map(\.head.signer))
    }
}
