// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// A connection to the bus. Dropping it closes it, and services notice.
///
/// For one thread at a time. A child of `fork` cannot use its parent's connection.
struct SystemBus: ~Copyable {
    /// More signals than a service sends while one answer is pending.
    private static let maximumSignalCount = 64

    private let connection: BusConnection
    /// The unique names whose signals are kept: any connection can send signals to any other.
    private var senders: Set<String> = [BusCall.bus]
    private var signals: [BusSignal] = []
    private var endedServices: Set<String> = []

    /// Connects.
    ///
    /// - Throws: `libraryAbsent`, `busAbsent`, `untrusted`, `disconnected`, `timedOut`,
    ///   `cancelled`, `other`.
    init(_ place: BusPlace, _ limit: WaitLimit) throws(SystemBusError) {
        let connection = try BusConnection.begin(place)
        while !connection.isReady {
            _ = try connection.receive(limit, "connect to the system bus")
        }
        self.connection = connection
    }

    /// Finds the owner of a name, starts the service if it does not run, and checks that the owner
    /// runs as user `user`. All further calls use the owner's unique name: a later owner of the
    /// name gets none of them.
    ///
    /// - Throws: `serviceAbsent`, `serviceEnded`, `untrusted`; `disconnected`, `malformed`,
    ///   `refused`, `timedOut`, `cancelled`, `other`.
    mutating func service(
        _ name: String, ownedBy user: UInt32, _ limit: WaitLimit
    ) throws(SystemBusError) -> BusService {
        let operation = "find \(name)"
        let owner = try owner(of: name, limit, operation)
        // Before asking for its user: a service that ends between the two calls is noticed.
        try addMatch(
            "type='signal',sender='\(BusCall.bus)',path='\(BusCall.busPath)',"
                + "interface='\(BusCall.bus)',member='NameOwnerChanged',arg0='\(owner)'", limit)
        let number = try self.user(of: owner, limit, operation)
        guard number == Int64(user) else {
            throw SystemBusError(
                .untrusted, during: operation,
                hint: "user \(number) owns \(name), but user \(user) must own it")
        }
        senders.insert(owner)
        return BusService(uniqueName: owner)
    }

    /// Begins to receive the signals of an object.
    ///
    /// - Throws: The codes of ``call(_:_:)``.
    mutating func subscribe(
        to object: BusObject, of service: BusService, _ limit: WaitLimit
    ) throws(SystemBusError) {
        try addMatch(
            "type='signal',sender='\(service.uniqueName)',path='\(object.path)',"
                + "interface='\(object.interface)'", limit)
    }

    /// Calls a method and waits for its result. Keeps the signals that arrive before it.
    ///
    /// - Throws: `refused`, `serviceEnded`; `disconnected`, `malformed`, `timedOut`, `cancelled`,
    ///   `other`. The service may execute the call all the same.
    @discardableResult
    mutating func call(
        _ call: BusCall, _ limit: WaitLimit
    ) throws(SystemBusError) -> [BusValue] {
        let cookie = try connection.send(call)
        while !endedServices.contains(call.destination) {
            guard let message = try connection.receive(limit, call.operation) else { continue }
            guard message.answers(cookie, to: call.destination) else {
                try keep(message)
                continue
            }
            guard let name = message.errorName else { return try message.values(call.operation) }
            let isAboutService = message.sender == BusCall.bus && call.destination != BusCall.bus
            throw SystemBusError(
                isAboutService && Self.meansAbsence(name) ? .serviceEnded : .refused(name),
                during: call.operation)
        }
        throw SystemBusError(.serviceEnded, during: call.operation)
    }

    /// Waits for the next signal of `service`.
    ///
    /// - Throws: `serviceEnded`; `disconnected`, `malformed`, `timedOut`, `cancelled`, `other`.
    mutating func nextSignal(
        of service: BusService, _ limit: WaitLimit, to operation: String
    ) throws(SystemBusError) -> BusSignal {
        while true {
            if let index = signals.firstIndex(where: { $0.sender == service.uniqueName }) {
                return signals.remove(at: index)
            }
            guard !endedServices.contains(service.uniqueName) else {
                throw SystemBusError(.serviceEnded, during: operation)
            }
            if let message = try connection.receive(limit, operation) { try keep(message) }
        }
    }

    private mutating func owner(
        of name: String, _ limit: WaitLimit, _ operation: String
    ) throws(SystemBusError) -> String {
        let question = BusCall("GetNameOwner", .text(name), to: operation)
        do throws(SystemBusError) {
            return try uniqueName(call(question, limit), operation)
        } catch {
            guard case .refused(let reason) = error.code, Self.meansAbsence(reason) else {
                throw error
            }
        }
        do throws(SystemBusError) {
            try call(
                BusCall("StartServiceByName", .text(name), .number(0), to: operation), limit)
            return try uniqueName(call(question, limit), operation)
        } catch {
            guard case .refused = error.code else { throw error }
            throw SystemBusError(.serviceAbsent, during: operation)
        }
    }

