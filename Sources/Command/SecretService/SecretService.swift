// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

/// The Secret Service on the session bus, with the user's keychain behind it:
/// docs/SECRET-SERVICE.md.
///
/// One thread runs the bus, owns sessions and prompts, and answers calls that take microseconds.
/// Other threads carry out the other calls and put the answers into the inbox.
final class SecretService {
    static let busName = "org.freedesktop.secrets"

    /// A call that is not answered yet.
    fileprivate final class Call {
        let message: BusMessage
        let sender: String
        /// What the program that called may do; nil without a policy.
        var access: AccessDecision?
        /// Whether the call changes something.
        var isChange = false
        /// For whom a session is counted that the call may not get.
        var reserved: Owner?
        /// Counts the bytes of the call until it is answered.
        var share: ByteBudget.Share?

        init(_ message: consuming BusMessage) {
            sender = message.sender
            self.message = message
        }
    }

    /// What a client has, until it closes it or leaves the bus.
    final class Client {
        var sessions: [UInt64: TransferSession] = [:]
        var prompts: [UInt64: UnlockPrompt] = [:]
        var seen = SeenItems()
        /// nil until the bus has named the process.
        fileprivate(set) var caller: CallingProcess?
        fileprivate var isAskedFor = false
        /// Whether its program had as many connections already as one may have.
        fileprivate var isSurplus = false
        /// nil without a policy.
        var access: AccessDecision?
        /// Calls that wait until the program is known.
        fileprivate var held: [Call] = []
        /// The bytes of calls that came before the bus has named the process.
        fileprivate let early = ByteBudget(ByteBudget.ofUnknown)
        /// Cancelled when the client leaves.
        let departure = Cancellation()

        var isEmpty: Bool { sessions.isEmpty && prompts.isEmpty && held.isEmpty }
    }

    /// The limit per client of calls that wait until its program is known.
    private static let maximalHeldCount = 1_024
    /// How long the end of the service may take: each of its threads may be in a call, which takes
    /// five seconds at most.
    static let longestEnd = Duration.seconds(10)

    let holdings: Holdings
    let inbox: Inbox<Event>
    var clients: [String: Client] = [:]
    /// The prompt whose question for the passcode is open.
    var passcodeQuestion: UInt64?
    let bus: BusServer
    private let policy: PolicyFile
    private var notedProblem: String?
    private let observer: KeychainObserver
    let workers: Workers
    /// Writes a line for the person who runs the service.
    let note: (String) -> Void
    private var calls: [UInt64: Call] = [:]
    private let callers = CallingProcesses()
    /// The clients whose processes the bus was asked for, by the numbers of these calls.
    private var questions: [UInt64: String] = [:]
    /// The connection of the desktop's portal, and the call that asks for it.
    private(set) var portal: (owner: String?, question: UInt64) = (nil, 0)
    /// The prompt whose question is shown: one at a time.
    var openQuestion: UInt64?
    var questionCount: UInt64 = 0
    /// When the use of a grant was last noted, by its program, collection and time.
    var notedUses: [String: UInt64] = [:]
    private var lastNumber: UInt64 = 0
    /// False when the service ends.
    private var isTakingCalls = true
    private var isStopped = false

    let role: Role

    /// Connects, and becomes the Secret Service of the session, or the backend of its portal.
    ///
    /// - Throws: ``SystemError``: as ``BusServer``; `refused` if another program has the name.
    init(
        _ role: Role, _ holdings: Holdings, _ policy: PolicyFile, replacing: Bool,
        _ note: @escaping (String) -> Void
    ) throws(SystemError) {
        (self.role, self.holdings, self.policy, self.note) = (role, holdings, policy, note)
        (inbox, workers) = (try Inbox(), try Workers())
        observer = KeychainObserver(holdings, inbox)
        bus = try BusServer(
            WaitLimit(until: Deadline(after: .seconds(10))), takingDescriptors: role == .portal)
        try bus.listen(
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                + "member='NameOwnerChanged',arg2=''")
        try bus.listen("type='signal',sender='org.freedesktop.DBus',member='NameLost'")
        try bus.listen(
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                + "member='NameOwnerChanged',arg0='\(Portal.desktopName)'")
        portal.question = try bus.askForOwner(of: Portal.desktopName)
        if role == .secrets { observer.start() }
        guard try bus.own(role.busName, replacing: replacing) else {
            throw SystemError(
                .refused("org.freedesktop.DBus.Error.NameHasOwner"),
                during: "become the Secret Service",
                hint: replacing
                    ? "the other program permits nobody to take its place: stop it first, as with "
                        + "'systemctl --user stop gnome-keyring-daemon.socket "
                        + "gnome-keyring-daemon.service', or begin a new session"
                    : "stop the other program, or try 'valet serve --replace'")
        }
    }

