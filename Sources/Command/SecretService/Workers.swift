// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// Threads that carry out calls. The calls of one client run one after the other, in the order in
/// which they came. Those of different owners take turns, and no owner has all threads: a program
/// that keeps its threads busy delays no other.
final class Workers: Sendable {
    /// A call of a client. Exactly one of the two is called.
    struct Job: Sendable {
        /// Whether nobody wants it done once the client has left.
        var isForClient = true
        let run: @Sendable () -> Void
        /// Gives way to a call of another owner.
        let refuse: @Sendable () -> Void
    }

    fileprivate struct Client {
        let owner: String
        /// The first one is running or ready.
        var jobs: [Job] = []
        var isRunning = false
    }

    fileprivate struct Owner {
        var clients: Set<String> = []
        /// Clients whose first job can begin.
        var ready: [String] = []
        var jobCount = 0
        var runningCount = 0
    }

    fileprivate struct State {
        var clients: [String: Client] = [:]
        var owners: [String: Owner] = [:]
        /// Owners that have ready clients, in the order of their turns.
        var turns: [String] = []
        var jobCount = 0
        var threadCount = 0
        var idleCount = 0
    }

    struct Limits: Sendable {
        var threadCount = 8
        /// Fewer than all, so that other owners need not wait for a job to end.
        var ownerThreadCount = 6
        var jobCount = 4_096
        var ownerJobCount = 1_024
    }

    /// In nanoseconds.
    private static let pause: Int64 = 5_000_000

    private let limits: Limits
    private let state = Lock(State())
    /// Rung for each client that becomes ready while a thread is idle.
    private let bell: Bell

    init(_ limits: Limits = Limits()) throws(SystemError) {
        self.limits = limits
        bell = try Bell()
    }

    /// Whether a client has jobs that are not done.
    func isBusy(for client: String) -> Bool { state.withLock { $0.clients[client] != nil } }

    /// Refuses the jobs that wait and are of use to a client alone, which has left.
    func drop(_ client: String) {
        for job in state.withLock({ $0.takeUseless(of: client) }) { job.refuse() }
    }

    enum Answer { case taken, tooManyJobs, noThread }

    /// - Parameter owner: Whose jobs are counted together.
    /// - Returns: Whether the job is taken; if not, why.
    func run(for client: String, of owner: String, _ job: Job) -> Answer {
        let limits = limits
        let (isTaken, refused, need) = state.withLock { state -> (Bool, Job?, Need) in
            let count = state.owners[owner]?.jobCount ?? 0
            guard count < limits.ownerJobCount else { return (false, nil, .nothing) }
            var refused: Job?
            if state.jobCount >= limits.jobCount {
                refused = state.takeFromLargest(count)
                guard refused != nil else { return (false, nil, .nothing) }
            }
            return (true, refused, state.add(job, client, owner, limits))
        }
        refused?.refuse()
        guard isTaken else { return .tooManyJobs }
        switch need {
        case .nothing: return .taken
        case .bell:
            bell.ring()
            return .taken
        case .thread: return startThread(for: client) ? .taken : .noThread
        }
    }

    fileprivate enum Need { case nothing, bell, thread }

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
                while state.takeLast(of: client) != nil {}
                return false
            }
        }
    }

    /// Threads stay, because to start one takes longer than most jobs.
    private func work() {
        while true {
            while let (client, job) = next() {
                job.run()
                finish(client)
            }
            _ = bell.wait(until: .never)
        }
    }

    private func finish(_ client: String) { state.withLock { $0.finish(client) } }

    /// The next job and its client; nil if nothing can begin. The thread then counts as idle.
    private func next() -> (String, Job)? {
        let limit = limits.ownerThreadCount
        return state.withLock { state in
            if let found = state.begin(limit) { return found }
            state.idleCount += 1
            return nil
        }
    }
}

