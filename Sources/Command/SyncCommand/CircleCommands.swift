// SPDX-License-Identifier: Apache-2.0

// The verbs that found a circle, leave it, move it, and bring it back: docs/SYNC.md §6.

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetKeys
internal import ValetSealing
internal import ValetSync
internal import ValetSyncAgent
internal import ValetSyncStores
internal import ValetSystem

extension SyncCall {
    // MARK: Founding

    func create() throws(CLIError) {
        let address = try chosenAddress()
        try requireNoCircle()
        let chosen = try openChosen(address)
        let passcode = try passcode()
        try withLock { () throws(CLIError) in
            try requireNoCircle()
            let founder = NewMember(of: .zero)
            let (founded, beginning) = try syncing(found(founder, address))
            try syncing(keepSecrets(of: founder, passcode))
            // If the last step fails, nobody is in the circle that the store has.
            try syncing(founded.publish(in: chosen.remote))
            noteKept(try syncing(keepingPassword(of: chosen, keychain.found(beginning))))
            reportFirstRound(chosen.remote)
        }
        console.note("valet: the circle is founded; this device is called \(quoted(ownName))")
        noteSharedItems(address)
        console.hint(
            "'valet sync invite' lets another device join; 'valet sync run' keeps this "
                + "one up to date")
        console.hint(
            "'valet sync recovery add' lets the recovery key open the circle, which is lost "
                + "with its last device otherwise")
    }

    /// Stores the secrets of a new member. Warns if other programs lose opened keys, or the former
    /// secrets cannot be erased yet.
    func keepSecrets(
        of member: borrowing NewMember, _ passcode: Passcode?
    ) throws(KeychainFailure) {
        let outcome = try member.keepSecrets(in: store, passcode)
        if let cause = outcome.pendingErasure { context.warnOfOldKeys(cause) }
        context.warnOfLockedPrograms(store)
    }

    private func found(
        _ founder: borrowing NewMember, _ address: StoreAddress
    ) throws(KeychainFailure) -> (FoundedCircle, CircleBeginning) {
        let founded = try FoundedCircle(by: founder)
        let note = CircleNote(founded.id, founder.member.id, isFounder: true)
        let names = [note.device: ownName]
        return (founded, CircleBeginning(note, founded.roster, address, names))
    }

    /// Sends the items that the keychain has. Whatever fails is sent later.
    private func reportFirstRound(_ remote: any SyncStore) {
        do throws(KeychainFailure) {
            let outcome = try session(in: remote).round(progress())
            if let failure = outcome.failure { throw failure }
        } catch {
            warn(of: error, "nothing was sent yet")
        }
    }

    func warn(of failure: KeychainFailure, _ consequence: String) {
        let error = CLIError(ofSync: failure)
        console.note("valet: warning: \(consequence): \(error.message)")
        if let hint = error.hint { console.hint(hint) }
    }

    func move() throws(CLIError) {
        let notes = try requireCircle()
        try requireUnlocked()
        try console.requireConsent(
            to: "Found a new circle with the items of this device? The other devices have to join "
                + "it anew.", isGiven: options.isAgreed)
        let remote = try syncing(open(notes.address))
        let passcode = try passcode()
        let name = notes.names[notes.circle.device] ?? ownName
        try withLock { () throws(CLIError) in
            let old = try syncing(session(in: remote))
            // Messages that cannot be read any more are lost with the old circle. The command goes
            // on without them, because it is the last way out.
            if let failure = old.round(progress()).failure {
                warn(of: failure, "not everything in the old circle could be read")
            }
            let founder = NewMember(of: .zero)
            var (founded, beginning) = try syncing(found(founder, notes.address))
            beginning.names[beginning.note.device] = name
            try syncing(founded.publish(in: remote))
            // Comes before the move, after which this device writes nothing into the old circle.
            try announceMove(by: name, old)
            try takingBackMove(old) { () throws(KeychainFailure) in
                let unfinished = try keychain.move(beginning) { () throws(KeychainFailure) in
                    try keepSecrets(of: founder, passcode)
                }
                if let unfinished { warn(of: unfinished, Self.unfinished) }
            }
            forgetMove(of: notes.circle.circle)
            reportFirstRound(remote)
        }
        console.note("valet: the new circle is founded")
        console.hint(
            "on each other device: 'valet sync leave --here', then 'valet sync join'; here: 'valet "
                + "sync invite'. 'valet sync status' says so there, too")
    }

