// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
package import ValetSync
internal import ValetSystem

/// A keychain and the store of its circle, for one process that holds ``SyncLock``. The agent runs
/// ``round()`` again and again; commands use its steps one by one.
///
/// The steps are in the files beside this one: `RosterSteps` reads and extends the roster,
/// `LogShelf` and `ReadingSteps` take in messages, `WritingSteps` and `BaseSteps` write them.
package final class SyncSession {
    package let keychain: SyncedKeychain
    package let store: any SyncStore
    package let circle: CircleNote
    package internal(set) var roster: Roster
    package internal(set) var report = SyncReport()
    /// The report that is in the keychain.
    var keptReport = SyncReport()
    let machine: Machine

    /// The keys of the scopes that are open; empty when the roster or the lock state has changed.
    var keyrings: [KeyScope: CircleKeyring] = [:]
    private var isLocked = false
    var shelves: [LogPlace: LogShelf] = [:]
    var recent = RecentMessages()
    var rosterShelf = RosterShelf()
    /// For each own log, the last message that is known to be in the store.
    var heads: [LogID: LogPosition] = [:]
    /// For each scope, when a base last became due because the store had lost messages of the own
    /// log.
    var lossTimes: [KeyScope: UInt64] = [:]
    var lasting = LastingTroubles()
    /// The logs that have messages which cannot be read before a base comes.
    var waitingLogs: Set<LogPlace> = []
    var times = LogTimes()
    /// The first failure after the store had taken an entry of this session: the circle is changed,
    /// and the next round does the rest. Commands warn about it.
    package internal(set) var unfinished: KeychainFailure?
    /// Whether to break off the work, because the agent must end or a command waits for the lock.
    package var isInterrupted: () -> Bool = { false }

    /// Where time and random numbers come from: tests replace it.
    package struct Machine: Sendable {
        /// Milliseconds since 1970.
        package var milliseconds: @Sendable () -> UInt64
        package var random: @Sendable () -> HedgeBytes
        package var storeTime: Duration
        package var sliceCount = 100
        package var replacedCount = 65_536

        package static var own: Machine {
            Machine(
                milliseconds: { UInt64(max(0, WallClock.nanoseconds / 1_000_000)) },
                random: { .random() }, storeTime: .seconds(60))
        }
    }

    /// Begins with the notes in the keychain.
    ///
    /// - Returns: Nil if the keychain is in no circle.
    /// - Throws: ``KeychainFailure``: `locked` before the first unlock, `damaged` for a note that
    ///   cannot be read.
    package static func open(
        _ keychain: SyncedKeychain, _ store: any SyncStore, _ machine: Machine = .own
    ) throws(KeychainFailure) -> SyncSession? {
        try keychain.finishMove(machine)
        let notes = try keychain.notes(
            .circle, .roster, .report, .logTimes, during: Self.opening)
        guard let notes, let circle = notes[0], let roster = notes[1] else { return nil }
        do {
            let circle = try CircleNote(parsing: circle)
            let roster = try Roster(parsing: roster, of: circle.circle)
            let session = SyncSession(keychain, store, circle, roster, machine)
            session.report = SyncReport(lastOf: notes[2] ?? [])
            session.keptReport = session.report
            session.times = LogTimes(parsing: notes[3] ?? [])
            return session
        } catch {
            throw KeychainFailure(
                .damaged, during: Self.opening, message: "\(error)",
                hint: "`valet sync leave --here`, then join the circle anew")
        }
    }

    static let opening = "open the circle"

    private init(
        _ keychain: SyncedKeychain, _ store: any SyncStore, _ circle: CircleNote,
        _ roster: Roster, _ machine: Machine
    ) {
        (self.keychain, self.store, self.circle) = (keychain, store, circle)
        (self.roster, self.machine) = (roster, machine)
    }

    var storeDeadline: Deadline { Deadline(after: machine.storeTime) }

    package var isMember: Bool {
        if case .member = roster.membership(of: circle.device) { return true }
        return false
    }

    /// Runs between two steps of long work. Breaking off keeps the finished steps.
    ///
    /// - Throws: ``KeychainFailure/Code/roundInterrupted``.
    func checkpoint() throws(KeychainFailure) {
        if isInterrupted() { throw KeychainFailure.circle(.roundInterrupted) }
    }

    // MARK: Keys

    func view(isLocked: Bool) -> CircleView {
        let state = roster.accepted
        let devices = Array(state.members.keys) + Array(state.leavers.keys)
        return CircleView(
            readable: Set(devices.filter { roster.membership(of: $0) != .none }.map(\.high)),
            isLocked: isLocked)
    }

    /// The scopes that are open now, with their keys.
    package func openScopes() throws(KeychainFailure) -> [KeyScope] {
        let isLocked = try keychain.read(Self.opening) { $0.isLocked } ?? true
        if isLocked != self.isLocked { keyrings = [:] }
        self.isLocked = isLocked
        return isLocked ? [.afterFirstUnlock] : [.afterFirstUnlock, .whileUnlocked]
    }

    /// The circle's keys of a scope; nil if the scope is closed.
    func keyring(_ scope: KeyScope) throws(KeychainFailure) -> CircleKeyring? {
        if let known = keyrings[scope] { return known }
        let made = try withIdentity(scope) { CircleKeyring(roster, for: circle.device, $0) }
        keyrings[scope] = made
        for liar in made?.liars ?? [] { report.add(.unequalKeys, device: liar) }
        return made
    }

    /// Lends the pairs of keys of this device in a scope; nil if the scope is closed.
    package func withIdentity<R>(
        _ scope: KeyScope, _ body: (borrowing ScopeIdentity) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        let circleOfKeys = circle.circleOfKeys
        return try keychain.update(Self.opening) { (update) throws(KeychainFailure) in
            try update.withSecret(scope) { (secret) throws(KeychainFailure) in
                try body(ScopeIdentity(secret, scope, circle: circleOfKeys))
            }
        }
    }

    /// The key of the circle under which messages of a scope are sealed now.
    ///
    /// - Throws: ``KeychainFailure``: `noCircleKeys`.
    func newestKey(in scope: KeyScope) throws(KeychainFailure) -> CircleKeyring.Held {
        guard let key = try keyring(scope)?.newest else {
            throw KeychainFailure.circle(.noCircleKeys)
        }
        return key
    }

    /// Both keys under which messages are sealed now, to make an entry of the roster.
    ///
    /// - Throws: ``KeychainFailure``: `locked`; `noCircleKeys` if nobody gave them to this device.
    package func newestKeys() throws(KeychainFailure) -> CircleKeys {
        guard let f = try keyring(.afterFirstUnlock), let u = try keyring(.whileUnlocked) else {
            throw KeychainFailure.lockedCircle
        }
        guard let f = f.newest, let u = u.newest else {
            throw KeychainFailure.circle(.noCircleKeys)
        }
        return CircleKeys(epoch: roster.accepted.epoch, f: f.key.copy(), u: u.key.copy())
    }
}