    deinit { observer.stop() }

    /// Answers calls until another program replaces this one, the bus ends, or nobody has called
    /// for `idle`. Idle time does not end it while a call is unanswered, a client has a session or
    /// a prompt, or the collection in memory has items.
    ///
    /// Then it carries out the calls that it has taken, and answers them.
    ///
    /// - Throws: ``SystemError`` for what no restart would mend.
    func run(idle: Duration?) throws(SystemError) {
        let end = serve(idle)
        observer.stop()
        let deadline = Deadline(after: Self.longestEnd)
        switch end {
        case .idle, .replaced:
            guard (try? finish(after: end, deadline)) == nil else { return }
        case .disconnected, .failed: break
        }
        workers.finish(before: deadline)
        if case .failed(let error) = end { throw error }
    }

    private enum End { case idle, replaced, disconnected, failed(SystemError) }

    private func serve(_ idle: Duration?) -> End {
        var end = idle.map { Deadline(after: $0) } ?? .never
        while true {
            do throws(SystemError) {
                try takeEvents()
                guard !isStopped else { return .idle }
                let limit = WaitLimit(
                    until: min(end, callers.nextEnd ?? .never), signals: inbox.descriptor)
                guard let message = try bus.receive(limit) else { continue }
                end = idle.map { Deadline(after: $0) } ?? .never
                guard try handle(message) else { return .replaced }
            } catch {
                switch error.code {
                case .timedOut where !end.hasPassed: break
                case .timedOut
                where calls.isEmpty && clients.values.allSatisfy(\.isEmpty)
                    && !holdings.hasSessionItems:
                    return .idle
                case .timedOut: end = idle.map { Deadline(after: $0) } ?? .never
                // The session has ended.
                case .disconnected: return .disconnected
                default: return .failed(error)
                }
            }
        }
    }

    /// Answers the calls that this service has taken, and refuses new ones. Returns when all are
    /// answered, or at the deadline.
    private func finish(after end: End, _ deadline: Deadline) throws(SystemError) {
        if case .idle = end { try giveUpNames(deadline) }
        isTakingCalls = false
        // Nobody would use what an answer to these questions opens.
        for client in clients.values {
            for prompt in client.prompts.values { prompt.cancellation.cancel() }
        }
        while true {
            try takeEvents()
            let isHolding = clients.values.contains { !$0.held.isEmpty }
            guard !calls.isEmpty || isHolding || bus.hasUnsentMessages else { return }
            let limit = WaitLimit(
                until: min(deadline, callers.nextEnd ?? .never), signals: inbox.descriptor)
            do {
                guard let message = try bus.receive(limit) else { continue }
                _ = try handle(message)
            } catch {
                guard error.code == .timedOut, !deadline.hasPassed else { throw error }
            }
        }
    }

    private func takeEvents() throws(SystemError) {
        for event in inbox.take() { try handle(event) }
        for caller in callers.takeLate(version: policy.version) { try release(caller) }
    }

    /// Gives up the names, so that the bus starts a new service for later calls, and takes the
    /// calls that were sent before.
    private func giveUpNames(_ deadline: Deadline) throws(SystemError) {
        try? bus.release(role.busName)
        while !deadline.hasPassed, let message = try bus.received() { _ = try handle(message) }
    }

    // MARK: Messages

    /// - Returns: false if this is not the Secret Service any more.
    private func handle(_ message: consuming BusMessage) throws(SystemError) -> Bool {
        switch message.kind {
        case .call: try receive(Call(message))
        case .reply, .error:
            guard let number = message.answeredCall else { break }
            if number == portal.question {
                portal.owner = message.kind == .reply ? message.text() : nil
            } else if let name = questions.removeValue(forKey: number), let client = clients[name] {
                let caller = callers.caller(name, message.process())
                client.caller = caller
                client.isSurplus = caller.clients.count > CallingProcesses.maximalConnectionCount
                try release(caller)
            }
        case .signal:
            // Any connection can send any signal to any other.
            guard message.sender == BusServer.bus else { break }
            switch message.member {
            case "NameLost": return message.text() != role.busName
            case "NameOwnerChanged":
                guard let name = message.text(), message.text() != nil, let owner = message.text()
                else { break }
                if name == Portal.desktopName { portal.owner = owner.isEmpty ? nil : owner }
                if owner.isEmpty { leave(name) }
            default: break
            }
        default: break
        }
        return true
    }

