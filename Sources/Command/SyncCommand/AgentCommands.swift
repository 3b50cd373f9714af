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

    func runAgent() throws {
        try unlockForItself()
        _ = try requireCircle()
        let (stopping, ended) = (Cancellation(), Cancellation())
        try BackgroundThread.start {
            guard let relay = try? SignalRelay([SIGINT, SIGTERM, SIGHUP], until: .immediately)
            else { return }
            let limit = WaitLimit(until: .never, cancellation: ended, signals: relay.descriptor)
            _ = limit.wait(for: -1)
            _ = relay.end()
            stopping.cancel()
            // A call of the store may hang. The keychain bears that its process ends at any time.
            let grace = WaitLimit(until: Deadline(after: Self.grace), cancellation: ended)
            if grace.wait(for: -1) == .deadline { _exit(EXIT_SUCCESS) }
        }
        defer { ended.cancel() }
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

    func runOnce() throws {
        try unlockForItself()
        let notes = try requireCircle()
        if try keychain.note(.paused, during: "look for a pause") != nil {
            throw CLIError(.failure, "sync is paused", hint: "'valet sync resume' ends the pause")
        }
        let outcome = try withLock {
            let session = try session(in: open(notes.address))
            var outcome = session.round(progress())
            if outcome.failure == nil, values.has(SyncHelp.addMine) {
                try offerOwnItems(isJoined: true)
                outcome = session.round(progress())
            }
            if console.isErrorTerminal { console.show("\n") }
            return outcome
        }
        if let failure = outcome.failure { throw failure }
        switch outcome.state {
        case .removed: throw KeychainFailure.circle(.notAMember)
        case .alarm: throw KeychainFailure.circle(.undecidedRoster)
        default: break
        }
    }

    func pause() throws {
        try setPaused([1])
        console.note("valet: sync is paused until 'valet sync resume'")
    }

    func resume() throws {
        try setPaused(nil)
        console.note("valet: sync goes on")
    }

    private func setPaused(_ note: [UInt8]?) throws {
        _ = try requireCircle()
        try withLock { try keychain.set(.paused, note, during: "pause sync") }
    }

    func printUnit() throws {
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
