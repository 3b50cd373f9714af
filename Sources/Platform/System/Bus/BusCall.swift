// SPDX-License-Identifier: Apache-2.0

/// A D-Bus method call. ``SystemBus`` makes calls, such as those to fprintd and logind.
package struct BusCall: Hashable, Sendable {
    /// The operation, for errors, such as "claim the reader".
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
    /// The path of the bus's own object.
    static let busPath = "/org/freedesktop/DBus"
}

/// An object of a service, seen through one of its interfaces.
package struct BusObject: Hashable, Sendable {
    /// Its D-Bus path.
    package let path: String
    package let interface: String

    package init(path: String, interface: String) {
        self.path = path
        self.interface = interface
    }
}

/// A service, by the unique name of its owner, which the bus never gives to another connection.
package struct BusService: Hashable, Sendable {
    let uniqueName: String
}

/// A signal that a service sent.
package struct BusSignal: Hashable, Sendable {
    /// The object that sent it.
    package let object: BusObject
    package let member: String
    package let arguments: [BusValue]
    /// The unique name of the sender, set by the bus.
    let sender: String
}

/// An argument of a call, an answer or a signal: the D-Bus types that occur here.
package enum BusValue: Hashable, Sendable {
    /// A string, an object path or a signature.
    case text(String)
    /// A boolean.
    case flag(Bool)
    /// An integer of 32 bits, signed or unsigned.
    case number(Int64)
    /// An array. A variant counts as its content.
    case list([BusValue])

    /// The text; `nil` for another type.
    package var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The texts of an array of texts; `nil` for another type.
    package var texts: [String]? {
        guard case .list(let values) = self else { return nil }
        let texts = values.compactMap(\.text)
        return texts.count == values.count ? texts : nil
    }
}
