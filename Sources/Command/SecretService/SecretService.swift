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

    enum Event: Sendable {
        /// The call of that number has its answer.
        case answered(UInt64, Answer)
        case sessionItem(SessionItemChange, ItemPath)
        case observed(ObservedChanges)
        /// The keychain was locked or unlocked; with the properties of its collections.
        case lockChanged(isLocked: Bool, [PropertyChange])
        /// What a client can read of items that it has seen.
        case seen(_ client: String, ClientAccess?, [PropertyChange])
        /// Something that a client wants to use needs that prompt.
        case promptNeeded(_ client: String, UInt64, UnlockPrompt)
        case promptBegun(_ client: String, UInt64)
        /// The question of a prompt has its answer.
        case prompted(UInt64, DesktopQuestion.Answer)
        /// The client of a prompt can hear what is unlocked.
        case completed(_ client: String, UInt64, [String])
        /// Something for the person who runs the service.
        case noted(String)
    }

    enum SessionItemChange: String, Sendable {
        case created = "ItemCreated"
        case changed = "ItemChanged"
        case deleted = "ItemDeleted"
    }

    /// A call that another thread carries out.
    private final class Call {
        let message: BusMessage
        /// What the program that called may do; nil without a policy.
        let access: ClientAccess?
        /// Whether the call changes something.
        let isChange: Bool

        init(_ message: consuming BusMessage, _ access: ClientAccess?, isChange: Bool) {
            self.message = message
            self.access = access
            self.isChange = isChange
        }
    }

    /// What a client has, until it closes it or leaves the bus.
    struct Client {
        var sessions: [UInt64: TransferSession] = [:]
        var prompts: [UInt64: UnlockPrompt] = [:]
        var seen = SeenItems()
        /// nil without a policy.
        var access: ClientAccess?

        var isEmpty: Bool { sessions.isEmpty && prompts.isEmpty }
    }

    /// Limits per client: none needs more, and more could fill the memory. A prompt has up to 1 MiB
    /// of paths.
    private static let (maximalSessionCount, maximalPromptCount) = (1_000, 16)
    /// How long the end of the service may take: each of its threads may be in a call, which takes
    /// five seconds at most.
    private static let longestEnd = Duration.seconds(10)

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
    private var lastNumber: UInt64 = 0
    /// False when the service ends.
    private var isTakingCalls = true

    /// Connects, and becomes the Secret Service of the session.
    ///
    /// - Throws: ``SystemError``: as ``BusServer``; `refused` if another program is the Secret
    ///   Service.
    init(
        _ holdings: Holdings, _ policy: PolicyFile, replacing: Bool,
        _ note: @escaping (String) -> Void
    ) throws(SystemError) {
        (self.holdings, self.policy, self.note) = (holdings, policy, note)
        (inbox, workers) = (try Inbox(), try Workers())
        observer = KeychainObserver(holdings, inbox)
        bus = try BusServer(WaitLimit(until: Deadline(after: .seconds(10))))
        try bus.listen(
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                + "member='NameOwnerChanged',arg2=''")
        try bus.listen("type='signal',sender='org.freedesktop.DBus',member='NameLost'")
        observer.start()
        guard try bus.own(Self.busName, replacing: replacing) else {
            throw SystemError(
                .refused("org.freedesktop.DBus.Error.NameHasOwner"),
                during: "become the Secret Service",
                hint: "stop the other program, or replace it: 'valet serve --replace'")
        }
        // The portal's backend as well, unless another program is it.
        _ = try bus.own(Portal.busName, replacing: true)
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
                for event in inbox.take() { try handle(event) }
                let limit = WaitLimit(until: end, signals: inbox.descriptor)
                guard let message = try bus.receive(limit) else { continue }
                end = idle.map { Deadline(after: $0) } ?? .never
                guard try handle(message) else { return .replaced }
            } catch {
                switch error.code {
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
            for event in inbox.take() { try handle(event) }
            guard !calls.isEmpty || bus.hasUnsentMessages else { return }
            let limit = WaitLimit(until: deadline, signals: inbox.descriptor)
            guard let message = try bus.receive(limit) else { continue }
            _ = try handle(message)
        }
    }

    /// Gives up the names, so that the bus starts a new service for later calls, and takes the
    /// calls that were sent before.
    private func giveUpNames(_ deadline: Deadline) throws(SystemError) {
        for name in [Self.busName, Portal.busName] {
            // Another program may have the name of the portal's backend.
            try? bus.release(name)
        }
        while !deadline.hasPassed, let message = try bus.received() { _ = try handle(message) }
    }

    // MARK: Messages

    /// - Returns: false if this is not the Secret Service any more.
    private func handle(_ message: consuming BusMessage) throws(SystemError) -> Bool {
        switch message.kind {
        case .call:
            let sender = message.sender
            let access = access(of: sender)
            // With a policy, an unknown program is refused every call, changes included.
            if let access, !access.program.isKnown {
                try send(Self.unknownProgram, to: message)
                return true
            }
            switch plan(message) {
            case .now(let answer): try send(answer, to: message)
            case .reading(let body):
                // Answers in turn: at once only if no earlier call of the client is pending.
                if !workers.isBusy(for: sender) {
                    let answer = Answer.of(body, holdings.seen(by: access).quick)
                    guard case .refusal(.timeout, _) = answer else {
                        try send(answer, to: message, access)
                        return true
                    }
                }
                ask(message, body, access, isChange: false)
            case .changing(let body): ask(message, body, access, isChange: true)
            }
        case .signal:
            // Any connection can send any signal to any other.
            guard message.sender == BusServer.bus else { break }
            switch message.member {
            case "NameLost": return message.text() != Self.busName
            case "NameOwnerChanged":
                guard let name = message.text(), message.text() != nil, message.text() == "" else {
                    break
                }
                leave(name)
            default: break
            }
        default: break
        }
        return true
    }

    /// Has another thread carry out a call.
    private func ask(
        _ message: consuming BusMessage, _ body: @escaping Plan.Body, _ access: ClientAccess?,
        isChange: Bool
    ) {
        lastNumber += 1
        let (number, inbox, holdings) = (lastNumber, inbox, holdings.seen(by: access))
        let sender = message.sender
        calls[number] = Call(message, access, isChange: isChange)
        guard isTakingCalls else {
            return inbox.add(
                .answered(number, .refusal(.failed, "the service is ending: try again")))
        }
        let refusal: Answer
        switch workers.run(
            for: sender, { inbox.add(.answered(number, Answer.of(body, holdings))) })
        {
        case .taken: return
        case .tooManyJobs: refusal = .refusal(.limitsExceeded, "too many calls")
        case .noThread: refusal = .refusal(.failed, "no thread could be started: try again")
        }
        inbox.add(.answered(number, refusal))
    }

    private static let unknownProgram = Answer.refusal(
        .isLocked, "the program that asks is not known, and there is a policy")

    /// Sends the answer of a read if the program and the policy are as they were at the time of the
    /// call, and no grant has been withdrawn since; otherwise sends a refusal.
    private func send(
        _ answer: Answer, to call: borrowing BusMessage, _ access: ClientAccess?
    ) throws(SystemError) {
        let isCurrent = isCurrent(access, of: call.sender)
        try send(isCurrent ? answer : Answer(ClosedItems.closed), to: call)
    }

    /// Whether a client may still do what it could with this access.
    func isCurrent(_ access: ClientAccess?, of client: String) -> Bool {
        guard let access else { return currentPolicy() == nil }
        return access.program.isThere && currentPolicy() != nil
            && access.version == policy.version
            && access.granted.isSubset(of: clients[client]?.access?.granted ?? [])
    }

    private func send(_ answer: Answer, to call: borrowing BusMessage) throws(SystemError) {
        switch answer {
        case .results(let write): try bus.reply(to: call, write)
        case .refusal(let error, let text): try bus.refuse(call, error.rawValue, text)
        }
    }

    private func handle(_ event: Event) throws(SystemError) {
        switch event {
        case .answered(let number, let answer):
            guard let call = calls.removeValue(forKey: number) else { return }
            if call.isChange {
                try send(answer, to: call.message)
            } else {
                try send(answer, to: call.message, call.access)
            }
        case .sessionItem(let change, let item):
            try emit(change.rawValue, item: item)
            if change == .changed { tellSeenItems([item]) }
        case .observed(let observed): try handle(observed)
        case .lockChanged(let isLocked, let properties):
            if isLocked { for client in clients.keys { clients[client]?.access?.granted = [] } }
            try emitLock(isLocked, properties)
            if !isLocked { endPasscodeQuestion() }
            tellSeenItems()
        case .seen(let client, let access, let changes):
            try emit(changes, seenBy: client, access)
        case .promptNeeded(let client, let number, let prompt):
            // Ignored if the client has left the bus.
            clients[client]?.prompts[number] = prompt
        case .promptBegun(let client, let number): begin(number, of: client)
        case .prompted(let number, let outcome): try complete(number, outcome)
        case .completed(let client, let number, let objects):
            try emitCompleted(number, of: client, objects)
        case .noted(let text): note(text)
        }
    }

    // MARK: Signals

    func emit(
        _ member: String, item: ItemPath, to client: String? = nil
    ) throws(SystemError) {
        let collection = ObjectPath.collection(item.collection).text
        try bus.emit(member, of: Interface.collection.rawValue, at: collection, to: client) {
            $0.write(item.text, as: "o")
        }
    }

    private func handle(_ observed: ObservedChanges) throws(SystemError) {
        for change in observed.changes { try emit(change) }
        guard currentPolicy() == nil else {
            // Signals that go to all programs tell nothing of what is in an item.
            return tellSeenItems(observed.items)
        }
        for change in observed.properties { try emit(change) }
        tellSeenItems(observed.untold)
    }

    private func emit(_ change: ObservedChange) throws(SystemError) {
        switch change.subject {
        case .item(let item): try emit("Item" + change.kind.rawValue, item: item)
        case .collection(let name): try emit("Collection" + change.kind.rawValue, name)
        }
    }

    private func emit(_ member: String, _ collection: String) throws(SystemError) {
        try bus.emit(member, of: Interface.service.rawValue, at: ObjectPath.root) {
            $0.write(ObjectPath.collection(collection).text, as: "o")
        }
    }

    /// Tells that all collections of the keychain were locked or unlocked.
    private func emitLock(
        _ isLocked: Bool, _ properties: [PropertyChange]
    ) throws(SystemError) {
        for change in properties {
            guard case .collection(let name) = change.object else {
                try emit(change)
                continue
            }
            if currentPolicy() == nil { try emit(change) } else { try emitLocked(isLocked, name) }
            try emit("CollectionChanged", name)
            guard !isLocked else { continue }
            for (client, state) in clients where state.access?.access(to: name) ?? .allow != .allow
            {
                try emitLocked(true, name, to: client)
            }
        }
    }

    func emitLocked(
        _ isLocked: Bool, _ collection: String, to client: String? = nil
    ) throws(SystemError) {
        let change = PropertyChange(
            object: .collection(collection), properties: [("Locked", .flag(isLocked))])
        try emit(change, to: client)
    }

    func emit(_ change: PropertyChange, to client: String? = nil) throws(SystemError) {
        try bus.emit(
            "PropertiesChanged", of: Interface.properties.rawValue, at: change.object.text,
            to: client
        ) { message in
            message.write(change.object.interface.rawValue)
            message.write(change.properties)
            message.write([], as: "s")
        }
    }

    // MARK: Clients

    func process(of client: String) -> Int32? { bus.process(of: client) }

    /// The policy; nil without a file. A mistake in the file is noted when it is first seen.
    private func currentPolicy() -> AccessPolicy? {
        let found = policy.current()
        if policy.problem?.message != notedProblem {
            notedProblem = policy.problem?.message
            if let notedProblem {
                note(
                    "valet: warning: no program can use its secrets: \(policy.path): "
                        + notedProblem)
            }
        }
        return found
    }

    /// What the policy lets a client do; nil without one.
    private func access(of client: String) -> ClientAccess? {
        guard let rules = currentPolicy() else {
            clients[client]?.access = nil
            return nil
        }
        // A client is looked at anew if it runs another program or file, or if the policy has
        // changed.
        if let known = clients[client]?.access, known.version == policy.version,
            known.program.isThere
        {
            return known
        }
        let process = bus.process(of: client)
        var program = AskingProgram(process: process)
        // The number must have belonged to the client while the program was looked at.
        if bus.process(of: client) != process { program = AskingProgram(process: nil) }
        let access = ClientAccess(program, rules, version: policy.version, noteRead(by: program))
        clients[client, default: Client()].access = access
        return access
    }

    /// What the policy lets a Flatpak do, for which the portal asks; nil without one.
    func access(ofFlatpak id: String) -> ClientAccess? {
        guard let rules = currentPolicy() else { return nil }
        let program = AskingProgram(flatpak: id)
        return ClientAccess(program, rules, version: policy.version, noteRead(by: program))
    }

    private func noteRead(by program: AskingProgram) -> @Sendable (String) -> Void {
        let inbox = inbox
        return { path in
            inbox.add(.noted(Escaping.printable("valet: \(program.title) reads \(path)")))
        }
    }

    /// A number for a new session of a client; nil if it has too many.
    func newSession(of client: String) -> UInt64? {
        let count = clients[client]?.sessions.count ?? 0
        return count < Self.maximalSessionCount ? newNumber(for: client) : nil
    }

    /// A number for a new prompt of a client; nil if it has too many.
    func newPrompt(of client: String) -> UInt64? {
        let count = clients[client]?.prompts.count ?? 0
        return count < Self.maximalPromptCount ? newNumber(for: client) : nil
    }

    private func newNumber(for client: String) -> UInt64 {
        // A client that is known from now on is forgotten when it leaves.
        clients[client] = clients[client] ?? Client()
        lastNumber += 1
        return lastNumber
    }

    private func leave(_ client: String) {
        guard let left = clients.removeValue(forKey: client) else { return }
        for prompt in left.prompts.values { prompt.cancellation.cancel() }
    }

    /// How many questions are open or wait for their turn.
    var askedCount: Int {
        clients.values.reduce(0) { $0 + $1.prompts.values.count { $0.stage == .asked } }
    }
}
