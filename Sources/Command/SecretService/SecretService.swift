// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

/// The Secret Service on the session bus, with the user's keychain behind it:
/// docs/SECRET-SERVICE.md.
///
/// One thread runs the bus, owns sessions and prompts, and answers what takes microseconds. Other
/// calls run on other threads, which put their answers into the inbox.
final class SecretService {
    static let busName = "org.freedesktop.secrets"

    enum Event: Sendable {
        /// The call of that number has its answer.
        case answered(UInt64, Answer)
        case sessionItem(SessionItemChange, ItemPath)
        case observed([ObservedChange])
        case lockChanged(Bool)
        /// A prompt has ended.
        case prompted(UInt64, UnlockPrompt.Outcome)
        /// A prompt is not needed.
        case forgotten(UInt64)
    }

    enum SessionItemChange: String, Sendable {
        case created = "ItemCreated"
        case changed = "ItemChanged"
        case deleted = "ItemDeleted"
    }

    /// A call that another thread carries out.
    private final class Call {
        let message: BusMessage

        init(_ message: consuming BusMessage) { self.message = message }
    }

    /// What a client has, until it closes it or leaves the bus.
    struct Client {
        var sessions: [UInt64: TransferSession] = [:]
        var prompts: [UInt64: UnlockPrompt] = [:]
    }

    /// More than any client needs: it could fill the memory.
    private static let maximalObjectCount = 1_000

    let holdings: Holdings
    let inbox: Inbox<Event>
    var clients: [String: Client] = [:]
    private let bus: BusServer
    private let observer: KeychainObserver
    private let workers: Workers
    /// Writes a line for the person who runs the service.
    private let note: (String) -> Void
    private var calls: [UInt64: Call] = [:]
    private var lastNumber: UInt64 = 0
    private var isLocked = false

