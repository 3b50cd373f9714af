// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// What a look at a program has found, and the policy of that time.
struct ProgramView: Sendable {
    let program: AskingProgram
    /// The version of the policy.
    let version: Int
    /// Where the paths of the policy led.
    let places: [String: PolicyPaths.Place]

    private static let pause: Int64 = 50_000_000

    /// Looks at a program, for as long as its file systems take.
    init(
        of process: BusClientProcess, _ policy: AccessPolicy?, version: Int, _ paths: PolicyPaths
    ) {
        let program = AskingProgram(process)
        (self.program, self.version) = (program, version)
        guard let policy, !policy.paths.isEmpty else {
            places = [:]
            return
        }
        var places = paths.places(of: policy.paths)
        // Waits longer only for a path that may allow this program.
        let wait = Deadline(after: CallingProcesses.longestLook)
        while policy.rules.contains(where: { Self.mayAllow($0, program, places) }),
            wait.sleep(atMost: Self.pause)
        {
            places = paths.places(of: policy.paths)
        }
        self.places = places
    }

    init(_ program: AskingProgram, version: Int) {
        (self.program, self.version, places) = (program, version, [:])
    }

    /// Whether a rule may allow the program by a path that could not be followed yet.
    private static func mayAllow(
        _ rule: AccessPolicy.Rule, _ program: AskingProgram, _ places: [String: PolicyPaths.Place]
    ) -> Bool {
        guard rule.access == .allow, rule.program.hasPrefix("/"),
            let executable = program.executable
        else { return false }
        let place = places[rule.program]
        guard place?.isCurrent != true else { return false }
        return [rule.program, place?.resolved].contains(executable.path)
            || place?.identity?.isSameFile(as: executable.identity) == true
    }

    /// Whether another look may find more.
    var isPartial: Bool { !program.isKnown || places.values.contains { !$0.isCurrent } }
}

/// A process that has connections to the bus. For the thread of the bus.
final class CallingProcess {
    /// nil if the bus does not know it.
    let process: BusClientProcess?
    /// Its connections.
    var clients: Set<String> = []
    var view: ProgramView?
    /// The end of the time for the look that a thread takes now, if any.
    var look: Deadline?
    /// Whether calls wait for that look.
    var isWaiting = false
    /// When to look again at what was not found.
    var nextLook = Deadline.immediately
    var owner: Owner?

    init(_ process: BusClientProcess?) { self.process = process }

    /// The connection says nothing of a program any more once its process has ended: a later
    /// process may have the number.
    var hasEnded: Bool { process?.handle.hasEnded ?? true }
}

/// Whose calls, sessions and prompts are counted together: a sandbox, or else a process, with all
/// its connections.
final class Owner {
    let name: String
    /// The sessions, with those whose keys are being agreed on.
    var sessionCount = 0
    var promptCount = 0
    /// The number of its last question, in the order in which they were asked.
    var lastQuestion: UInt64 = 0
    /// The bytes of its calls that are not answered yet.
    let waiting = ByteBudget(ByteBudget.ofProgram)
    var answers = AnswerAllowance()
    fileprivate var callerCount = 0

    fileprivate init(_ name: String) { self.name = name }
}

/// The processes behind the connections. For the thread of the bus; other threads look at their
/// programs, because that may take until the file system of a program answers.
final class CallingProcesses {
    /// How long a call waits for a look at its program.
    static let longestLook = Duration.seconds(1)
    /// How many connections of one process are answered: each is told of its own what changes.
    static let maximalConnectionCount = 64
    /// How many looks may be under way. Those at programs in file systems that do not answer stay.
    private static let maximalLookCount = 64
    private static let pauseBetweenLooks = Duration.milliseconds(250)

    private let paths = PolicyPaths()
    private var callers: [Int32: CallingProcess] = [:]
    private var owners: [String: Owner] = [:]
    private var lookCount = 0

