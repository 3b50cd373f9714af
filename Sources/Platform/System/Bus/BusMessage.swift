// SPDX-License-Identifier: Apache-2.0

/// Owns one sd-bus message. ``BusConnection`` sends and receives messages.
@safe package struct BusMessage: ~Copyable {
    /// `SD_BUS_MESSAGE_…`
    package enum Kind: UInt8 {
        case call = 1
        case reply, error, signal
    }

    /// Limits beyond every expected answer.
    private static let maximumDepth = 3
    private static let maximumCount = 256

    let handle: OpaquePointer
    let library: SDBusLibrary
    let written = Tally()

    /// How many bytes were written into a message.
    final class Tally {
        var byteCount = 0
    }

    /// Takes ownership of a message.
    @unsafe init(owning handle: OpaquePointer, _ library: SDBusLibrary) {
        unsafe self.handle = handle
        unsafe self.library = library
    }

    deinit { _ = unsafe library.unref(handle) }

    /// The kind; `nil` for a kind that the specification does not define.
    package var kind: Kind? {
        var number: UInt8 = 0
        return unsafe library.type(handle, &number) >= 0 ? Kind(rawValue: number) : nil
    }

    /// The unique name of the sender, set by the bus.
    package var sender: String { unsafe string(library.sender(handle)) }

    /// Whether it answers call number `cookie` to `destination`. A reply must come from the
    /// destination, an error from the destination or the bus.
    func answers(_ cookie: UInt64, to destination: String) -> Bool {
        var number: UInt64 = 0
        guard unsafe library.replyCookie(handle, &number) >= 0, number == cookie else {
            return false
        }
        let sender = sender
        return switch kind {
        case .reply: sender == destination
        case .error: sender == destination || sender == BusCall.bus
        case .call, .signal, nil: false
        }
    }

    /// The name of the error; `nil` if the message is not an error.
    var errorName: String? {
        guard kind == .error else { return nil }
        guard let error = unsafe library.error(handle) else { return "" }
        return unsafe string(error.pointee)
    }

    /// The object that is called, or that sent a signal.
    package var path: String { unsafe string(library.path(handle)) }
    /// The interface; empty for a call that names none.
    package var interface: String { unsafe string(library.interface(handle)) }
    package var member: String { unsafe string(library.member(handle)) }
    /// The types of the parts.
    package var signature: String { unsafe string(library.signature(handle, 1)) }

    /// Reads a signal.
    ///
    /// - Throws: `malformed`.
    func signal() throws(SystemError) -> BusSignal {
        BusSignal(
            object: BusObject(path: path, interface: interface), member: member,
            arguments: try values("read a signal"),
            sender: sender)
    }

    /// Appends an argument to a call.
    ///
    /// - Returns: 0, or a negative error number.
    func append(_ value: BusValue) -> Int32 {
        switch value {
        case .text(let text):
            return unsafe library.appendBasic(handle, Self.type("s"), text)
        case .number(let number):
            var number = UInt32(truncatingIfNeeded: number)
            return unsafe library.appendBasic(handle, Self.type("u"), &number)
        case .flag(let flag):
            var number: Int32 = flag ? 1 : 0
            return unsafe library.appendBasic(handle, Self.type("b"), &number)
        case .list: return -22  // EINVAL: no call of ours has an array
        }
    }

    /// Reads the remaining values of the message, or of the container that was entered.
    ///
    /// - Throws: `malformed`, also for unexpected types.
    func values(_ operation: String, depth: Int = 0) throws(SystemError) -> [BusValue] {
        var values: [BusValue] = []
        while true {
            var type: CChar = 0
            var contents: UnsafePointer<CChar>?
            let code = unsafe library.peekType(handle, &type, &contents)
            if code == 0 { return values }
            guard code > 0, depth < Self.maximumDepth, values.count < Self.maximumCount else {
                throw SystemError(.malformed, during: operation)
            }
            switch Unicode.Scalar(UInt8(bitPattern: type)) {
            case "a", "v":
                guard let contents = unsafe contents,
                    unsafe library.enterContainer(handle, type, contents) >= 0
                else { throw SystemError(.malformed, during: operation) }
                let inner = try self.values(operation, depth: depth + 1)
                guard unsafe library.exitContainer(handle) >= 0 else {
                    throw SystemError(.malformed, during: operation)
                }
                values += type == Self.type("v") ? inner : [.list(inner)]
            default:
                guard let value = basicValue(type) else {
                    throw SystemError(.malformed, during: operation)
                }
                values.append(value)
            }
        }
    }

    private func basicValue(_ type: CChar) -> BusValue? {
        switch Unicode.Scalar(UInt8(bitPattern: type)) {
        case "s", "o", "g":
            var text: UnsafePointer<CChar>?
            guard unsafe library.readBasic(handle, type, &text) > 0 else { return nil }
            return unsafe .text(string(text))
        case "b":
            var number: Int32 = 0
            guard unsafe library.readBasic(handle, type, &number) > 0 else { return nil }
            return .flag(number != 0)
        case "i":
            var number: Int32 = 0
            guard unsafe library.readBasic(handle, type, &number) > 0 else { return nil }
            return .number(Int64(number))
        case "u":
            var number: UInt32 = 0
            guard unsafe library.readBasic(handle, type, &number) > 0 else { return nil }
            return .number(Int64(number))
        default: return nil
        }
    }

    /// A copy of a text; empty for a null pointer.
    private func string(_ text: UnsafePointer<CChar>?) -> String {
        guard let text = unsafe text else { return "" }
        return unsafe String(cString: text)
    }

    private static func type(_ letter: Unicode.Scalar) -> CChar {
        CChar(truncatingIfNeeded: letter.value)
    }
}