    /// Connects, and becomes the Secret Service of the session.
    ///
    /// - Throws: ``SystemError``: as ``BusServer``; `refused` if another program is it.
    init(
        _ session: KeychainSession, replacing: Bool, _ note: @escaping (String) -> Void
    ) throws(SystemError) {
        self.note = note
        (holdings, inbox, workers) = (Holdings(session), try Inbox(), try Workers())
        observer = KeychainObserver(session.store, inbox)
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

    /// Answers calls until another program replaces this one, the bus ends, or for `idle` nobody
    /// has called. It does not end while a client has a session, or the collection in memory items.
    ///
    /// - Throws: ``SystemError`` for what no restart would mend.
    func run(idle: Duration?) throws(SystemError) {
        var end = idle.map { Deadline(after: $0) } ?? .never
        while true {
            for event in inbox.take() { try handle(event) }
            do throws(SystemError) {
                let limit = WaitLimit(until: end, signals: inbox.descriptor)
                guard let message = try bus.receive(limit) else { continue }
                end = idle.map { Deadline(after: $0) } ?? .never
                guard try handle(message) else { return }
            } catch {
                switch error.code {
                case .timedOut where calls.isEmpty && clients.isEmpty && !holdings.hasSessionItems:
                    return
                case .timedOut: end = idle.map { Deadline(after: $0) } ?? .never
                // The session has ended.
                case .disconnected: return
                default: throw error
                }
            }
        }
    }

    // MARK: Messages

    /// - Returns: false if this is not the Secret Service any more.
    private func handle(_ message: consuming BusMessage) throws(SystemError) -> Bool {
        switch message.kind {
        case .call:
            let sender = message.sender
            switch plan(message) {
            case .now(let answer): try send(answer, to: message)
            case .reading(let body):
                // Behind what the client has asked before.
                if !workers.isBusy(for: sender) {
                    let answer = Answer.of(body, holdings.quick)
                    guard case .refusal(.timeout, _) = answer else {
                        try send(answer, to: message)
                        return true
                    }
                }
                ask(message, body)
            case .asking(let body): ask(message, body)
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
    private func ask(_ message: consuming BusMessage, _ body: @escaping Plan.Body) {
        lastNumber += 1
        let (number, inbox, holdings) = (lastNumber, inbox, holdings)
        let sender = message.sender
        calls[number] = Call(message)
        let isTaken = workers.run(for: sender) {
            inbox.add(.answered(number, Answer.of(body, holdings)))
        }
        if !isTaken {
            inbox.add(.answered(number, .refusal(.limitsExceeded, "too many calls")))
        }
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
            try send(answer, to: call.message)
        case .sessionItem(let change, let item):
            try emit(change.rawValue, item: item)
        case .observed(let changes):
            for change in changes { try emit(change) }
        case .lockChanged(let isLocked):
            self.isLocked = isLocked
            try emitLock()
        case .prompted(let number, let outcome): try complete(number, outcome)
        case .forgotten(let number):
            for client in clients.keys { clients[client]?.prompts[number] = nil }
        }
    }

    // MARK: Signals

    private func emit(_ member: String, item: ItemPath) throws(SystemError) {
        let collection = ObjectPath.collection(item.collection).text
        try bus.emit(member, of: Interface.collection.rawValue, at: collection) {
            $0.write(item.text, as: "o")
        }
    }

    private func emit(_ change: ObservedChange) throws(SystemError) {
        switch change.subject {
        case .item(let item): try emit("Item" + change.kind.rawValue, item: item)
        case .collection(let name):
            try bus.emit(
                "Collection" + change.kind.rawValue, of: Interface.service.rawValue,
                at: ObjectPath.root
            ) { $0.write(ObjectPath.collection(name).text, as: "o") }
        }
    }

    /// Tells that all collections of the keychain were locked or unlocked.
    private func emitLock() throws(SystemError) {
        let isLocked = isLocked
        guard let names = try? holdings.list.all().map(\.name) else { return }
        for name in names {
            try bus.emit(
                "PropertiesChanged", of: Interface.properties.rawValue,
                at: ObjectPath.collection(name).text
            ) { message in
                message.write(Interface.collection.rawValue)
                message.write("a", of: "{sv}") {
                    message.write("e", of: "sv") {
                        message.write("Locked")
                        message.write(variant: "b") { message.write(isLocked) }
                    }
                }
                message.write([], as: "s")
            }
        }
    }

    // MARK: Clients

    func process(of client: String) -> Int32? { bus.process(of: client) }

    /// A number for a new object of a client; nil if it has too many.
    func newNumber(for client: String) -> UInt64? {
        let known = clients[client] ?? Client()
        guard known.sessions.count + known.prompts.count < Self.maximalObjectCount else {
            return nil
        }
        lastNumber += 1
        return lastNumber
    }

    private func leave(_ client: String) {
        guard let left = clients.removeValue(forKey: client) else { return }
        for prompt in left.prompts.values { prompt.cancellation.cancel() }
    }

    /// How many questions are open or wait for their turn.
    var askedCount: Int {
        clients.values.reduce(0) { $0 + $1.prompts.values.count { $0.isAsked } }
    }

    /// Tells the client of a prompt how it ended.
    private func complete(
        _ number: UInt64, _ outcome: UnlockPrompt.Outcome
    ) throws(SystemError) {
        // Clients only hear that it was dismissed.
        if case .failed(let reason) = outcome {
            note("valet: warning: the keychain was not unlocked: \(reason)")
        }
        let isDone = if case .unlocked = outcome { true } else { false }
        for (client, state) in clients {
            guard let prompt = state.prompts[number] else { continue }
            clients[client]?.prompts[number] = nil
            let objects = isDone ? prompt.objects : []
            try bus.emit(
                "Completed", of: Interface.prompt.rawValue, at: ObjectPath.prompt(number).text
            ) { message in
                message.write(!isDone)
                message.write(variant: "ao") { message.write(objects, as: "o") }
            }
        }
    }
}
