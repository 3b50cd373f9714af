// SPDX-License-Identifier: Apache-2.0

/// A call of a method.
package struct BusCall: Hashable, Sendable {
    /// What is being done, for errors: "claim the reader".
    package let operation: String
    /// The receiver: a unique name, or the bus itself.
    let destination: String
    let path: String
    let interface: String
    let member: String
    let arguments: [BusValue]

    /// Calls `member` of an object of `service`; `arguments` are texts, sent as strings.
    package init(
        _ member: String, of object: BusObject, on service: BusService,
        _ arguments: [String] = [], to operation: String
    ) {
        destination = service.uniqueName
        path = object.path
        interface = object.interface
        self.member = member
        self.arguments = arguments.map(BusValue.text)
        self.operation = operation
    }

    /// Calls `member` of the bus itself.
    init(_ member: String, _ arguments: BusValue..., to operation: String) {
        destination = Self.bus
        path = Self.busPath
        interface = Self.bus
        self.member = member
        self.arguments = arguments
        self.operation = operation
    }

    /// The name of the bus, and of its interface.
    static let bus = "org.freedesktop.DBus"
    /// The object that the bus itself is.
    static let busPath = "/org/freedesktop/DBus"
}

/// An object of a service, seen through one of its interfaces.
package struct BusObject: Hashable, Sendable {
    /// Its path, of the form that D-Bus asks for.
    package let path: String
    /// The name of the interface.
    package let interface: String

    /// Names one.
    package init(path: String, interface: String) {
        self.path = path
        self.interface = interface
    }
}

/// A service whose owner is known, by the name that nobody else gets as long as the bus lives.
package struct BusService: Hashable, Sendable {
    let uniqueName: String
}

/// A signal that a service sent.
package struct BusSignal: Hashable, Sendable {
    /// What it is about.
    package let object: BusObject
    /// Its name.
    package let member: String
    /// What it says.
    package let arguments: [BusValue]
    /// The unique name of who sent it, as the bus has it.
    let sender: String
}