    /// Tells the other devices of the circle of `session` that this one goes on in a new circle.
    private func announceMove(by name: String, _ session: SyncSession) throws(CLIError) {
        try syncing(announceMove(of: session.circle.circle, by: name))
        if let failure = session.round().failure {
            warn(of: failure, "the other devices were not told")
        }
    }

    /// Runs `body`, which moves this device out of the circle of `session`. If it fails, tells the
    /// other devices that this one stays.
    private func takingBackMove(
        _ session: SyncSession, _ body: () throws(KeychainFailure) -> Void
    ) throws(CLIError) {
        do throws(KeychainFailure) {
            try body()
        } catch {
            let isForgotten = forgetMove(of: session.circle.circle)
            if isForgotten, let failure = session.round().failure {
                warn(
                    of: failure,
                    "the other devices may read that this one goes on in a new circle, until the "
                        + "next round")
            }
            throw CLIError(ofSync: error)
        }
    }

    // MARK: Leaving

    func leave() throws(CLIError) {
        guard !values.has(SyncHelp.leaveHere) else { return try leaveHere() }
        let notes = try requireCircle()
        try requireUnlocked()
        try console.requireConsent(
            to: "Take this device out of the circle? Its items stay.", isGiven: options.isAgreed)
        let (isForgotten, unshown) = try withSession { (session, _) throws(CLIError) in
            guard session.roster.accepted.members.count > 1 else {
                throw CLIError(
                    .failure, "this device is the last one of the circle",
                    hint: "'valet sync leave --here' gives the circle up: nobody can join it then")
            }
            let unshown = try syncing(session.leave(losingUnreadable: skipsDamaged))
            return (session.unfinished == nil, unshown)
        }
        noteLeaving(notes, isForgotten: isForgotten)
        note(unshown)
    }

    /// - Parameter isForgotten: If not, the next round needs the password.
    func noteLeaving(_ notes: Notes, isForgotten: Bool) {
        console.note("valet: this device has left the circle; its items stay")
        if isForgotten { forgetPassword(of: notes.address) }
    }

    private var skipsDamaged: Bool { values.has(SyncHelp.skipDamaged) }

    private func leaveHere() throws(CLIError) {
        let notes = try notesToForget()
        try console.requireConsent(
            to: "Forget the circle on this device? The other devices are not told.",
            isGiven: options.isAgreed)
        let unshown = try withLock { () throws(CLIError) in
            try syncing(keychain.end("forget the circle", losingUnreadable: skipsDamaged))
        }
        console.note("valet: this device has forgotten the circle; its items stay")
        note(unshown)
        guard let notes else { return }
        console.hint("remove it on another device: 'valet sync devices remove'")
        forgetMove(of: notes.circle.circle)
        forgetPassword(of: notes.address)
    }

    /// What names the circle that is forgotten; nil if this device has left it, or the notes are
    /// damaged.
    private func notesToForget() throws(CLIError) -> Notes? {
        do throws(KeychainFailure) {
            if let notes = try notes() { return notes }
            guard try keychain.note(.left, during: "look for a circle") == nil else { return nil }
        } catch {
            guard error.code == .damaged else { throw CLIError(ofSync: error) }
            return nil
        }
        return try requireCircle()
    }

    private func note(_ unshown: UnshownValues) {
        noteKept(unshown.kept)
        guard unshown.unreadable > 0 else { return }
        console.note("valet: warning: values that could not be read: \(unshown.unreadable)")
    }

    /// Says what became of values that only the circle had.
    func noteKept(_ count: Int) {
        guard count > 0 else { return }
        let values = count == 1 ? "1 value" : "\(count) values"
        console.note("valet: \(values) of the circle that no item shows: see 'valet history'")
    }

