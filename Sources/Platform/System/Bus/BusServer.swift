// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A connection to the user's session bus for a program that answers calls. It owns names, and
/// sends replies and signals.
///
/// Use it on one thread only. No object is registered with sd-bus, so sd-bus hands over every call.
@safe package struct BusServer: ~Copyable {
    /// The sender name in messages of the bus itself.
    package static let bus = BusCall.bus

    private static let operation = "serve the session bus"

    private let connection: BusConnection

    /// Connects to the bus that `$DBUS_SESSION_BUS_ADDRESS` or `$XDG_RUNTIME_DIR` names. No bus is
    /// started.
    ///
    /// - Parameter takesDescriptors: Whether calls may bring descriptors. A program can then keep
    ///   this thread waiting: closing a descriptor can take as long as its sender wants. Without
    ///   it, the bus refuses to deliver such a call.
    /// - Throws: ``SystemError``: `libraryAbsent`, `busAbsent`, `timedOut`, `disconnected`.
    package init(
        _ limit: WaitLimit, takingDescriptors takesDescriptors: Bool = false
    ) throws(SystemError) {
        // Each call may bring descriptors, which are open until it is answered.
        valet_allow_open_files(131_072)
        let connection = try BusConnection.begin(
            ofSession: Self.operation, takingDescriptors: takesDescriptors)
        while !connection.isReady { _ = try connection.receive(limit, Self.operation) }
        self.connection = connection
    }

    /// Becomes the owner of a name.
    ///
    /// - Parameter replacing: Whether to take the name from its present owner, if that owner
    ///   permits it.
    /// - Returns: false if another connection has the name.
    /// - Throws: ``SystemError``: `disconnected`, `other`.
    package func own(_ name: String, replacing: Bool) throws(SystemError) -> Bool {
        // SD_BUS_NAME_REPLACE_EXISTING, SD_BUS_NAME_ALLOW_REPLACEMENT
        let code = unsafe connection.library.serving.requestName(
            connection.handle, name, 2 | (replacing ? 1 : 0))
        if code == -EEXIST { return false }
        guard code >= 0 || code == -EALREADY else {
            throw SystemError(.other, during: "own \(name)", systemError: -code)
        }
        return true
    }

    /// Gives up a name. All calls that were sent to it have arrived when this returns:
    /// ``received()`` returns them.
    ///
    /// - Throws: ``SystemError``: `other`, also if this connection does not own the name.
    package func release(_ name: String) throws(SystemError) {
        let code = unsafe connection.library.serving.releaseName(connection.handle, name)
        guard code >= 0 else {
            throw SystemError(.other, during: "give up \(name)", systemError: -code)
        }
    }

    /// Whether messages wait until the bus takes them. ``receive(_:)`` sends them.
    package var hasUnsentMessages: Bool {
        unsafe connection.library.events(connection.handle) & POLLOUT != 0
    }

    /// Begins to receive the signals that a rule of the D-Bus specification chooses.
    package func listen(_ rule: String) throws(SystemError) {
        _ = try connection.send(BusCall("AddMatch", .text(rule), to: Self.operation))
    }

    /// The next message. Without one, does pending work or waits for a message, and returns nil.
    ///
    /// - Throws: ``SystemError``: `disconnected`, `timedOut`, `cancelled`.
    package func receive(_ limit: WaitLimit) throws(SystemError) -> BusMessage? {
        try connection.receive(limit, Self.operation)
    }

    /// The next message that has arrived; nil if there is none. Does not wait.
    ///
    /// - Throws: ``SystemError``: `disconnected`.
    package func received() throws(SystemError) -> BusMessage? {
        var message: BusMessage?
        while try connection.process(&message, Self.operation), message == nil {}
        return message
    }

    /// Asks the bus for the process of a connection. The answer is a message that
    /// ``BusMessage/answeredCall`` tells by the number that this returns.
    package func askForProcess(of connection: String) throws(SystemError) -> UInt64 {
        try self.connection.send(
            BusCall("GetConnectionCredentials", .text(connection), to: Self.operation))
    }

    /// Asks the bus for the connection that owns a name. The answer is a text, or an error if no
    /// connection does.
    package func askForOwner(of name: String) throws(SystemError) -> UInt64 {
        try connection.send(BusCall("GetNameOwner", .text(name), to: Self.operation))
    }

    /// Answers a call with what `body` writes.
    ///
    /// - Returns: How many bytes that is.
    package func reply(
        to call: borrowing BusMessage, _ body: (borrowing BusMessage) -> Void
    ) throws(SystemError) -> Int {
        var made: OpaquePointer?
        let code = unsafe connection.library.serving.newReturn(call.handle, &made)
        return unsafe try send(made, code) { message in
            body(message)
            return true
        } ?? 0
    }

    /// Answers a call with what `body` writes, after `fill` has read that and changed bytes in it:
    /// they do not move any more.
    ///
    /// - Returns: How many bytes that is; nil, and nothing is sent, if `fill` returns false, or if
    ///   the message was not written.
    package func reply(
        to call: borrowing BusMessage, _ body: (borrowing BusMessage) -> Void,
        fillingIn fill: (borrowing BusMessage) -> Bool
    ) throws(SystemError) -> Int? {
        var made: OpaquePointer?
        let code = unsafe connection.library.serving.newReturn(call.handle, &made)
        return unsafe try send(made, code) { message in
            body(message)
            return message.seal() && fill(message)
        }
    }

    /// Answers a call with an error of that name.
    package func refuse(
        _ call: borrowing BusMessage, _ name: String, _ text: String
    ) throws(SystemError) {
        var made: OpaquePointer?
        let code = unsafe name.withCString { name in
            unsafe text.withCString { text in
                // struct sd_bus_error
                var error = unsafe (name: name, message: text, _: Int32(0))
                return unsafe connection.library.serving.newError(call.handle, &made, &error)
            }
        }
        _ = unsafe try send(made, code) { _ in true }
    }

    /// Sends a signal of an object.
    ///
    /// - Parameter client: The only connection that gets it; nil for all that listen.
    package func emit(
        _ member: String, of interface: String, at path: String, to client: String? = nil,
        _ body: (borrowing BusMessage) -> Void
    ) throws(SystemError) {
        var made: OpaquePointer?
        let library = unsafe connection.library.serving
        var code = unsafe library.newSignal(connection.handle, &made, path, interface, member)
        if code >= 0, let client, let made = unsafe made {
            code = unsafe library.setDestination(made, client)
        }
        _ = unsafe try send(made, code) { message in
            body(message)
            return true
        }
    }

    /// Sends a message that `body` completes, and returns how many bytes that writes; nil if it
    /// returns false.
    private func send(
        _ made: OpaquePointer?, _ code: Int32, _ body: (borrowing BusMessage) -> Bool
    ) throws(SystemError) -> Int? {
        guard code >= 0, let made = unsafe made else {
            throw SystemError(.other, during: Self.operation, systemError: -code)
        }
        let message = unsafe BusMessage(owning: made, connection.library)
        guard body(message) else { return nil }
        let result = unsafe connection.library.send(connection.handle, message.handle, nil)
        // A receiver may leave at any time.
        guard result >= 0 || ![ENOTCONN, ECONNRESET, EPIPE].contains(-result) else {
            throw SystemError(.disconnected, during: Self.operation, systemError: -result)
        }
        return message.written.byteCount
    }
}

