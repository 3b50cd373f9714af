// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// Threads that carry out calls. Those of one client run one after the other, in the order in which
/// they came; a client that keeps a thread busy delays no other.
final class Workers: Sendable {
    typealias Job = @Sendable () -> Void

    private struct State {
        /// The jobs of each client that has any; the first one of each is running or ready.
        var jobs: [String: [Job]] = [:]
        /// Clients whose first job can begin.
        var ready: [String] = []
        var threadCount = 0
        var jobCount = 0
    }

    private static let (maximalThreadCount, maximalJobCount) = (8, 4_096)

    private let state = Lock(State())

    /// - Returns: false if there are too many jobs, or no thread can be started.
    func run(for client: String, _ job: @escaping Job) -> Bool {
        let needsThread = state.withLock { state -> Bool? in
            guard state.jobCount < Self.maximalJobCount else { return nil }
            state.jobCount += 1
            state.jobs[client, default: []].append(job)
            guard state.jobs[client]?.count == 1 else { return false }
            state.ready.append(client)
            guard state.threadCount < Self.maximalThreadCount else { return false }
            state.threadCount += 1
            return true
        }
        guard let needsThread else { return false }
        guard needsThread else { return true }
        do {
            try BackgroundThread.start { self.work() }
        } catch {
            // Another thread will do it, if there is one.
            return state.withLock { state in
                state.threadCount -= 1
                if state.threadCount > 0 { return true }
                state.ready.removeAll { $0 == client }
                state.jobCount -= state.jobs.removeValue(forKey: client)?.count ?? 0
                return false
            }
        }
        return true
    }

    private func work() {
        while let (client, job) = next() {
            job()
            state.withLock { state in
                state.jobCount -= 1
                state.jobs[client]?.removeFirst()
                if state.jobs[client]?.isEmpty == true {
                    state.jobs[client] = nil
                } else {
                    state.ready.append(client)
                }
            }
        }
    }

    private func next() -> (String, Job)? {
        state.withLock { state in
            guard !state.ready.isEmpty else {
                state.threadCount -= 1
                return nil
            }
            let client = state.ready.removeFirst()
            return state.jobs[client]?.first.map { (client, $0) }
        }
    }
}

/// What other threads tell the thread of the bus.
final class Inbox<Event: Sendable>: Sendable {
    private struct State {
        var events: [Event] = []
        var bell = Cancellation()
    }

    private let state = Lock(State())

    /// Ends a wait once there are events.
    var bell: Cancellation { state.withLock { $0.bell } }

    func add(_ event: Event) {
        state.withLock { state in
            state.events.append(event)
            state.bell.cancel()
        }
    }

    /// Takes all events.
    func take() -> [Event] {
        state.withLock { state in
            guard !state.events.isEmpty else { return [] }
            state.bell = Cancellation()
            defer { state.events = [] }
            return state.events
        }
    }
}