extension CircleKey {
    func copy() -> CircleKey {
        withBytes { bytes in
            guard let copy = try? CircleKey(copying: bytes) else {
                preconditionFailure("a key has the length of a key")
            }
            return copy
        }
    }
}

/// The keys of a circle that this device can open in one scope: the keys in its boxes in the
/// roster, and those of earlier epochs, which each key change seals under the new keys:
/// docs/SYNC.md §3.4.
///
/// It has the keys of lost branches, too: messages under them are still read.
package struct CircleKeyring: Sendable {
    /// A key that several owners may hold.
    package final class Held: Sendable {
        package let key: CircleKey

        init(_ key: consuming CircleKey) { self.key = key }
    }

    /// The current key; nil if no member has given it to this device.
    package let newest: Held?
    /// The signers of entries that gave this device a key that does not open, or does not match the
    /// commitment of its epoch.
    package let liars: Set<DeviceID>
    private let keys: [KeyID: Held]

    /// The key that a message names; nil if this device does not have it.
    package subscript(id: KeyID) -> Held? { keys[id] }

    /// Opens the keys in `roster` that `identity`, of the member `device`, can open.
    package init(_ roster: Roster, for device: DeviceID, _ identity: borrowing ScopeIdentity) {
        var opening = KeyOpening(roster.entries, circle: roster.circle)
        opening.openBoxes(of: device, identity)
        opening.openFormer(identity.scope)
        newest = opening.epochEntry(from: roster.acceptedHash).flatMap { opening.keys[$0.hash] }
        liars = opening.liars
        var keys: [KeyID: Held] = [:]
        for held in opening.keys.values { keys[held.key.id] = held }
        self.keys = keys
    }
}