    /// The process of a connection. The same object for all of its connections.
    func caller(_ client: String, _ process: BusClientProcess?) -> CallingProcess {
        guard let process else {
            let caller = CallingProcess(nil)
            caller.view = ProgramView(AskingProgram(nil), version: 0)
            return add(client, to: caller, "connection \(client)")
        }
        let owner = "process \(process.number)"
        // No other process gets the number before this one has ended.
        if let known = callers[process.number], !known.hasEnded {
            return add(client, to: known, owner)
        }
        let caller = CallingProcess(process)
        callers[process.number] = caller
        return add(client, to: caller, owner)
    }

    private func add(
        _ client: String, to caller: CallingProcess, _ owner: String
    ) -> CallingProcess {
        caller.clients.insert(client)
        if caller.owner == nil { own(caller, owner) }
        return caller
    }

    private func own(_ caller: CallingProcess, _ name: String) {
        if let old = caller.owner {
            old.callerCount -= 1
            if old.callerCount == 0 { owners[old.name] = nil }
        }
        let owner = owners[name] ?? Owner(name)
        owners[name] = owner
        owner.callerCount += 1
        caller.owner = owner
    }

    /// Forgets a connection.
    func remove(_ client: String, of caller: CallingProcess) {
        caller.clients.remove(client)
        forgetIfUnused(caller)
    }

    private func forgetIfUnused(_ caller: CallingProcess) {
        guard caller.clients.isEmpty, caller.look == nil, let owner = caller.owner else { return }
        caller.owner = nil
        owner.callerCount -= 1
        if owner.callerCount == 0 { owners[owner.name] = nil }
        if let process = caller.process, callers[process.number] === caller {
            callers[process.number] = nil
        }
    }

    /// Begins a look at the program of a caller, unless one is under way.
    ///
    /// - Parameter done: Gets what was found, on another thread.
    func look(
        at caller: CallingProcess, _ policy: AccessPolicy?, version: Int,
        _ done: @escaping @Sendable (ProgramView) -> Void
    ) {
        guard let process = caller.process, caller.look == nil else { return }
        caller.nextLook = Deadline(after: Self.pauseBetweenLooks)
        let paths = paths
        if lookCount < Self.maximalLookCount {
            do {
                try BackgroundThread.start {
                    done(ProgramView(of: process, policy, version: version, paths))
                }
                lookCount += 1
                (caller.look, caller.isWaiting) = (Deadline(after: Self.longestLook), true)
                return
            } catch {}
        }
        setUnknown(caller, version: version)
    }

    /// Ends the look without a result; a later call begins another one.
    func setUnknown(_ caller: CallingProcess, version: Int) {
        guard let process = caller.process else { return }
        caller.isWaiting = false
        caller.view = ProgramView(AskingProgram(withoutLookAt: process), version: version)
    }

    /// Takes what a look has found, also after its time.
    ///
    /// - Returns: The caller; nil if it has no connections any more.
    func add(_ view: ProgramView, of process: BusClientProcess) -> CallingProcess? {
        lookCount -= 1
        guard let caller = callers[process.number],
            caller.process?.handle === process.handle
        else { return nil }
        (caller.look, caller.isWaiting, caller.view) = (nil, false, view)
        if case .named(let sandbox) = view.program.sandbox, caller.owner?.name != sandbox,
            caller.owner?.sessionCount == 0, caller.owner?.promptCount == 0
        {
            own(caller, sandbox)
        }
        forgetIfUnused(caller)
        return caller
    }

    /// The end of the next look, if its calls wait for that.
    var nextEnd: Deadline? {
        guard lookCount > 0 else { return nil }
        return callers.values.compactMap { $0.isWaiting ? $0.look : nil }.min()
    }

    /// The callers whose looks have not ended in time. Their programs count as unknown until they
    /// do.
    func takeLate(version: Int) -> [CallingProcess] {
        guard lookCount > 0 else { return [] }
        let late = callers.values.filter { $0.isWaiting && $0.look?.hasPassed == true }
        for caller in late { setUnknown(caller, version: version) }
        return late
    }
}
