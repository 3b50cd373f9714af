// SPDX-License-Identifier: Apache-2.0

/// A connection to the bus. Dropping it closes it, and services notice.
///
/// For one thread at a time. A child of `fork` cannot use its parent's connection.
package struct SystemBus: ~Copyable {
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
    package init(_ place: BusPlace, _ limit: WaitLimit) throws(SystemError) {
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
    package mutating func service(
        _ name: String, ownedBy user: UInt32, _ limit: WaitLimit
    ) throws(SystemError) -> BusService {
        let operation = "find \(name)"
        let owner = try owner(of: name, limit, operation)
        // Subscribes before it asks for the owner's user, to notice a service that ends in between.
        try addMatch(
            "type='signal',sender='\(BusCall.bus)',path='\(BusCall.busPath)',"
                + "interface='\(BusCall.bus)',member='NameOwnerChanged',arg0='\(owner)'", limit)
        let number = try self.user(of: owner, limit, operation)
        guard number == Int64(user) else {
            throw SystemError(
                .untrusted, during: operation,
                hint: "user \(number) owns \(name), but user \(user) must own it")
        }
        senders.insert(owner)
        return BusService(uniqueName: owner)
    }

    /// Begins to receive the signals of an object.
    ///
    /// - Throws: The codes of ``call(_:_:)``.
    package mutating func subscribe(
        to object: BusObject, of service: BusService, _ limit: WaitLimit
    ) throws(SystemError) {
        try addMatch(
            "type='signal',sender='\(service.uniqueName)',path='\(object.path)',"
                + "interface='\(object.interface)'", limit)
    }

    /// Calls a method and waits for its result. Keeps the signals that arrive before it.
    ///
    /// - Throws: `refused`, `serviceEnded`; `disconnected`, `malformed`, `timedOut`, `cancelled`,
    ///   `other`. The service may execute the call all the same.
    @discardableResult
    package mutating func call(
        _ call: BusCall, _ limit: WaitLimit
    ) throws(SystemError) -> [BusValue] {
        try answer(to: call, limit).values(call.operation)
    }

    /// Calls a method whose result is a descriptor.
    ///
    /// - Throws: The codes of ``call(_:_:)``.
    package mutating func descriptor(
        _ call: BusCall, _ limit: WaitLimit
    ) throws(SystemError) -> FileDescriptor {
        guard let descriptor = try answer(to: call, limit).descriptor() else {
            throw SystemError(.malformed, during: call.operation)
        }
        return descriptor
    }

    private mutating func answer(
        to call: BusCall, _ limit: WaitLimit
    ) throws(SystemError) -> BusMessage {
        let cookie = try connection.send(call)
        while !endedServices.contains(call.destination) {
            guard let message = try connection.receive(limit, call.operation) else { continue }
            guard message.answers(cookie, to: call.destination) else {
                try keep(message)
                continue
            }
            guard let name = message.errorName else { return message }
            let isAboutService = message.sender == BusCall.bus && call.destination != BusCall.bus
            throw SystemError(
                isAboutService && Self.meansAbsence(name) ? .serviceEnded : .refused(name),
                during: call.operation)
        }
        throw SystemError(.serviceEnded, during: call.operation)
    }

    /// Waits for the next signal of `service`.
    ///
    /// - Throws: `serviceEnded`; `disconnected`, `malformed`, `timedOut`, `cancelled`, `other`.
    package mutating func nextSignal(
        of service: BusService, _ limit: WaitLimit, to operation: String
    ) throws(SystemError) -> BusSignal {
        while true {
            if let index = signals.firstIndex(where: { $0.sender == service.uniqueName }) {
                return signals.remove(at: index)
            }
            guard !endedServices.contains(service.uniqueName) else {
                throw SystemError(.serviceEnded, during: operation)
            }
            if let message = try connection.receive(limit, operation) { try keep(message) }
        }
    }

    private mutating func owner(
        of name: String, _ limit: WaitLimit, _ operation: String
    ) throws(SystemError) -> String {
        let question = BusCall("GetNameOwner", .text(name), to: operation)
        do {
            return try uniqueName(call(question, limit), operation)
        } catch {
            guard let reason = error.code.refusal, Self.meansAbsence(reason) else {
                throw error
            }
        }
        do throws(SystemError) {
            try call(
                BusCall("StartServiceByName", .text(name), .number(0), to: operation), limit)
            return try uniqueName(call(question, limit), operation)
        } catch {
            guard error.code.refusal != nil else { throw error }
            throw SystemError(.serviceAbsent, during: operation)
        }
    }

    /// The user whose process has a unique name.
    private mutating func user(
        of owner: String, _ limit: WaitLimit, _ operation: String
    ) throws(SystemError) -> Int64 {
        let question = BusCall("GetConnectionUnixUser", .text(owner), to: operation)
        do throws(SystemError) {
            guard case .number(let number) = try call(question, limit).first else {
                throw SystemError(.malformed, during: operation)
            }
            return number
        } catch {
            guard let reason = error.code.refusal, Self.meansAbsence(reason) else {
                throw error
            }
            throw SystemError(.serviceEnded, during: operation)
        }
    }

    private func uniqueName(
        _ values: [BusValue], _ operation: String
    ) throws(SystemError) -> String {
        guard let name = values.first?.text, name.hasPrefix(":") else {
            throw SystemError(.malformed, during: operation)
        }
        return name
    }

    private mutating func addMatch(
        _ rule: String, _ limit: WaitLimit
    ) throws(SystemError) {
        try call(BusCall("AddMatch", .text(rule), to: "listen on the system bus"), limit)
    }

    /// Whether the bus reports with this error that a name has no owner, or no longer has one.
    private static func meansAbsence(_ error: String) -> Bool {
        ["NameHasNoOwner", "ServiceUnknown", "NoReply"].contains {
            error == "\(BusCall.bus).Error.\($0)"
        }
    }

    /// Keeps a message if it is a signal of the bus or of a service in use.
    private mutating func keep(_ message: borrowing BusMessage) throws(SystemError) {
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
                throw SystemError(.malformed, during: "listen on the system bus")
            }
            signals.append(signal)
        }
    }
}