    /// The user whose process has a unique name.
    private mutating func user(
        of owner: String, _ limit: WaitLimit, _ operation: String
    ) throws(SystemBusError) -> Int64 {
        let question = BusCall("GetConnectionUnixUser", .text(owner), to: operation)
        do throws(SystemBusError) {
            guard case .number(let number) = try call(question, limit).first else {
                throw SystemBusError(.malformed, during: operation)
            }
            return number
        } catch {
            guard case .refused(let reason) = error.code, Self.meansAbsence(reason) else {
                throw error
            }
            throw SystemBusError(.serviceEnded, during: operation)
        }
    }

    private func uniqueName(
        _ values: [BusValue], _ operation: String
    ) throws(SystemBusError) -> String {
        guard let name = values.first?.text, name.hasPrefix(":") else {
            throw SystemBusError(.malformed, during: operation)
        }
        return name
    }

    private mutating func addMatch(
        _ rule: String, _ limit: WaitLimit
    ) throws(SystemBusError) {
        try call(BusCall("AddMatch", .text(rule), to: "listen on the system bus"), limit)
    }

    /// Whether the bus reports with this error that a name has no owner, or no longer has one.
    private static func meansAbsence(_ error: String) -> Bool {
        ["NameHasNoOwner", "ServiceUnknown", "NoReply"].contains {
            error == "\(BusCall.bus).Error.\($0)"
        }
    }

    /// Keeps a message if it is a signal of the bus or of a service in use.
    private mutating func keep(_ message: borrowing BusMessage) throws(SystemBusError) {
        guard message.kind == .signal, senders.contains(message.sender) else { return }
        let signal = try message.signal()
        if signal.sender == BusCall.bus {
            // The name, its old owner, and its new owner.
            guard signal.member == "NameOwnerChanged", signal.arguments.count == 3,
                let name = signal.arguments[0].text, signal.arguments[2].text == ""
            else { return }
            endedServices.insert(name)
        } else {
            guard signals.count < Self.maximumSignalCount else {
                throw SystemBusError(.malformed, during: "listen on the system bus")
            }
            signals.append(signal)
        }
    }
}

/// Why a call over the system bus failed: the operation, the reason and, if there is one, the
/// remedy. ``FingerprintError`` translates it for the callers of this module.
struct SystemBusError: Error, Hashable, Sendable {
    /// What the caller can do about it.
    enum Code: Hashable, Sendable {
        /// libsystemd is not installed, or too old.
        case libraryAbsent
        /// No process listens at the place of the bus; `systemError` says why.
        case busAbsent
        /// The bus or the service belongs to the wrong user.
        case untrusted
        /// The service does not run, and could not be started.
        case serviceAbsent
        /// The service ended.
        case serviceEnded
        /// The service, or the bus in its place, answered with the error of this name.
        case refused(String)
        /// No answer arrived before the deadline.
        case timedOut
        /// The caller used the cancellation.
        case cancelled
        /// The bus closed the connection, or does not follow the D-Bus protocol.
        case disconnected
        /// The answer has an unexpected form.
        case malformed
        /// The system refused; `systemError` says why.
        case other
    }

    /// What the caller can do about it.
    let code: Code
    /// The operation, such as "connect to the system bus".
    let operation: String
    /// The remedy, for a person.
    let hint: String?
    /// `errno`, where the system gave a reason; else 0.
    let systemError: Int32

    init(_ code: Code, during operation: String, hint: String? = nil, systemError: Int32 = 0) {
        self.code = code
        self.operation = operation
        self.hint = hint
        self.systemError = systemError
    }
}

extension SystemBusError: CustomStringConvertible {
    /// One lower-case line: operation, reason and codes.
    var description: String {
        let text = "could not \(operation): \(code.reason)"
        return systemError == 0 ? text : text + ", errno \(systemError)"
    }
}

extension SystemBusError.Code {
    fileprivate var reason: String {
        switch self {
        case .libraryAbsent: "libsystemd cannot be loaded"
        case .busAbsent: "there is no system bus"
        case .untrusted: "it belongs to the wrong user"
        case .serviceAbsent: "the service is missing"
        case .serviceEnded: "the service ended"
        case .refused(let name): "refused (\(name))"
        case .timedOut: "no answer in time"
        case .cancelled: "cancelled"
        case .disconnected: "the connection to the system bus was lost"
        case .malformed: "the answer is invalid"
        case .other: "the system refused"
        }
    }
}
