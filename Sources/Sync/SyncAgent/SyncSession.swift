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
    /// The keychain, with its replica.
    package let keychain: SyncedKeychain
    package let store: any SyncStore
    /// The circle, and this device's id in it.
    package let circle: CircleNote
    /// The roster as far as it was read.
    package internal(set) var roster: Roster
    /// The findings of the session so far, for `status`.
    package internal(set) var report = SyncReport()
    /// The report that is in the keychain.
    var keptReport = SyncReport()
    /// Where time and random numbers come from.
    let machine: Machine

    /// The keys of the scopes that are open; empty when the roster or the lock state has changed.
    private(set) var keyrings: [KeyScope: CircleKeyring] = [:]
    private var isLocked = false
    var shelves: [LogPlace: LogShelf] = [:]
    var recent = RecentMessages()
    var rosterShelf = RosterShelf()
    /// The last message of each own log that is known to be in the store.
    var heads: [LogID: LogPosition] = [:]
    /// When the last base was owed because the store had lost messages of the own log.
    var lossTimes: [KeyScope: UInt64] = [:]
    var lasting = LastingTroubles()
    /// The logs that have messages which cannot be read before a base comes.
    var waitingLogs: Set<LogPlace> = []
    var times = LogTimes()
    /// Whether to break off the work, because the agent must end or a command waits for it.
    package var isInterrupted: () -> Bool = { false }

    /// Where time and random numbers come from: tests replace it.
    package struct Machine: Sendable {
        /// Milliseconds since 1970.
        package var milliseconds: @Sendable () -> UInt64
        package var random: @Sendable () -> HedgeBytes
        /// How long one call of the store may take.
        package var storeTime: Duration
        /// How many records a slice of a join has.
        package var sliceCount = 100
        /// How many replaced values are kept.
        package var replacedCount = ReplacedValues.maximalCount

        /// The machine itself.
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
        let notes = try keychain.read(Self.opening) { view in
            try [NoteName.circle, .roster, .report, .logTimes].map { try view[$0] }
        }
        guard let notes, let circle = notes[0], let roster = notes[1] else { return nil }
        do {
            let circle = try CircleNote(parsing: circle)
            let roster = try Roster(try Roster.Kept(parsing: roster), of: circle.circle)
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
        self.keychain = keychain
        self.store = store
        self.circle = circle
        self.roster = roster
        self.machine = machine
    }

    /// Notes a circle that was founded, or that this device may read from now on.
    package static func note(
        _ circle: CircleNote, _ roster: Roster, in update: SyncUpdate
    ) {
        update[.circle] = circle.bytes
        update[.roster] = roster.kept.bytes
    }

    var storeDeadline: Deadline { Deadline(after: machine.storeTime) }

    /// Whether this device is a member now.
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

    /// The facts about the circle that the replica needs.
    func view(isLocked: Bool) -> CircleView {
        let state = roster.accepted
        let devices = Array(state.members.keys) + Array(state.leavers.keys)
        return CircleView(
            readable: Set(
                devices.filter { roster.membership(of: $0) != .none }.map(\.high)),
            isLocked: isLocked)
    }

    /// The scopes that are open now, with their keys.
    package func openScopes() throws(KeychainFailure) -> [KeyScope] {
        let isLocked = try keychain.read(Self.opening) { $0.isLocked } ?? true
        if isLocked != self.isLocked { forgetKeys() }
        self.isLocked = isLocked
        return isLocked ? [.afterFirstUnlock] : [.afterFirstUnlock, .whileUnlocked]
    }

    /// The roster has changed, or the keychain was locked.
    func forgetKeys() { keyrings = [:] }

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
        return try keychain.update(Self.opening) { update in
            try update.withSecret(scope) { secret in
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
            throw KeychainFailure(
                .locked, during: "change the circle",
                hint: "unlock the keychain with `valet unlock`")
        }
        guard let f = f.newest, let u = u.newest else {
            throw KeychainFailure.circle(.noCircleKeys)
        }
        return CircleKeys(epoch: roster.accepted.epoch, f: f.key.copy(), u: u.key.copy())
    }
}

extension CircleKey {
    /// The same key, for another owner.
    func copy() -> CircleKey {
        withBytes { bytes in
            guard let copy = try? CircleKey(copying: bytes) else {
                preconditionFailure("a key has the length of a key")
            }
            return copy
        }
    }
}