/// The process that has made a connection to the bus.
package struct BusClientProcess: Sendable {
    package let number: Int32
    package let handle: ProcessHandle

    package init(number: Int32, handle: ProcessHandle) {
        (self.number, self.handle) = (number, handle)
    }
}

extension BusMessage {
    /// The number of the call to the bus that this message answers; nil for other messages.
    package var answeredCall: UInt64? {
        var number: UInt64 = 0
        guard kind == .reply || kind == .error, sender == BusServer.bus,
            unsafe library.replyCookie(handle, &number) >= 0
        else { return nil }
        return number
    }

    /// Reads the answer to ``BusServer/askForProcess(of:)``; nil if the process has ended, or if
    /// the bus does not know it.
    package func process() -> BusClientProcess? {
        var (number, handle): (UInt32?, ProcessHandle?) = (nil, nil)
        let isRead = inside("a", "{sv}") {
            while inside(
                "e", "sv",
                {
                    switch text() {
                    case "ProcessID" where inside("v", "u", { number = self.number() }): break
                    // dbus 1.15.8 and newer: the process that connected, whatever has its number.
                    case "ProcessFD" where inside("v", "h", { handle = processHandle() }): break
                    default: _ = skip("v")
                    }
                })
            {}
        }
        guard isRead, let number = number.flatMap(Int32.init(exactly:)), number > 0,
            let handle = handle ?? ProcessHandle(number)
        else { return nil }
        return BusClientProcess(number: number, handle: handle)
    }

    private func processHandle() -> ProcessHandle? {
        guard let descriptor = descriptor() else { return nil }
        return ProcessHandle(descriptor)
    }
}
