// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetSync

/// One round of sync: reads everything, writes everything that is new, and determines the state.
/// The agent and `valet sync once` run it.
extension SyncSession {
    /// Reads roster and logs, writes what is pending, and keeps the report in the keychain.
    ///
    /// Failures of the store and of the keychain end the round and give its state; they are no
    /// errors, because the next round goes on.
    ///
    /// - Returns: The state, and why the round ended early.
    @discardableResult
    package func round(
        _ progress: (SyncProgress) -> Void = { _ in }
    ) -> (state: SyncState, failure: KeychainFailure?) {
        report.beginRound(at: machine.milliseconds(), self: circle.device)
        var failure: KeychainFailure?
        var state = SyncState.current
        do {
            state = try work(progress)
        } catch {
            guard error.code != .roundInterrupted else {
                // What the round has found so far is half of the truth.
                report = keptReport
                return (report.state, error)
            }
            failure = error
            state = SyncState(of: error)
            if error.code == .noCircleKeys { report.add(.noKeys) }
            // Only what is open after the first unlock is closed before it.
            let isLocked = try? keychain.read(Self.opening) { $0.isLocked }
            if state == .closed, isLocked != nil { state = .locked }
        }
        report.state = state
        do {
            try keepReport()
        } catch {
            failure = failure ?? error
        }
        return (state, failure)
    }

    /// Keeps a state that no round has found.
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
        try keychain.update(Self.opening) { $0[.report] = bytes }
        keptReport = report
    }

    private func work(_ progress: (SyncProgress) -> Void) throws(KeychainFailure) -> SyncState {
        // Before the store is asked, which may take long: a locked keychain takes keys away.
        _ = try openScopes()
        try store.check(circle.circle, by: storeDeadline)
        try readRoster()
        guard roster.alarm.isEmpty else { return .alarm }
        guard isMember else { return .removed }
        let scopes = try openScopes()
        if scopes.contains(.whileUnlocked) {
            try doDuties()
            try removeStaleRecoveryKey()
        }
        try readLogs(progress)
        // A locked device has not read the messages that the user has accepted.
        if scopes.contains(.whileUnlocked) { report.endAcceptance(except: waitingLogs) }
        let isSent = try sendPending()
        try sendDueBases()
        try tidy()
        return try state(after: scopes, isSent: isSent)
    }

    private func state(after scopes: [KeyScope], isSent: Bool) throws(KeychainFailure) -> SyncState
    {
        let kinds = Set(report.troubles.map(\.kind))
        if kinds.contains(.undecided) { return .alarm }
        if kinds.contains(.newer) { return .newer }
        let isWaiting = [
            SyncReport.Kind.partial, .unknown, .withheld, .tooManyLogs, .cloudIsFull,
            .replacedValuesAreFull, .logIsTooLong, .noKeys,
        ].contains(where: kinds.contains)
        let hasNews = try look { replica in
            scopes.contains { replica[$0].hasNews || replica[$0].own.unconfirmed != nil }
        }
        if try !hasJoined(scopes) { return .joining }
        let hasGap = waitingLogs.contains { shelves[$0] != nil && scopes.contains($0.scope) }
        if isWaiting || hasGap || hasNews && !holdsItemsBack || !isSent { return .waiting }
        return scopes.contains(.whileUnlocked) ? .current : .locked
    }

    /// Whether there are items that cannot travel. They are reported. No other device sends them.
    var holdsItemsBack: Bool {
        report.troubles.contains { [.tooLarge, .unreadableRecord].contains($0.kind) }
    }

    /// Whether this device has read everything that its sponsor had read when it admitted this
    /// device: docs/SYNC.md §6, step 7. That is the table of the sponsor's first message that names
    /// the admission or a later entry, in each open scope.
    private func hasJoined(_ scopes: [KeyScope]) throws(KeychainFailure) -> Bool {
        if circle.isFounder || report.hasJoined { return true }
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
    /// The state that an error means.
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