private struct KeyOpening {
    private let entries: [RosterEntry]
    private let byHash: [SyncHash: RosterEntry]
    private let circle: CircleID
    /// The key that each entry hands out, by the entry's hash.
    private(set) var keys: [SyncHash: CircleKeyring.Held] = [:]
    private(set) var liars: Set<DeviceID> = []

    init(_ entries: [RosterEntry], circle: CircleID) {
        self.entries = entries.sorted { $0.head.number > $1.head.number }
        byHash = Dictionary(uniqueKeysWithValues: entries.map { ($0.hash, $0) })
        self.circle = circle
    }

    mutating func openBoxes(of device: DeviceID, _ identity: borrowing ScopeIdentity) {
        for entry in entries {
            guard let wraps = entry.operation.wraps, wraps.devices.contains(device) else {
                continue
            }
            do {
                keys[entry.hash] = CircleKeyring.Held(
                    try wraps.key(for: device, identity, in: entry.head))
            } catch {
                liars.insert(entry.head.signer)
            }
        }
    }

    /// Goes from the latest entries to the first, so that each key opens the one before.
    mutating func openFormer(_ scope: KeyScope) {
        for entry in entries {
            guard let held = keys[entry.hash], let parent = byHash[entry.head.parent],
                let before = epochEntry(from: parent.hash), keys[before.hash] == nil
            else { continue }
            switch entry.operation {
            case .add: keys[before.hash] = held
            case .remove(_, let wraps, let former), .rotate(let wraps, let former):
                guard let commitments = before.operation.wraps?.commitments else { continue }
                do {
                    keys[before.hash] = CircleKeyring.Held(
                        try former.key(
                            of: scope, under: held.key, circle: circle, epoch: wraps.epoch,
                            commitments: commitments))
                } catch {
                    liars.insert(entry.head.signer)
                }
            case .create, .leave: continue
            }
        }
    }

    /// The entry that made the keys in use after the entry `hash`.
    func epochEntry(from hash: SyncHash) -> RosterEntry? {
        var next = byHash[hash]
        while let entry = next {
            switch entry.operation {
            case .create, .remove, .rotate: return entry
            case .add, .leave: next = byHash[entry.head.parent]
            }
        }
        return nil
    }
}

/// One round of sync: reads everything, writes everything that is new, and determines the state.
/// The agent and `valet sync once` run it.
extension SyncSession {
    /// Reads roster and logs, writes what is pending, and keeps the report in the keychain.
    ///
    /// A failure of the store or of the keychain ends the round and determines its state. It is not
    /// thrown, because the next round goes on.
    ///
    /// - Returns: The state, and why the round ended early.
    @discardableResult
    package func round(
        _ progress: () -> Void = {}
    ) -> (state: SyncState, failure: KeychainFailure?) {
        report.beginRound(at: machine.milliseconds(), self: circle.device)
        unfinished = nil
        var failure: KeychainFailure?
        var state = SyncState.current
        do {
            state = try work(progress)
        } catch {
            guard error.code != .roundInterrupted else {
                // The report of an interrupted round is incomplete.
                report = keptReport
                return (report.state, error)
            }
            failure = error
            state = SyncState(of: error)
            if error.code == .noCircleKeys { report.add(.noKeys) }
            // The lock state cannot be read before the first unlock. If it can, the keychain is
            // only locked.
            let isLocked = try? keychain.read(Self.opening) { $0.isLocked }
            if state == .closed, isLocked != nil { state = .locked }
        }
        // The keychain has forgotten the circle, and with it the report.
        guard state != .off else { return (state, nil) }
        report.state = state
        do {
            try keepReport()
        } catch {
            failure = failure ?? error
        }
        return (state, failure)
    }

    func keep(_ state: SyncState) throws(KeychainFailure) {
        report.state = state
        try keepReport()
    }

    /// Keeps the report in the keychain if it says something new. A write would wake the agent
    /// again, and a quiet circle is quiet.
    private func keepReport() throws(KeychainFailure) {
        var known = keptReport
        known.milliseconds = report.milliseconds
        let isOld =
            report.milliseconds > keptReport.milliseconds
            && report.milliseconds - keptReport.milliseconds > 600_000
        guard known.bytes != report.bytes || isOld else { return }
        let bytes = report.bytes
        try keychain.set(.report, bytes, during: Self.opening)
        keptReport = report
    }

