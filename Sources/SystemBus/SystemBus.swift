// SPDX-License-Identifier: Apache-2.0

/// A connection to the bus. Dropping it closes it, and services notice.
///
/// One thread at a time; a child of `fork` cannot use its parent's.
package struct SystemBus: ~Copyable {
    /// More than anybody sends while one answer is waited for.
    private static let maximumSignalCount = 64

    private let connection: BusConnection
    /// The unique names whose signals count: anybody may send anybody a signal.
    private var senders: Set<String> = [BusCall.bus]
    private var signals: [BusSignal] = []
    private var endedServices: Set<String> = []

    /// Connects.
    ///
    /// - Throws: `libraryAbsent`, `busAbsent`, `untrusted`, `disconnected`, `timedOut`,
    ///   `cancelled`, `other`.
    package init(_ place: BusPlace, _ patience: Patience) throws(SystemBusError) {
        let connection = try BusConnection.begin(place)
        while !connection.isReady {
            _ = try connection.receive(patience, "connect to the system bus")
        }
        self.connection = connection
    }

    /// Finds who owns a name, has the bus start the service if nobody does, and checks that the
    /// owner is user `user`. From then on it is known by its unique name alone, so that nobody who
    /// takes over the name later is spoken to.
    ///
    /// - Throws: `serviceAbsent`, `serviceEnded`, `untrusted`; `disconnected`, `malformed`,
    ///   `refused`, `timedOut`, `cancelled`, `other`.
    package mutating func service(
        _ name: String, ownedBy user: UInt32, _ patience: Patience
    ) throws(SystemBusError) -> BusService {
        let operation = "find \(name)"
        let owner = try owner(of: name, patience, operation)
        // Before its owner is asked for: a service that goes between the two is missed by neither.
        try addMatch(
            "type='signal',sender='\(BusCall.bus)',path='\(BusCall.busPath)',"
                + "interface='\(BusCall.bus)',member='NameOwnerChanged',arg0='\(owner)'", patience)
        let number = try self.user(of: owner, patience, operation)
        guard number == Int64(user) else {
            throw SystemBusError(
                .untrusted, during: operation,
                hint: "user \(number) owns \(name), which must be user \(user)'s")
        }
        senders.insert(owner)
        return BusService(uniqueName: owner)
    }

    /// Begins to receive the signals of an object.
    ///
    /// - Throws: as ``call(_:_:)``.
    package mutating func subscribe(
        to object: BusObject, of service: BusService, _ patience: Patience
    ) throws(SystemBusError) {
        try addMatch(
            "type='signal',sender='\(service.uniqueName)',path='\(object.path)',"
                + "interface='\(object.interface)'", patience)
    }

    /// Calls a method and waits for what it returns. Signals that come meanwhile are kept.
    ///
    /// - Throws: `refused`, `serviceEnded`; `disconnected`, `malformed`, `timedOut`, `cancelled`,
    ///   `other`. The call may be carried out all the same.
    @discardableResult
    package mutating func call(
        _ call: BusCall, _ patience: Patience
    ) throws(SystemBusError) -> [BusValue] {
        let cookie = try connection.send(call)
        while !endedServices.contains(call.destination) {
            guard let message = try connection.receive(patience, call.operation) else { continue }
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
    package mutating func nextSignal(
        of service: BusService, _ patience: Patience, to operation: String
    ) throws(SystemBusError) -> BusSignal {
        while true {
            if let index = signals.firstIndex(where: { $0.sender == service.uniqueName }) {
                return signals.remove(at: index)
            }
            guard !endedServices.contains(service.uniqueName) else {
                throw SystemBusError(.serviceEnded, during: operation)
            }
            if let message = try connection.receive(patience, operation) { try keep(message) }
        }
    }

    private mutating func owner(
        of name: String, _ patience: Patience, _ operation: String
    ) throws(SystemBusError) -> String {
        let question = BusCall("GetNameOwner", .text(name), to: operation)
        do throws(SystemBusError) {
            return try uniqueName(call(question, patience), operation)
        } catch {
            guard case .refused(let reason) = error.code, Self.meansAbsence(reason) else {
                throw error
            }
        }
        do throws(SystemBusError) {
            try call(
                BusCall("StartServiceByName", .text(name), .number(0), to: operation), patience)
            return try uniqueName(call(question, patience), operation)
        } catch {
            guard case .refused = error.code else { throw error }
            throw SystemBusError(.serviceAbsent, during: operation)
        }
    }

    /// The user whose process has a unique name.
    private mutating func user(
        of owner: String, _ patience: Patience, _ operation: String
    ) throws(SystemBusError) -> Int64 {
        let question = BusCall("GetConnectionUnixUser", .text(owner), to: operation)
        do throws(SystemBusError) {
            guard case .number(let number) = try call(question, patience).first else {
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
        _ rule: String, _ patience: Patience
    ) throws(SystemBusError) {
        try call(BusCall("AddMatch", .text(rule), to: "listen on the system bus"), patience)
    }

    /// What the bus says of a name that nobody has, or has any more.
    private static func meansAbsence(_ error: String) -> Bool {
        ["NameHasNoOwner", "ServiceUnknown", "NoReply"].contains {
            error == "\(BusCall.bus).Error.\($0)"
        }
    }

    /// Keeps what is a signal of somebody whose signals count.
    private mutating func keep(_ message: borrowing BusMessage) throws(SystemBusError) {
        guard message.kind == .signal, senders.contains(message.sender) else { return }
        let signal = try message.signal()
        if signal.sender == BusCall.bus {
            // The name, who had it, and who has it.
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
