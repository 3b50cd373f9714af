// SPDX-License-Identifier: Apache-2.0

// `valet sync invite` and `valet sync join`: both show four words, and a person compares them.

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
    private static let lifetime = Duration.seconds(600)
    /// How long the joiner waits for its admission once the sponsor's mails were deleted: a folder
    /// may show files in another order than they were written.
    private static let grace = Duration.seconds(60)

    /// How many times the joiner looks for the names of the other devices. It can do without them.
    private static let lookCount = 4

    // MARK: The sponsor

    func invite() throws(CLIError) {
        try requirePerson()
        let notes = try requireCircle()
        try requireUnlocked()
        let offer = try withSession { (session, _) throws(CLIError) in
            guard session.isMember else { throw CLIError(ofSync: .circle(.notAMember)) }
            guard session.roster.alarm.isEmpty else {
                throw CLIError(ofSync: .circle(.undecidedRoster))
            }
            guard session.hasRoom else { throw CLIError(ofSync: .circle(.circleIsFull)) }
            return session.offer
        }
        let invitation = Invitation(
            random: SecretBytes(
                randomByteCount: CheckedText.invitation.payloadCount, for: .keys))
        let text = invitation.text
        var sponsor = InvitationSponsor(invitation, offer, in: try syncing(open(notes.address)))
        let limit = BootLimit(after: Self.lifetime)
        try syncing(sponsor.begin())
        do {
            try show(text)
            let request = try meet(&sponsor, limit)
            try admit(request, &sponsor)
            sponsor.end()
        } catch {
            sponsor.end()
            throw error
        }
    }

    private func show(_ text: borrowing SecretBytes) throws(CLIError) {
        try text.withBytes { (bytes) throws(CLIError) in try console.write(bytes) }
        try console.write("\n")
        if console.isOutputTerminal, let code = QRCode.text(of: text) { try console.write(code) }
        console.note(
            "valet: type this into 'valet sync join' on the other device, within ten minutes")
    }

    private func meet(
        _ sponsor: inout InvitationSponsor, _ limit: BootLimit
    ) throws(CLIError) -> InvitationRequest {
        let request = try limit.poll("no device has joined in time") { () throws(KeychainFailure) in
            try sponsor.request()
        }
        let words = try syncing(sponsor.open())
        console.note("valet: a device that calls itself \(quoted(request.name)) wants to join")
        guard try isSame(words) else { throw CLIError(.denied, "nobody joined") }
        console.note("valet: waiting for the answer on the other device")
        let answer = try limit.poll(
            "the other device has not answered in time: nobody joined"
        ) { () throws(KeychainFailure) in try sponsor.answer() }
        guard answer else {
            throw CLIError(.denied, "the answer on the other device was no: nobody joined")
        }
        return request
    }

    private func isSame(_ words: [String]) throws(CLIError) -> Bool {
        console.note("valet: compare with the other device:")
        console.note("\n    \(words.joined(separator: " "))\n")
        return try console.confirm(
            "Does the other device show the same four words?", within: Self.lifetime)
    }

    private func admit(
        _ request: InvitationRequest, _ sponsor: inout InvitationSponsor
    ) throws(CLIError) {
        try withSession { (session, notes) throws(CLIError) in
            let device = session.circle.device
            let known = notes.names.filter { session.roster.accepted.members[$0.key] != nil }
            let names = InvitationNames(
                known.merging([device: known[device] ?? ownName]) { old, _ in old },
                sponsor: device)
            try syncing(sponsor.send(names, of: session))
            try update("name a device") { (update) throws(KeychainFailure) in
                try update.setName(request.name, of: request.member.id)
            }
            try syncing(session.admit(request.member))
        }
        console.note("valet: \(quoted(request.name)) has joined the circle")
    }

    // MARK: The joiner

    func join() throws(CLIError) {
        let address = try chosenAddress()
        try requireNoCircle()
        try requirePerson()
        let chosen = try openChosen(address)
        let remote = chosen.remote
        let passcode = try passcode()
        var joiner = InvitationJoiner(try invitation(), in: remote)
        let limit = BootLimit(after: Self.lifetime)
        let beginning: CircleBeginning
        do {
            let offer = try awaitOffer(&joiner, limit)
            let newcomer = NewMember(of: offer.circle)
            try syncing(joiner.send(InvitationRequest(newcomer.member, name: ownName)))
            try compareWords(&joiner, limit)
            try syncing(keepSecrets(of: newcomer, passcode))
            try syncing(joiner.answer(isSame: true))
            let roster = try awaitAdmission(newcomer.member.id, offer, joiner, remote, limit)
            var names = namesOfOthers(roster, offer, joiner)
            names[newcomer.member.id] = ownName
            let note = CircleNote(offer.circle, newcomer.member.id, isFounder: false)
            beginning = CircleBeginning(note, roster, address, names)
        } catch {
            joiner.end(isJoined: false)
            throw error
        }
        // From here on the circle has this device as a member.
        joiner.end(isJoined: true)
        try withLock { () throws(CLIError) in
            try begin(beginning, in: chosen)
            try readFirstRound(chosen.remote)
        }
        noteSharedItems(address)
        console.hint("'valet sync run' keeps it up to date; 'valet sync status' shows its progress")
    }

    /// The invitation, as a person types it or a descriptor supplies it.
    private func invitation() throws(CLIError) -> Invitation {
        try context.answer(
            naming: "invitation",
            "The invitation that the other device shows: 34 characters; hyphens do not matter.",
            SyncHelp.invitationDescriptor, in: values
        ) { (answer) throws(CLIError) in
            do throws(KeychainFailure) {
                return .accepted(
                    try answer.withBytes { (bytes) throws(KeychainFailure) in
                        try Invitation(parsing: bytes)
                    })
            } catch {
                return .refused(
                    CLIError(
                        .denied,
                        error.code == .newerFormat
                            ? "not an invitation, or one of a later version" : error.message))
            }
        }
    }

    private func awaitOffer(
        _ joiner: inout InvitationJoiner, _ limit: BootLimit
    ) throws(CLIError) -> InvitationOffer {
        if let offer = try syncing(joiner.offer()) { return offer }
        console.note("valet: waiting for the other device's message in the store")
        return try limit.poll(
            "the store has shown no message of the other device in time"
        ) { () throws(KeychainFailure) in try joiner.offer() }
    }

    private func compareWords(
        _ joiner: inout InvitationJoiner, _ limit: BootLimit
    ) throws(CLIError) {
        let words = try limit.poll("the other device has not answered in time") {
            () throws(KeychainFailure) in
            if let words = try joiner.words() { return words }
            if try joiner.isWithdrawn() { throw .circle(.invitationWithdrawn) }
            return nil
        }
        guard try isSame(words) else {
            try syncing(joiner.answer(isSame: false))
            throw CLIError(.denied, "this device has not joined")
        }
    }

    /// Waits until the roster has this device. No part of the roster is read before the user says
    /// yes.
    private func awaitAdmission(
        _ device: DeviceID, _ offer: InvitationOffer, _ joiner: borrowing InvitationJoiner,
        _ remote: any SyncStore, _ limit: BootLimit
    ) throws(CLIError) -> Roster {
        console.note("valet: waiting for the answer on the other device")
        var end: Deadline?
        return try limit.poll("the other device has not answered in time") {
            () throws(KeychainFailure) in
            let foreign = try Roster(
                of: offer.circle, in: remote, by: Deadline(after: .seconds(60)))
            if let foreign, foreign.admits(device, after: offer) { return foreign }
            if end == nil, try joiner.isWithdrawn() { end = Deadline(after: Self.grace) }
            if end?.hasPassed == true { throw .circle(.invitationWithdrawn) }
            return nil
        }
    }

    /// What the sponsor calls the devices of the circle; empty if its program sends no names, or
    /// they cannot be read.
    private func namesOfOthers(
        _ roster: Roster, _ offer: InvitationOffer, _ joiner: borrowing InvitationJoiner
    ) -> [DeviceID: String] {
        guard let sponsor = roster.accepted.members[offer.sponsor]?.member else { return [:] }
        for _ in 0..<Self.lookCount {
            do {
                if let names = try joiner.names(of: sponsor) { return names }
            } catch {
                warn(of: error, "the names of the other devices could not be read")
                return [:]
            }
            _ = Deadline(after: .seconds(1)).sleep(atMost: BootLimit.interval)
        }
        return [:]
    }

    /// Reads the circle for the first time, and sends items that it lacks if the user agrees.
    private func readFirstRound(_ remote: any SyncStore) throws(CLIError) {
        var session: SyncSession?
        var isRead = false
        console.afterEffect { () throws(CLIError) in
            session = try syncing(self.session(in: remote))
            let outcome = session?.round(progress()) ?? (.off, nil)
            if console.isErrorTerminal { console.show("\n") }
            if let failure = outcome.failure { warn(of: failure, "not everything was read yet") }
            isRead = outcome.failure == nil && outcome.state != .joining
        }
        guard try offerItemsOfJoined(isRead: isRead) == 0, isRead else { return }
        if let failure = session?.round().failure {
            warn(of: failure, "the items of this device were not sent yet")
        }
    }

    /// Sends items that the circle lacks, once this device has joined, if the user agrees.
    ///
    /// - Returns: How many items stay unsent.
    @discardableResult
    func offerItemsOfJoined(isRead: Bool) throws(CLIError) -> Int {
        do throws(CLIError) {
            return try offerOwnItems(isJoined: isRead)
        } catch {
            throw CLIError(
                error.code,
                "this device has joined, but its items that the circle lacks were not sent: "
                    + error.message,
                hint: "'valet sync once --add-mine' sends them")
        }
    }

    /// Says how many items the devices share, and how to share others.
    func noteSharedItems(_ address: StoreAddress) {
        do {
            let (shared, pending, own) = try countItems(address)
            let items = shared == 1 ? "1 item is shared" : "\(shared) items are shared"
            let waiting = pending == 0 ? "" : "; \(pending) still to be sent"
            let others = own == 1 ? "1 stays" : "\(own) stay"
            console.note(
                "valet: \(items) with the other devices\(waiting); \(others) on this device alone")
        } catch {
            warn(of: error, "the shared items could not be counted")
        }
        console.hint(
            "what is stored with '--cloud' is shared: 'valet set --cloud NAME' stores a secret so "
                + "that all devices have it, and moves one that stays here")
    }

    private func countItems(
        _ address: StoreAddress
    ) throws(KeychainFailure) -> (shared: Int, pending: Int, own: Int) {
        let (shown, sent, unsent) = try keychain.update("count items") { update in
            let shown = update.replica?.shownItems ?? [:]
            let sent = shown.values.count { if case .dot = $0.source { true } else { false } }
            return (shown.count, sent, update.replica?.unsent.count ?? 0)
        }
        let travelling = shown - unsent
        var own = max(0, (try store.keychain.status().itemCount ?? 0) - travelling)
        // The password for the store is not one of the user's secrets.
        if address.user != nil, own > 0 { own -= 1 }
        return (sent, travelling - sent, own)
    }

    /// Sends items that the circle lacks if the user agrees: the circle may have deleted them.
    ///
    /// - Returns: How many items stay unsent.
    @discardableResult
    func offerOwnItems(isJoined: Bool) throws(CLIError) -> Int {
        let count = try update("count items") { $0.replica?.unsent.count ?? 0 }
        guard count > 0 else { return 0 }
        let items = count == 1 ? "1 item of this device" : "\(count) items of this device"
        let later = "'valet sync once --add-mine' sends them later"
        var isAgreed = values.has(SyncHelp.addMine)
        guard isJoined || isAgreed else {
            console.note("valet: \(items) may be missing in the circle, and will not be sent")
            console.hint(later)
            return count
        }
        if !isAgreed, console.obstacleToAsking == nil {
            isAgreed = try console.confirm(
                "The circle lacks \(items), or has removed them. Send them?")
        }
        guard isAgreed else {
            console.note("valet: \(items) that the circle lacks will not be sent")
            console.hint(later)
            return count
        }
        return try update("send items") { (update) throws(KeychainFailure) in
            try update.sendUnsent()
            return update.replica?.unsent.count ?? 0
        }
    }
}

/// The deadline of an invitation. Time in which the machine sleeps counts.
struct BootLimit {
    /// In nanoseconds.
    fileprivate static let interval: Int64 = 500_000_000
    private let end: ContinuousClock.Instant

    init(after duration: Duration) { end = ContinuousClock.now + duration }

    /// Calls `look` again and again, until it returns something.
    ///
    /// - Throws: ``ExitCode/denied`` with `message` at the end; what `look` throws.
    func poll<R>(
        _ message: String, _ look: () throws(KeychainFailure) -> R?
    ) throws(CLIError) -> R {
        while true {
            if let found = try syncing(look()) { return found }
            guard ContinuousClock.now < end else { throw CLIError(.denied, message) }
            _ = Deadline(after: .seconds(1)).sleep(atMost: Self.interval)
        }
    }
}