    /// Answers a call, or begins to; later if the program that calls is not known yet, or if
    /// earlier calls of the client wait for that.
    private func receive(_ call: Call) throws(SystemError) {
        let client = clients[call.sender] ?? Client()
        // A client that is known from now on is forgotten when it leaves.
        clients[call.sender] = client
        guard !client.isSurplus else { return try send(Self.tooManyConnections, to: call) }
        let budget = client.caller?.owner?.waiting ?? client.early
        call.share = budget.take(call.message.byteCount(ofAtMost: BusMessage.maximalPartCount))
        guard call.share != nil else { return try send(Self.tooManyCalls, to: call) }
        if client.held.isEmpty, try isReady(client, for: call) { return try handle(call, client) }
        guard client.held.count < Self.maximalHeldCount else {
            return try send(Self.tooManyCalls, to: call)
        }
        client.held.append(call)
    }

    /// Handles calls that have waited until a program is known.
    private func release(_ caller: CallingProcess) throws(SystemError) {
        for client in caller.clients.compactMap({ clients[$0] }) where !client.held.isEmpty {
            let held = client.held
            client.held = []
            for call in held {
                if client.isSurplus {
                    try send(Self.tooManyConnections, to: call)
                } else if client.held.isEmpty, try isReady(client, for: call) {
                    try handle(call, client)
                } else {
                    client.held.append(call)
                }
            }
        }
    }

    private func handle(_ call: Call, _ client: Client) throws(SystemError) {
        // With a policy, an unknown program is refused every call, changes included.
        if let access = client.access, !access.program.isKnown {
            return try send(Self.unknownProgram, to: call)
        }
        try tellGrants(to: call.sender, client)
        guard owner(of: call.sender)?.answers.isUsedUp != true else {
            return try send(Self.tooManyAnswers, to: call)
        }
        call.access = client.access?.during(lockPeriod(of: client))
        let plan = plan(call.message)
        if plan.isUse(call.message.member) { try endYesForOneUse(of: call.sender, client) }
        switch plan {
        case .now(let answer): try send(answer, to: call)
        case .agreeing(let body):
            call.reserved = owner(of: call.sender)
            call.reserved?.sessionCount += 1
            call.isChange = true
            ask(call, body)
        case .reading(let body):
            // Answers in turn: at once only if no earlier call of the client is pending.
            if !workers.isBusy(for: call.sender) {
                let answer = Answer.of(body, holdings.seen(by: call.access).quick)
                guard case .refusal(.timeout, _) = answer else { return try finish(call, answer) }
            }
            ask(call, body)
        case .changing(let body):
            call.isChange = true
            ask(call, body)
        }
    }

    /// Has another thread carry out a call.
    private func ask(_ call: Call, _ body: @escaping Plan.Body) {
        lastNumber += 1
        let (number, inbox, holdings) = (lastNumber, inbox, holdings.seen(by: call.access))
        let departure = call.isChange ? nil : clients[call.sender]?.departure
        calls[number] = call
        func refuse(_ answer: Answer) { inbox.add(.answered(number, answer)) }
        guard isTakingCalls else {
            return refuse(.refusal(.failed, "the service is ending: try again"))
        }
        let job = Workers.Job(
            isForClient: !call.isChange,
            run: { inbox.add(.answered(number, Answer.of(body, holdings.begun(departure)))) },
            refuse: { inbox.add(.answered(number, Self.tooManyCalls)) })
        switch workers.run(for: call.sender, of: owner(of: call.sender)?.name ?? "", job) {
        case .taken: break
        case .tooManyJobs: refuse(Self.tooManyCalls)
        case .noThread: refuse(.refusal(.failed, "the service is too busy: try again"))
        }
    }

    /// Sends the answer of a call. That of a read goes out if the program and the policy are as
    /// they were at the time of the call, and no grant has ended since; otherwise a refusal does.
    private func finish(_ call: Call, _ answer: Answer) throws(SystemError) {
        let isCurrent = call.isChange || isCurrent(call.access, of: call.sender)
        try send(isCurrent ? answer : Answer(ClosedItems.closed), to: call)
    }