extension Workers.State {
    fileprivate mutating func add(
        _ job: Workers.Job, _ client: String, _ owner: String, _ limits: Workers.Limits
    ) -> Workers.Need {
        // Until its jobs are done, a client counts for the owner that it had.
        let owner = clients[client]?.owner ?? owner
        jobCount += 1
        owners[owner, default: Workers.Owner()].jobCount += 1
        owners[owner]?.clients.insert(client)
        clients[client, default: Workers.Client(owner: owner)].jobs.append(job)
        guard clients[client]?.jobs.count == 1 else { return .nothing }
        setReady(client, owner)
        guard owners[owner]?.runningCount ?? 0 < limits.ownerThreadCount else { return .nothing }
        if idleCount > 0 {
            idleCount -= 1
            return .bell
        }
        guard threadCount < limits.threadCount else { return .nothing }
        threadCount += 1
        return .thread
    }

    private mutating func setReady(_ client: String, _ owner: String) {
        owners[owner]?.ready.append(client)
        if owners[owner]?.ready.count == 1 { turns.append(owner) }
    }

    /// Takes the first job of the owner whose turn it is, and that does not have its share of the
    /// threads.
    fileprivate mutating func begin(_ limit: Int) -> (String, Workers.Job)? {
        let turn = turns.firstIndex { owners[$0]?.runningCount ?? 0 < limit }
        guard let turn else { return nil }
        let owner = turns.remove(at: turn)
        guard let client = owners[owner]?.ready.removeFirst(), let job = clients[client]?.jobs.first
        else { return nil }
        if owners[owner]?.ready.isEmpty == false { turns.append(owner) }
        owners[owner]?.runningCount += 1
        clients[client]?.isRunning = true
        return (client, job)
    }

    /// The calling thread then takes a job that has waited for the owner's share of the threads.
    fileprivate mutating func finish(_ client: String) {
        guard let owner = clients[client]?.owner else { return }
        owners[owner]?.runningCount -= 1
        clients[client]?.isRunning = false
        clients[client]?.jobs.removeFirst()
        count(client, owner)
        if clients[client] != nil { setReady(client, owner) }
    }

    /// Counts one job less.
    private mutating func count(_ client: String, _ owner: String) {
        jobCount -= 1
        owners[owner]?.jobCount -= 1
        guard clients[client]?.jobs.isEmpty == true else { return }
        clients[client] = nil
        owners[owner]?.clients.remove(client)
        if owners[owner]?.clients.isEmpty == true { owners[owner] = nil }
    }

    /// Takes the last job of the owner that has most; nil if none has more than `count` and one.
    fileprivate mutating func takeFromLargest(_ count: Int) -> Workers.Job? {
        guard let largest = owners.values.max(by: { $0.jobCount < $1.jobCount }),
            largest.jobCount > count + 1
        else { return nil }
        let client = largest.clients.max { waitingCount($0) < waitingCount($1) }
        return client.flatMap { takeLast(of: $0) }
    }

    private func waitingCount(_ client: String) -> Int {
        clients[client].map { $0.jobs.count - ($0.isRunning ? 1 : 0) } ?? 0
    }

    /// Takes the last job of a client that has not begun.
    fileprivate mutating func takeLast(of client: String) -> Workers.Job? {
        guard waitingCount(client) > 0, let owner = clients[client]?.owner,
            let job = clients[client]?.jobs.popLast()
        else { return nil }
        endTurn(of: client, owner)
        count(client, owner)
        return job
    }

    /// Takes the jobs of a client that have not begun, and that are of use to it alone.
    fileprivate mutating func takeUseless(of client: String) -> [Workers.Job] {
        guard let known = clients[client] else { return [] }
        let begun = known.jobs.prefix(known.isRunning ? 1 : 0)
        let waiting = known.jobs.dropFirst(begun.count)
        clients[client]?.jobs = begun + waiting.filter { !$0.isForClient }
        endTurn(of: client, known.owner)
        let taken = waiting.filter(\.isForClient)
        for _ in taken { count(client, known.owner) }
        return taken
    }

    /// A client without jobs has no turn.
    private mutating func endTurn(of client: String, _ owner: String) {
        guard clients[client]?.jobs.isEmpty == true else { return }
        owners[owner]?.ready.removeAll { $0 == client }
        if owners[owner]?.ready.isEmpty == true { turns.removeAll { $0 == owner } }
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
