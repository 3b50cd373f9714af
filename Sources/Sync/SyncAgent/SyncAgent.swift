// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSync
package import ValetSystem

/// The agent of a keychain: runs rounds of sync when something has changed here or in the store,
/// and once a minute. `valet sync run` runs it. docs/SYNC.md §8.
package final class SyncAgent {
    /// How long the agent waits for more local changes before it writes.
    private static let gathering = Duration.seconds(1)
    private static let interval = Duration.seconds(60)
    /// In seconds: the longest pauses after failures. A store that is away may be back at any time.
    /// A store that refuses does so until a person acts.
    private static let (longestPause, longestPauseAfterRefusals) = (30, 300)

    private typealias Outcome = (state: SyncState, failure: KeychainFailure?)

    /// How long the agent waits for the lock before it checks again whether it must end.
    package var patience = Duration.seconds(30)
    private static let lockInterval = Duration.milliseconds(50)
    /// In nanoseconds: the least time between two looks at what has changed.
    private static let tick: Int64 = 10_000_000

    private let store: ItemStore
    private let lock: SyncLock
    private let cancellation: Cancellation
    private let makeStore: () throws(KeychainFailure) -> any SyncStore
    private let told: (SyncState, KeychainFailure?) -> Void
    private let watch: KeychainWatch
    private var failures = 0

    /// An agent for the keychain of `store`.
    ///
    /// - Parameters:
    ///   - cancellation: Ends ``run()`` soon: the store's current call ends first. A command that
    ///     asks for the lock ends a round in the same way.
    ///   - makeStore: Opens the store that the keychain has noted.
    ///   - told: Runs after each round.
    /// - Throws: ``KeychainFailure`` if the process can open no more files.
    package init(
        _ store: ItemStore, _ lock: SyncLock, endedBy cancellation: Cancellation,
        makeStore: @escaping () throws(KeychainFailure) -> any SyncStore,
        told: @escaping (SyncState, KeychainFailure?) -> Void
    ) throws(KeychainFailure) {
        (self.store, self.lock, self.cancellation) = (store, lock, cancellation)
        (self.makeStore, self.told) = (makeStore, told)
        watch = try KeychainWatch(for: .items)
    }

    /// Runs until it is cancelled. Between two rounds it lets commands work on the replica.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut` if another agent runs; `inputOutput`.
    package func run() throws(KeychainFailure) {
        let watch = watch
        cancellation.listen { watch.wake() }
        defer { cancellation.stopListening() }
        var hasRun = false
        while !cancellation.isCancelled {
            guard let held = try lock.acquireForAgent(before: Deadline(after: patience)) else {
                // A command may keep the lock for long.
                if hasRun { continue }
                throw KeychainFailure(
                    .timedOut, during: "start the agent",
                    message: "another agent of this keychain is running",
                    hint: "`valet sync status` shows what it does")
            }
            hasRun = true
            try runWithLock()
            _ = consume held
            lock.letOthersGo(before: Deadline(after: patience))
        }
    }

    /// Runs rounds until somebody asks for the lock.
    private func runWithLock() throws(KeychainFailure) {
        let keychain = SyncedKeychain(store)
        var session: SyncSession?
        var storeWatch: StoreWatch?
        defer { storeWatch?.stop() }
        while !cancellation.isCancelled, !lock.isWanted {
            _ = watch.attend(to: [store.location])
            var outcome: Outcome
            do {
                if session == nil {
                    session = try SyncSession.open(keychain, try makeStore())
                    session?.isInterrupted = interruption()
                    storeWatch?.stop()
                    storeWatch = session.map { StoreWatch($0, waking: watch) }
                }
                let isPaused = try keychain.note(.paused, during: "look for a pause") != nil
                if isPaused == true { try session?.keep(.paused) }
                outcome = isPaused == true ? (.paused, nil) : session?.round() ?? (.off, nil)
            } catch {
                session = nil
                outcome = (SyncState(of: error), error)
            }
            // This device has left the circle.
            if outcome.state == .off { session = nil }
            if outcome.failure?.code == .roundInterrupted { continue }
            told(outcome.state, outcome.failure)
            wait(after: outcome, session, storeWatch)
        }
    }

    /// Returns a function that says whether to break off a round. It looks at the lock twenty times
    /// a second.
    private func interruption() -> () -> Bool {
        var next = Deadline.immediately
        return { [lock, cancellation] in
            if cancellation.isCancelled { return true }
            guard next.hasPassed else { return false }
            next = Deadline(after: Self.lockInterval)
            return lock.isWanted
        }
    }

    /// Waits for a change here or in the store, and then for more local changes.
    ///
    /// After failures it waits longer each time, whatever changes here. It adds a random time of up
    /// to half of that, so that agents do not all retry at the same moment.
    private func wait(after outcome: Outcome, _ session: SyncSession?, _ storeWatch: StoreWatch?) {
        let isFailing =
            [.unavailable, .denied, .full].contains(outcome.state)
            || outcome.state == .waiting && outcome.failure != nil
        failures = isFailing ? failures + 1 : 0
        if isFailing {
            let isRefused = [.denied, .full].contains(outcome.state)
            let longest = isRefused ? Self.longestPauseAfterRefusals : Self.longestPause
            let seconds = min(longest, 1 << min(failures, 16))
            let jitter = Int.random(in: 0...(500 * seconds))
            return pause(.milliseconds(1000 * seconds + jitter), session) { false }
        }
        guard !cancellation.isCancelled, !lock.isWanted else { return }
        watch.wait(atMost: Self.interval)
        // A change in the store is read at once.
        pause(Self.gathering, session) { storeWatch?.takeChange() ?? false }
    }

    /// Waits for `duration`, until somebody asks for the lock, or until `isOver`. During the wait
    /// it drops keys that a lock of the keychain removes.
    private func pause(_ duration: Duration, _ session: SyncSession?, _ isOver: () -> Bool) {
        let end = Deadline(after: duration)
        while !cancellation.isCancelled, !lock.isWanted {
            _ = try? session?.openScopes()
            guard !isOver(), end.sleep(atMost: Self.tick) else { return }
            watch.wait(atMost: end.remaining)
        }
    }
}