    /// Whether a client may still do what it could with this access.
    func isCurrent(_ access: AccessDecision?, of name: String) -> Bool {
        let isFree = currentPolicy() == nil
        guard let access else { return isFree }
        guard !isFree, access.program.isThere, access.version == policy.version else {
            return false
        }
        guard isStillGranted(access.lasting, to: access.program) else { return false }
        guard !access.granted.isEmpty else { return true }
        guard let client = clients[name], let period = lockPeriod else { return false }
        return access.granted.allSatisfy { name, granted in
            // A yes for one use was spent on this call.
            granted == period
                && (access.once.contains(name) || client.access?.granted[name] == granted)
        }
    }

    private func send(_ answer: Answer, to call: Call) throws(SystemError) {
        let owner = owner(of: call.sender)
        // What was changed is told in any case, and takes few bytes.
        let isTooMuch = !call.isChange && owner?.answers.isUsedUp == true
        var answer = isTooMuch ? Self.tooManyAnswers : answer
        switch answer {
        case .unlocking(let open, let prompt):
            answer = self.answer(open, prompt, for: call.sender)
        case .agreed(let agreement):
            // The session of a client that has left counts for nobody.
            if clients[call.sender] != nil { call.reserved = nil }
            answer = self.answer(agreement, for: call.sender)
        case .results, .secrets, .refusal: break
        }
        if let owner = call.reserved { owner.sessionCount -= 1 }
        var byteCount = 0
        switch answer {
        case .results(let write): byteCount = try bus.reply(to: call.message, write)
        case .secrets(let write, let fill):
            if let sent = try bus.reply(to: call.message, write, fillingIn: fill) {
                byteCount = sent
                break
            }
            try bus.refuse(
                call.message, ServiceError.failed.rawValue,
                "the answer could not be sent: try again")
        case .refusal(let error, let text): try bus.refuse(call.message, error.rawValue, text)
        case .unlocking, .agreed: break
        }
        owner?.answers.take(byteCount)
    }

    private func handle(_ event: Event) throws(SystemError) {
        switch event {
        case .answered(let number, let answer):
            guard let call = calls.removeValue(forKey: number) else { return }
            try finish(call, answer)
        case .sessionItem(let change, let item):
            try emit(change.rawValue, item: item)
            if change == .changed { tellSeenItems([item]) }
        case .observed(let observed): try handle(observed)
        case .lockChanged(let isLocked, let properties):
            if isLocked {
                for client in clients.values { client.access = client.access?.during(nil) }
            }
            try emitLock(isLocked, properties)
            if !isLocked { endPasscodeQuestion() }
            tellSeenItems()
        case .seen(let client, let access, let changes):
            try emit(changes, seenBy: client, access)
        case .promptBegun(let client, let number): begin(number, of: client)
        case .prompted(let number, let outcome, let consent):
            try complete(number, outcome, consent)
        case .grantsChanged: try tellGrants()
        case .used(let grant): noteUse(of: grant)
        case .useNotNoted(let key): notedUses[key] = nil
        case .stored(let client, let item): see(.item(item), by: client)
        case .completed(let client, let number, let objects):
            try emitCompleted(number, of: client, objects)
        case .looked(let process, let view):
            if let caller = callers.add(view, of: process) { try release(caller) }
        case .noted(let text): note(text)
        case .stopped: isStopped = true
        }
    }

    // MARK: Clients

    /// By whom the calls of a client are counted.
    func owner(of client: String) -> Owner? { clients[client]?.caller?.owner }

    /// The program of a client, as it was when it was last looked at.
    func program(of client: String) -> AskingProgram? { clients[client]?.caller?.view?.program }

    /// The policy; nil without a file. A mistake in the file is noted when it is first seen.
    func currentPolicy() -> AccessPolicy? {
        let found = policy.current()
        if policy.problem?.message != notedProblem {
            notedProblem = policy.problem?.message
            if let notedProblem {
                let effect =
                    found?.isClosed == true
                    ? "no program can use its secrets" : "the last policy stays in force"
                note("valet: warning: \(effect): \(policy.path): \(notedProblem)")
            }
        }
        return found
    }