    private func work(_ progress: () -> Void) throws(KeychainFailure) -> SyncState {
        // Drops the keyrings if the keychain has been locked. Comes before the store is asked,
        // which may take long.
        _ = try openScopes()
        try store.check(circle.circle, by: storeDeadline)
        try readRoster()
        guard roster.alarm.isEmpty else { return .alarm }
        if case .left = roster.membership(of: circle.device) {
            // `leave` was broken off after its entry. What it could not read stays in the replica.
            try forget(losingUnreadable: true)
            return .off
        }
        guard isMember else { return .removed }
        let scopes = try openScopes()
        if scopes.contains(.whileUnlocked) {
            try doDuties()
            try removeStaleRecoveryKeys()
        }
        try readLogs(progress)
        // A locked device has not read the messages that the user has accepted.
        if scopes.contains(.whileUnlocked) { report.endAcceptance(except: waitingLogs) }
        let isSent = try sendPending()
        for scope in try openScopes() where try isBaseDue(scope) { try sendBase(scope) }
        try tidy()
        return try state(after: scopes, isSent: isSent)
    }

    private func state(after scopes: [KeyScope], isSent: Bool) throws(KeychainFailure) -> SyncState
    {
        let kinds = Set(report.troubles.map(\.kind))
        if kinds.contains(.undecided) { return .alarm }
        if kinds.contains(.newer) { return .newer }
        let isWaiting = !kinds.isDisjoint(with: SyncReport.waitingKinds)
        let hasNews = try look { replica in
            scopes.contains { replica[$0].hasNews || replica[$0].own.unconfirmed != nil }
        }
        if try !hasJoined(scopes) { return .joining }
        let hasGap = waitingLogs.contains { shelves[$0] != nil && scopes.contains($0.scope) }
        if isWaiting || hasGap || hasNews && !report.holdsItemsBack || !isSent { return .waiting }
        return scopes.contains(.whileUnlocked) ? .current : .locked
    }

    /// Whether this device has read everything that its sponsor had read when it admitted this
    /// device: docs/SYNC.md §6, step 7. In each open scope, the table of the sponsor's first
    /// message that names the admission or a later entry says what the sponsor had read. A recovery
    /// key writes no messages: a device that it has admitted has joined with its first round.
    private func hasJoined(_ scopes: [KeyScope]) throws(KeychainFailure) -> Bool {
        if circle.isFounder || report.hasJoined { return true }
        let admission = roster.acceptedPath.first(where: admits)
        if let signer = admission?.head.signer, roster.signers[signer]?.kind == .recovery {
            report.hasJoined = true
            return true
        }
        let targets = report.joinTargets
        report.hasJoined = try look { replica in
            scopes.allSatisfy { scope in
                targets[scope].map { replica[scope].missing(in: [$0]).isEmpty } ?? false
            }
        }
        return report.hasJoined
    }

    /// Notes a message whose table says how far this device has to read before it has joined.
    func noteJoinTarget(_ message: VerifiedMessage, _ table: LogTable) {
        let scope = message.header.scope
        guard !report.hasJoined, report.joinTargets[scope] == nil,
            let admission = roster.acceptedPath.first(where: admits),
            roster.isAncestor(admission.hash, of: message.header.roster)
        else { return }
        let isSponsorHere = roster.accepted.members[admission.head.signer] != nil
        guard !isSponsorHere || message.header.device == admission.head.signer else { return }
        report.joinTargets[scope] = table
    }

    private func admits(_ entry: RosterEntry) -> Bool {
        guard case .add(let member, _) = entry.operation else { return false }
        return member.id == circle.device
    }
}

extension SyncState {
    package init(of error: KeychainFailure) {
        switch error.code {
        case .storeUnavailable, .storeTimedOut, .storeOutcomeUnknown, .storeMalformed,
            .badStoreAddress:
            self = .unavailable
        case .storeDenied: self = .denied
        case .storeFull: self = .full
        case .locked: self = .closed
        case .notAMember: self = .removed
        case .undecidedRoster: self = .alarm
        default: self = .waiting
        }
    }
}