/// Waits for changes in the store on a thread of its own, and wakes the agent.
private final class StoreWatch: Sendable {
    /// In nanoseconds: the pause after a failure.
    private static let pause: Int64 = 1_000_000_000

    private let stopping = Cancellation()
    private let hasChanged = Atomic<Bool>(false)

    init(_ session: SyncSession, waking watch: KeychainWatch) {
        let (store, circle) = (session.store, session.circle.circle)
        // If the thread does not start, the round of each minute finds what has changed.
        try? BackgroundThread.start { [self] in
            while !stopping.isCancelled {
                let limit = WaitLimit(until: Deadline(after: .seconds(600)), cancellation: stopping)
                guard let change = try? store.waitForChange(in: circle, within: limit) else {
                    _ = Deadline(after: .seconds(1)).sleep(atMost: Self.pause)
                    continue
                }
                guard change else { continue }
                hasChanged.store(true, ordering: .relaxed)
                watch.wake()
            }
        }
    }

    func takeChange() -> Bool { hasChanged.exchange(false, ordering: .relaxed) }

    func stop() { stopping.cancel() }
}

/// Lets one process at a time work on a keychain's replica: the one that holds `sync.lock`. The
/// agent holds that lock while it runs. It hands the lock to a command that asks by `sync.wish`.
package struct SyncLock {
    private static let waiting = "wait for the agent of sync"

    private let lock: FileLock
    private let wish: FileLock
    private let folder: PrivateDirectory

    package init(_ folder: PrivateDirectory) {
        self.folder = folder
        lock = FileLock("sync.lock", in: folder)
        wish = FileLock("sync.wish", in: folder)
    }

    /// Takes the lock for a command. Asks the agent for it, which breaks off its round at the next
    /// checkpoint.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut`, `inputOutput`.
    package func acquire(before deadline: Deadline) throws(KeychainFailure) -> HeldLock {
        do {
            let wish = try wish.acquire(before: deadline)
            // Without a keychain there is no agent, and only a keychain has this file.
            if (try? folder.check(file: KeychainFile.database)) != nil {
                try? folder.touch(KeychainFile.state)
            }
            let held = try lock.acquire(before: deadline)
            _ = consume wish
            return held
        } catch {
            throw Self.failure(error)
        }
    }

    /// Takes the lock for the agent; nil if another process has it.
    ///
    /// - Throws: ``KeychainFailure``: `inputOutput`.
    package func acquireForAgent(before deadline: Deadline) throws(KeychainFailure) -> HeldLock? {
        do {
            return try lock.acquire(before: deadline)
        } catch {
            guard error.code == .busy else { throw Self.failure(error) }
            return nil
        }
    }

    package var isWanted: Bool {
        do {
            _ = try wish.acquire(before: .immediately)
            return false
        } catch {
            return error.code == .busy
        }
    }

    /// Waits until no command asks for the lock.
    package func letOthersGo(before deadline: Deadline) { _ = try? wish.acquire(before: deadline) }

    private static func failure(_ error: SystemError) -> KeychainFailure {
        KeychainFailure(
            error.code == .busy ? .timedOut : .inputOutput, during: waiting,
            message: "\(error)",
            hint: error.code == .busy
                ? "another `valet sync` is at work; wait for it, or end it" : nil)
    }
}