    // MARK: Recovery

    func addRecoveryKey() throws(CLIError) {
        _ = try requireCircle()
        try requireUnlocked()
        let status = try syncing(store.keychain.status())
        guard status.hasRecoveryKey else {
            throw CLIError(
                .failure, "the keychain has no recovery key",
                hint: "'valet recovery create' makes one")
        }
        let key = try recoveryKey { (text) throws(KeychainFailure) in
            try store.keychain.checkRecoveryKey(text)
        }
        let circle = try withSession { (session, _) throws(CLIError) in
            let member = NewMember(key, of: session.circle.circle).member
            try update("name the recovery key") { (update) throws(KeychainFailure) in
                try update.setName("recovery key", of: member.id)
            }
            try syncing(session.admitRecoveryKey(member))
            return session.circle.circle
        }
        console.note("valet: the recovery key opens the circle")
        console.note("valet: write the id of the circle onto the paper, too: \(circle.text)")
    }

    /// Asks for the recovery key.
    ///
    /// - Parameter check: Throws `authenticationFailed` for a wrong key.
    private func recoveryKey(
        checkedBy check: (borrowing SecretBytes) throws(KeychainFailure) -> Void = { _ in }
    ) throws(CLIError) -> RecoveryKey {
        try context.answer(
            naming: "recovery key", "The recovery key: 40 characters; hyphens do not matter.",
            SyncOptions.recoveryKeyDescriptor, in: values
        ) { (answer) throws(CLIError) in
            do throws(KeychainFailure) {
                try check(answer)
            } catch {
                guard error.code == .authenticationFailed else { throw CLIError(error) }
                return .refused(CLIError(.denied, error.message))
            }
            do {
                return .accepted(
                    try answer.withBytes { (bytes) throws(KeychainFailure) in
                        try RecoveryKey(parsing: bytes)
                    })
            } catch {
                return .refused(CLIError(.denied, "\(error)"))
            }
        }
    }

    func recover() throws(CLIError) {
        let address = try chosenAddress()
        try requireNoCircle()
        let chosen = try openChosen(address)
        let key = try recoveryKey()
        let foreign = try circleToRecover(with: key, in: chosen.remote)
        console.note(
            "valet: circle \(foreign.circle.text), last changed \(dateText(foreign.milliseconds))")
        try console.requireConsent(
            to: "Join this circle with the recovery key? If that is too long ago, the store shows "
                + "an old state.", isGiven: options.isAgreed)
        let kept = try keptDevices(among: foreign)
        let passcode = try passcode()
        try withLock { () throws(CLIError) in
            try requireNoCircle()
            let newcomer = NewMember(of: foreign.circle)
            let recovery = NewMember(key, of: foreign.circle)
            try syncing(keepSecrets(of: newcomer, passcode))
            let roster = try syncing(admit(newcomer, by: recovery, foreign, chosen.remote))
            let note = CircleNote(foreign.circle, newcomer.member.id, isFounder: false)
            let names = [note.device: ownName, recovery.member.id: "recovery key"]
            try begin(CircleBeginning(note, roster, address, names), in: chosen)
            let others = roster.accepted.members.values.map(\.member).filter {
                $0.kind == .device && $0.id != note.device
            }
            try removeLost(others.map(\.id).filter { !kept.contains($0) }, in: chosen.remote)
        }
    }

    /// Begins in the circle that has admitted this device.
    ///
    /// - Throws: ``CLIError`` that says that the circle has it as a member nevertheless.
    func begin(_ beginning: CircleBeginning, in chosen: ChosenStore) throws(CLIError) {
        do throws(KeychainFailure) {
            noteKept(try keepingPassword(of: chosen, keychain.join(beginning)))
        } catch {
            let error = CLIError(ofSync: error)
            throw CLIError(
                error.code, "the circle has admitted this device, but \(error.message)",
                hint: (error.hint.map { "\($0); " } ?? "")
                    + "remove it on another device, 'valet sync devices remove', and join anew")
        }
        console.note("valet: this device has joined the circle")
    }

