// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Owns an sd-bus connection. Only ``receive(_:_:)`` waits.
@safe struct BusConnection: ~Copyable {
    private static let operation = "connect to the system bus"

    let handle: OpaquePointer
    let library: SDBusLibrary

    /// Begins to connect.
    ///
    /// - Throws: `libraryAbsent`, `busAbsent`, `disconnected`, `untrusted`, `other`.
    static func begin(_ place: BusPlace) throws(SystemError) -> BusConnection {
        let library = unsafe try SDBusLibrary(place.library)
        try place.check()
        var made: OpaquePointer?
        let code = unsafe library.new(&made)
        guard code >= 0, let handle = unsafe made else {
            throw SystemError(.other, during: operation, systemError: -code)
        }
        let connection = unsafe BusConnection(owning: handle, library)
        try connection.start(place)
        return connection
    }

    /// Begins to connect to the user's session bus, which `$DBUS_SESSION_BUS_ADDRESS` or
    /// `$XDG_RUNTIME_DIR` names (D-Bus specification, "Well-known Message Bus Instances").
    ///
    /// - Parameter takesDescriptors: Whether messages may bring descriptors. sd-bus closes them on
    ///   this thread, and closing one can take as long as its sender wants: a socket that lingers,
    ///   a file of a file system that does not answer.
    /// - Throws: `libraryAbsent`, `busAbsent`.
    static func begin(
        ofSession operation: String, takingDescriptors takesDescriptors: Bool = false,
        hint: String? = nil
    ) throws(SystemError) -> BusConnection {
        let library = unsafe try SDBusLibrary("libsystemd.so.0")
        var made: OpaquePointer?
        var code = unsafe library.new(&made)
        guard code >= 0, let handle = unsafe made else {
            throw SystemError(.other, during: operation, systemError: -code)
        }
        let connection = unsafe BusConnection(owning: handle, library)
        guard let address = sessionAddress() else {
            throw SystemError(.busAbsent, during: operation, hint: hint)
        }
        code = unsafe library.setAddress(handle, address)
        if code >= 0 { code = unsafe library.setBusClient(handle, 1) }
        let descriptors: Int32 = takesDescriptors ? 1 : 0
        if code >= 0 { code = unsafe library.negotiateDescriptors(handle, descriptors) }
        if code >= 0 { code = unsafe library.start(handle) }
        guard code >= 0 else {
            throw SystemError(.busAbsent, during: operation, hint: hint, systemError: -code)
        }
        return connection
    }

    private static func sessionAddress() -> String? {
        let environment = Environment.ofProcess
        if let address = environment.text("DBUS_SESSION_BUS_ADDRESS") { return address }
        guard let folder = environment.text("XDG_RUNTIME_DIR") else { return nil }
        return BusPlace.address(ofSocket: folder + "/bus")
    }

    @unsafe init(owning handle: OpaquePointer, _ library: SDBusLibrary) {
        unsafe self.handle = handle
        unsafe self.library = library
    }

    deinit { _ = unsafe library.closeUnref(handle) }

    /// Whether the bus has given this connection its unique name.
    var isReady: Bool { unsafe library.isReady(handle) > 0 }

    /// Sends or queues a call, and returns its number. ``receive(_:_:)`` sends what is queued.
    func send(_ call: BusCall) throws(SystemError) -> UInt64 {
        var made: OpaquePointer?
        let code = unsafe library.newMethodCall(
            handle, &made, call.destination, call.path, call.interface, call.member)
        try check(code, call.operation)
        guard let made = unsafe made else {
            throw SystemError(.other, during: call.operation)
        }
        let message = unsafe BusMessage(owning: made, library)
        for argument in call.arguments { try check(message.append(argument), call.operation) }
        var cookie: UInt64 = 0
        let result = unsafe library.send(handle, message.handle, &cookie)
        guard result >= 0 else {
            throw SystemError(.disconnected, during: call.operation, systemError: -result)
        }
        return cookie
    }

    /// Returns the next message. If there is none, does pending work or waits for some, and returns
    /// nil.
    ///
    /// - Throws: `disconnected`, `timedOut`, `cancelled`, `other`.
    func receive(
        _ limit: WaitLimit, _ operation: String
    ) throws(SystemError) -> BusMessage? {
        // Checked before each message: a stream of messages without end must not keep this thread.
        if limit.cancellation?.isCancelled == true {
            throw SystemError(.cancelled, during: operation)
        }
        if limit.deadline.hasPassed { throw SystemError(.timedOut, during: operation) }
        var message: BusMessage?
        guard try !process(&message, operation) else { return message }
        let (descriptor, events) = unsafe (library.descriptor(handle), library.events(handle))
        guard descriptor >= 0, events >= 0 else {
            throw SystemError(
                .disconnected, during: operation, systemError: -min(descriptor, events))
        }
        // The next call finds out what has ended the wait.
        _ = limit.wait(for: descriptor, events)
        return nil
    }

    /// Does pending work without waiting, and takes the message that it brings, if any.
    ///
    /// - Returns: false if there was no work.
    /// - Throws: `disconnected`.
    func process(
        _ message: inout BusMessage?, _ operation: String
    ) throws(SystemError) -> Bool {
        var received: OpaquePointer?
        let code = unsafe library.process(handle, &received)
        guard code >= 0 else {
            throw SystemError(.disconnected, during: operation, systemError: -code)
        }
        if let received = unsafe received {
            message = unsafe BusMessage(owning: received, library)
        }
        return code > 0
    }

    private func start(_ place: BusPlace) throws(SystemError) {
        try check(unsafe library.setAddress(handle, place.address), Self.operation)
        try check(unsafe library.setBusClient(handle, 1), Self.operation)
        let code = unsafe library.start(handle)
        guard code < 0 else { return }
        // A listener closed the connection before the first byte.
        let hasHungUp = [EPIPE, ECONNRESET, ENOTCONN].contains(-code)
        throw place.failure(hasHungUp ? .disconnected : .busAbsent, systemError: -code)
    }

    /// Throws for a negative result: sd-bus returns negative error numbers.
    private func check(_ code: Int32, _ operation: String) throws(SystemError) {
        guard code >= 0 else {
            throw SystemError(.other, during: operation, systemError: -code)
        }
    }
}