    /// Whether it is known what the program of a client may do: ``Client/access`` is then that of
    /// now. If not, this begins to find it out.
    private func isReady(_ client: Client, for call: Call) throws(SystemError) -> Bool {
        guard let caller = client.caller else {
            if !client.isAskedFor {
                client.isAskedFor = true
                questions[try bus.askForProcess(of: call.sender)] = call.sender
            }
            return false
        }
        let rules = currentPolicy()
        // Without a policy, programs are only looked at for limits and questions.
        if caller.hasEnded {
            if caller.view?.program.isKnown != false {
                caller.view = ProgramView(AskingProgram(nil), version: policy.version)
            }
        } else if caller.view == nil || rules != nil || call.message.member == "Prompt" {
            guard isLookedAt(caller, rules) else { return false }
        }
        guard let rules, let view = caller.view else {
            client.access = nil
            return true
        }
        if client.access?.program !== view.program || client.access?.version != policy.version {
            let former = client.access
            client.access = AccessDecision(
                view.program, rules, version: policy.version, view.places,
                noteRead(by: view.program))
            // A further look at the same program, for paths that cannot be followed, ends no yes.
            if let former, former.version == policy.version,
                former.program.isSame(as: view.program)
            {
                client.access?.granted = former.granted
                client.access?.once = former.once
            }
        }
        return true
    }

    /// Whether what is known of a program is of now. Begins a look at it otherwise.
    private func isLookedAt(_ caller: CallingProcess, _ rules: AccessPolicy?) -> Bool {
        // A program is looked at anew if it runs another file, or if the policy has changed.
        if let view = caller.view, view.version == policy.version,
            view.program.isThere || !view.program.isKnown,
            caller.look != nil || !view.isPartial || !caller.nextLook.hasPassed
        {
            return true
        }
        if let process = caller.process, caller.look == nil {
            let inbox = inbox
            callers.look(at: caller, rules, version: policy.version) { view in
                inbox.add(.looked(process, view))
            }
        } else if !caller.isWaiting {
            callers.setUnknown(caller, version: policy.version)
        }
        return !caller.isWaiting
    }

    /// The present period between two locks; nil if it is not known, and without any need of it. A
    /// yes to the client ends with its period.
    private func lockPeriod(of client: Client) -> LockPeriod? {
        guard let access = client.access, !access.granted.isEmpty, let period = lockPeriod
        else { return nil }
        client.access = access.during(period)
        return period
    }

    /// The present period between two locks; nil if it is not known.
    private var lockPeriod: LockPeriod? {
        inbox.known { () throws(KeychainFailure) in
            try holdings.quick.list.session.store.keychain.lockPeriod()
        }
    }

    /// What the policy lets a Flatpak do, for which the portal asks; nil without one.
    func access(ofFlatpak id: String) -> AccessDecision? {
        guard let rules = currentPolicy() else { return nil }
        let program = AskingProgram(flatpak: id)
        return AccessDecision(program, rules, version: policy.version, [:], noteRead(by: program))
    }

    private func noteRead(by program: AskingProgram) -> @Sendable (String) -> Void {
        let inbox = inbox
        return { path in
            inbox.add(.noted(Escaping.printable("valet: \(program.title) reads \(path)")))
        }
    }

    /// Gives a session to a client, which its owner has been counted for.
    func addSession(_ session: TransferSession, to client: String) -> String {
        lastNumber += 1
        clients[client]?.sessions[lastNumber] = session
        return ObjectPath.session(lastNumber).text
    }

    /// The answer to a client of which `open` objects are open, and others need a prompt.
    private func answer(_ open: [String], _ prompt: UnlockPrompt?, for client: String) -> Answer {
        var path = ObjectPath.none
        if let prompt, let client = clients[client], let owner = client.caller?.owner {
            guard owner.promptCount < Self.maximalPromptCount else { return Self.tooManyObjects }
            owner.promptCount += 1
            lastNumber += 1
            client.prompts[lastNumber] = prompt
            path = ObjectPath.prompt(lastNumber).text
        }
        return .results { [path] message in
            message.write(open, as: "o")
            message.write(path, as: "o")
        }
    }

    /// The answer to a client that has agreed on a key. Its session has been counted.
    private func answer(_ agreement: KeyAgreement, for client: String) -> Answer {
        let path = addSession(agreement.session, to: client)
        return .results { message in
            message.write(variant: "ay") { message.write(agreement.publicKey.span) }
            message.write(path, as: "o")
        }
    }

    private func leave(_ name: String) {
        guard let left = clients.removeValue(forKey: name) else { return }
        for prompt in left.prompts.values { prompt.cancellation.cancel() }
        left.departure.cancel()
        workers.drop(name)
        guard let caller = left.caller else { return }
        caller.owner?.sessionCount -= left.sessions.count
        caller.owner?.promptCount -= left.prompts.count
        callers.remove(name, of: caller)
    }
}
