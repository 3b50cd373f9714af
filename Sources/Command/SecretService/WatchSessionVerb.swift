// SPDX-License-Identifier: Apache-2.0

package import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSystem

/// `valet watch-session`: locks the keychain with the session.
package enum WatchSessionVerb {
    package static let name = "watch-session"

    package static var declaration: CommandDeclaration {
        CommandDeclaration(
            name: name,
            abstract: "lock the keychain when the machine sleeps or the session is locked",
            discussion: [
                "Listens to logind until a signal ends it. Before the machine sleeps, and when the "
                    + "screen of this session is locked, it locks the keychain, for all programs "
                    + "that share opened keys; sleep waits for that, for up to the five seconds "
                    + "that logind grants. Unlocking the screen unlocks nothing, unless the PAM "
                    + "module of libpam-valet does.",
                "To start it with each session, put it into a user unit with "
                    + "'WantedBy=graphical-session.target' and 'Restart=always'.",
            ],
            exitCodes: [
                (.failure, "logind cannot be reached, or has ended"),
                (.notFound, "this is no session of logind"),
            ],
            examples: [("valet watch-session", "Until Ctrl-C.")])
    }

    package static func run(
        _ values: ParsedValues, _ context: Context
    ) throws(CLIError) -> ExitCode {
        let store = try requesting(KeychainSession.current()).store
        do {
            var logind = try Logind()
            context.console.note("valet: the keychain is locked with this session from now on")
            while true {
                let event = try logind.next()
                guard event != .awake else { continue }
                lock(store, context)
                if event == .sleep { logind.letSleep() }
            }
        } catch {
            let code: ExitCode = error.code.refusal == nil ? .failure : .notFound
            throw CLIError(code, "\(error)", hint: error.hint)
        }
    }

    private static func lock(_ store: ItemStore, _ context: Context) {
        do {
            try store.keychain.lock()
            context.console.note("valet: the keychain is locked")
        } catch {
            // A keychain that has no passcode, or does not exist, cannot be locked.
            guard ![.passcodeNotSet, .itemNotFound].contains(error.code) else { return }
            context.console.note("valet: warning: the keychain was not locked: \(error.message)")
        }
    }
}

/// What logind tells of this session (org.freedesktop.login1(5)).
private struct Logind: ~Copyable {
    private static let name = "org.freedesktop.login1"
    private static let operation = "listen to logind"
    private static let manager = BusObject(
        path: "/org/freedesktop/login1", interface: name + ".Manager")

    private var bus: SystemBus
    private let service: BusService
    /// logind's inhibitor lock: while it is open, the machine does not sleep. Nil once it may.
    private var delay: FileDescriptor?

    init() throws(SystemError) {
        let limit = WaitLimit(until: Deadline(after: .seconds(10)))
        var bus = try SystemBus(.system, limit)
        let service = try bus.service(Self.name, ownedBy: 0, limit)
        let session = Environment.ofProcess.text("XDG_SESSION_ID") ?? "auto"
        let call = BusCall(
            "GetSession", of: Self.manager, on: service, [session], to: Self.operation)
        guard let path = try bus.call(call, limit).first?.text else {
            throw SystemError(.malformed, during: Self.operation)
        }
        try bus.subscribe(to: Self.manager, of: service, limit)
        try bus.subscribe(
            to: BusObject(path: path, interface: Self.name + ".Session"), of: service, limit)
        delay = try Self.delay(&bus, service)
        self.bus = bus
        self.service = service
    }

    private static func delay(
        _ bus: inout SystemBus, _ service: BusService
    ) throws(SystemError) -> FileDescriptor {
        let call = BusCall(
            "Inhibit", of: manager, on: service,
            ["sleep", "Valet", "Lock the keychain", "delay"], to: operation)
        return try bus.descriptor(call, WaitLimit(until: Deadline(after: .seconds(10))))
    }

    enum Event {
        case lock, sleep, awake
    }

    /// Waits for the next event. After a sleep, takes the inhibitor lock again.
    mutating func next() throws(SystemError) -> Event {
        while true {
            let signal = try bus.nextSignal(
                of: service, WaitLimit(until: .never), to: Self.operation)
            switch signal.member {
            case "Lock": return .lock
            case "PrepareForSleep":
                if signal.arguments.first == .flag(true) { return .sleep }
                if delay == nil { delay = try Self.delay(&bus, service) }
                return .awake
            default: break
            }
        }
    }

    /// Releases the inhibitor lock, for which the machine's sleep waits.
    mutating func letSleep() { delay = nil }
}