    /// Reads the circle, and removes the devices that are lost, after a yes.
    private func removeLost(_ lost: [DeviceID], in remote: any SyncStore) throws(CLIError) {
        var isRead = false
        do throws(CLIError) {
            let session = try readAll(in: remote)
            isRead = true
            try removeOthers(lost, session)
        } catch {
            guard lost.isEmpty else {
                let devices = lost.map { String($0.text.prefix(8)) }.joined(separator: ", ")
                throw CLIError(
                    error.code,
                    "this device has joined, but these devices are still members: \(devices): "
                        + error.message,
                    hint: "'valet sync devices remove' removes them")
            }
            console.afterEffect { () throws(CLIError) in throw error }
        }
        try offerItemsOfJoined(isRead: isRead)
    }

    private func readAll(in remote: any SyncStore) throws(CLIError) -> SyncSession {
        let session = try syncing(session(in: remote))
        try syncing(session.readRoster())
        try syncing(session.readLogs(progress()))
        let newest = session.report.devices.values.map(\.lastSeen).max()
        console.note(
            newest.map { "valet: its newest message was written \(dateText($0))" }
                ?? "valet: the circle has no message that opens")
        return session
    }

    /// The devices that '--keep' names.
    private func keptDevices(among roster: Roster) throws(CLIError) -> Set<DeviceID> {
        let devices = roster.accepted.members.values.map(\.member)
            .filter { $0.kind == .device }.map(\.id)
        var kept: Set<DeviceID> = []
        for word in (values[SyncHelp.keep] ?? "").split(separator: ",") {
            kept.insert(try device(String(word), among: devices, [:]))
        }
        return kept
    }

    private func removeOthers(
        _ removed: [DeviceID], _ session: SyncSession
    ) throws(CLIError) {
        guard !removed.isEmpty else { return }
        for id in removed { console.note("valet: device \(id.text)") }
        do {
            try console.requireConsent(
                to: "Remove these devices, which you do not have any more?",
                isGiven: options.isAgreed)
        } catch {
            console.hint("'valet sync devices remove' removes them later")
            return
        }
        _ = try syncing(session.remove(removed))
        warnOfUnfinished(session)
    }

    private func circleToRecover(
        with key: borrowing RecoveryKey, in remote: any SyncStore
    ) throws(CLIError) -> Roster {
        let deadline = Deadline(after: .seconds(120))
        guard let text = values[SyncHelp.circle] else {
            throw CLIError.usage("'--circle' is missing", hint: Self.circleHint)
        }
        guard let id = CircleID(text: text) else {
            throw CLIError.usage("'--circle' does not take \(quoted(text))", hint: Self.circleHint)
        }
        try syncing(remote.check(id, by: deadline))
        let recovery = NewMember(key, of: id)
        guard let foreign = try syncing(Roster(of: id, in: remote, by: deadline)),
            foreign.has(recovery)
        else {
            throw CLIError(
                .notFound, "this recovery key does not open the circle",
                hint: "'valet sync recovery add' had to be used before the devices were lost")
        }
        return foreign
    }

    private static let circleHint =
        "it has 32 hexadecimal digits, which 'valet sync recovery add' has shown; in a folder they "
        + "name a folder in 'valet-1'"

    private func admit(
        _ newcomer: borrowing NewMember, by recovery: borrowing NewMember,
        _ foreign: Roster, _ remote: any SyncStore
    ) throws(KeychainFailure) -> Roster {
        var foreign = foreign
        for _ in 0..<5 {
            if let roster = try foreign.admit(newcomer, by: recovery, in: remote) { return roster }
            let again = try Roster(
                of: foreign.circle, in: remote, by: Deadline(after: .seconds(60)))
            guard let again else { break }
            foreign = again
        }
        throw .circle(.rosterInMotion)
    }
}

extension NewMember {
    /// The recovery member of a circle.
    fileprivate init(_ key: borrowing RecoveryKey, of circle: CircleID) {
        self.init(
            .recovery, key.syncSecret(.afterFirstUnlock), key.syncSecret(.whileUnlocked), circle)
    }
}
