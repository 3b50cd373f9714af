// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// Threads that carry out calls. The calls of one client run one after the other, in the order in
/// which they came; a client that keeps a thread busy delays no other.
final class Workers: Sendable {
    typealias Job = @Sendable () -> Void

    private struct State {
        /// The jobs of each client that has any; the first one of each is running or ready.
        var jobs: [String: [Job]] = [:]
        /// Clients whose first job can begin.
        var ready: [String] = []
        var jobCount = 0
        var threadCount = 0
        var idleCount = 0
    }

    private static let (maximalThreadCount, maximalJobCount) = (8, 4_096)
    /// So that one client does not use up the jobs of all.
    private static let maximalClientJobCount = 1_024

    /// In nanoseconds.
    private static let pause: Int64 = 5_000_000

    private let state = Lock(State())
    /// Rung for each client that becomes ready while a thread is idle.
    private let bell: Bell

    init() throws(SystemError) { bell = try Bell() }

    /// Whether a client has jobs that are not done.
    func isBusy(for client: String) -> Bool { state.withLock { $0.jobs[client] != nil } }

    enum Answer { case taken, tooManyJobs, noThread }

    /// - Returns: Whether the job will be carried out; if not, why.
    func run(for client: String, _ job: @escaping Job) -> Answer {
        enum Need { case nothing, bell, thread, refusal }
        let need = state.withLock { state -> Need in
            guard state.jobCount < Self.maximalJobCount,
                state.jobs[client, default: []].count < Self.maximalClientJobCount
            else { return .refusal }
            state.jobCount += 1
            state.jobs[client, default: []].append(job)
            guard state.jobs[client]?.count == 1 else { return .nothing }
            state.ready.append(client)
            if state.idleCount > 0 {
                state.idleCount -= 1
                return .bell
            }
            guard state.threadCount < Self.maximalThreadCount else { return .nothing }
            state.threadCount += 1
            return .thread
        }
        switch need {
        case .nothing: return .taken
        case .bell:
            bell.ring()
            return .taken
        case .thread: return startThread(for: client) ? .taken : .noThread
        case .refusal: return .tooManyJobs
        }
    }

    /// Waits until all jobs are done, or until the deadline.
    func finish(before deadline: Deadline) {
        while state.withLock({ $0.jobCount > 0 }), deadline.sleep(atMost: Self.pause) {}
    }

    private func startThread(for client: String) -> Bool {
        do {
            try BackgroundThread.start { self.work() }
            return true
        } catch {
            // Another thread runs the job, if there is one.
            return state.withLock { state in
                state.threadCount -= 1
                guard state.threadCount == 0 else { return true }
                state.ready.removeAll { $0 == client }
                state.jobCount -= state.jobs.removeValue(forKey: client)?.count ?? 0
                return false
            }
        }
    }

    /// Threads stay, because to start one takes longer than most jobs.
    private func work() {
        while true {
            while let (client, job) = next() {
                job()
                finish(client)
            }
            _ = bell.wait(until: .never)
        }
    }

    private func finish(_ client: String) {
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

    /// The next job and its client; nil if nothing is ready. The thread then counts as idle.
    private func next() -> (String, Job)? {
        state.withLock { state in
            guard !state.ready.isEmpty else {
                state.idleCount += 1
                return nil
            }
            let client = state.ready.removeFirst()
            return state.jobs[client]?.first.map { (client, $0) }
        }
    }
}

/// The events that other threads send to the thread of the bus.
final class Inbox<Event: Sendable>: Sendable {
    private let events = Lock<[Event]>([])
    private let bell: Bell

    init() throws(SystemError) { bell = try Bell() }

    /// Readable once there are events.
    var descriptor: Int32 { bell.descriptor }

    func add(_ event: Event) {
        let isFirst = events.withLock { events in
            events.append(event)
            return events.count == 1
        }
        if isFirst { bell.ring() }
    }

    /// Takes all events.
    func take() -> [Event] {
        events.withLock { events in
            guard !events.isEmpty else { return [] }
            _ = bell.take()
            defer { events = [] }
            return events
        }
    }
}
