// SPDX-License-Identifier: Apache-2.0

// The verbs about the agent, which keeps a device up to date: docs/SYNC.md §8.

internal import Glibc
internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSync
internal import ValetSyncAgent
internal import ValetSystem

extension SyncCall {
    /// How long the agent may take to end after a signal.
    private static let grace = Duration.milliseconds(600)

    func runAgent() throws(CLIError) {
        try unlockForItself()
        _ = try requireCircle()
        let (stopping, ended) = (Cancellation(), Cancellation())
        do {
            try BackgroundThread.start { Self.stop(stopping, unless: ended) }
        } catch {
            throw CLIError(.failure, "sync failed: \(error)")
        }
        defer { ended.cancel() }
        try syncing(runAgent(until: stopping))
    }

    private func runAgent(until stopping: Cancellation) throws(KeychainFailure) {
        var last: SyncState?
        let agent = try SyncAgent(store, syncLock(), endedBy: stopping) {
            () throws(KeychainFailure) in
            guard let notes = try notes() else { throw .circle(.notAMember) }
            return try open(notes.address)
        } told: { state, failure in
            guard state != last else { return }
            last = state
            console.note("valet: sync: \(state.name)")
            if let failure { warn(of: failure, "sync waits") }
        }
        try agent.run()
    }

    /// Waits for a signal, then cancels `stopping`. Ends the process if `ended` is not cancelled
    /// soon after.
    private static func stop(_ stopping: Cancellation, unless ended: Cancellation) {
        guard let relay = try? SignalRelay([SIGINT, SIGTERM, SIGHUP], until: .immediately)
        else { return }
        let limit = WaitLimit(until: .never, cancellation: ended, signals: relay.descriptor)
        _ = limit.wait(for: -1)
        _ = relay.end()
        stopping.cancel()
        // A call of the store may hang. The process may end at any time without harm to the
        // keychain.
        let grace = WaitLimit(until: Deadline(after: Self.grace), cancellation: ended)
        if grace.wait(for: -1) == .deadline { _exit(EXIT_SUCCESS) }
    }

    func runOnce() throws(CLIError) {
        try unlockForItself()
        let notes = try requireCircle()
        if try syncing(keychain.note(.paused, during: "look for a pause")) != nil {
            throw CLIError(.failure, "sync is paused", hint: "'valet sync resume' ends the pause")
        }
        let outcome = try withLock { () throws(CLIError) in
            let session = try syncing(session(in: open(notes.address)))
            var outcome = session.round(progress())
            if outcome.failure == nil, values.has(SyncHelp.addMine) {
                try offerOwnItems(isJoined: true)
                outcome = session.round(progress())
            }
            if console.isErrorTerminal { console.show("\n") }
            return outcome
        }
        if let failure = outcome.failure { throw CLIError(ofSync: failure) }
        guard outcome.state != .off else { return noteLeaving(notes, isForgotten: true) }
        let known = try known()
        for finding in findings(known, of: SyncReport.heldBackKinds) { warn(of: finding) }
        if let error = error(for: outcome.state, known) { throw error }
    }

    /// Why a round that ended in `state` has not sent and taken in everything; nil if it has.
    private func error(for state: SyncState, _ known: Known) -> CLIError? {
        switch state {
        case .removed: CLIError(ofSync: .circle(.notAMember))
        case .alarm: CLIError(ofSync: .circle(.undecidedRoster))
        case .locked:
            CLIError(
                .locked,
                "the keychain is locked: what is readable only while it is unlocked was neither "
                    + "sent nor taken in", hint: "'valet unlock' unlocks it")
        case .joining:
            CLIError(
                .locked, "this device has not read everything of the circle yet",
                hint: "try again when the store shows what the other devices have written")
        case .waiting: waitingError(known)
        case .newer:
            CLIError(
                .failure, findings(known, of: [.newer]).map(\.text).joined(separator: "; "),
                hint: "update this program")
        default: nil
        }
    }

    private func waitingError(_ known: Known) -> CLIError {
        let reasons = findings(known, of: SyncReport.waitingKinds).map(\.text)
        return CLIError(
            .locked,
            reasons.isEmpty
                ? "some changes were not sent, or messages are missing in the store"
                : reasons.joined(separator: "; "),
            hint: "'valet sync status' says more; try again later")
    }

    func pause() throws(CLIError) {
        try setPaused([1])
        console.note("valet: sync is paused until 'valet sync resume'")
    }

    func resume() throws(CLIError) {
        try setPaused(nil)
        console.note("valet: sync goes on")
    }

    private func setPaused(_ note: [UInt8]?) throws(CLIError) {
        _ = try requireCircle()
        try withLock { () throws(CLIError) in
            try syncing(keychain.set(.paused, note, during: "pause sync"))
        }
    }

    func printUnit() throws(CLIError) {
        guard let program = FilePath.target(ofLink: "/proc/self/exe") else {
            throw CLIError(.failure, "the path of this program cannot be read")
        }
        try console.write(
            """
            [Unit]
            Description=Share the secrets of iCloud valets with other devices
            Documentation=man:valet(1)

            [Service]
            ExecStart=\(UnitText.quoted(program)) run
            Restart=on-failure
            RestartSec=60
            NoNewPrivileges=yes
            LimitCORE=0

            [Install]
            WantedBy=default.target

            """)
    }
}
