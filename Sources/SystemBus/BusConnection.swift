// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The owner of sd-bus's connection. It never waits but in ``receive(_:_:)``.
@safe struct BusConnection: ~Copyable {
    private static let operation = "connect to the system bus"

    private let handle: OpaquePointer
    private let library: SDBusLibrary

    /// Begins to connect.
    ///
    /// - Throws: `libraryAbsent`, `busAbsent`, `disconnected`, `untrusted`, `other`.
    static func begin(_ place: BusPlace) throws(SystemBusError) -> BusConnection {
        let library = unsafe try SDBusLibrary(place.library)
        try place.check()
        var made: OpaquePointer?
        let code = unsafe library.new(&made)
        guard code >= 0, let handle = unsafe made else {
            throw SystemBusError(.other, during: operation, systemError: -code)
        }
        let connection = unsafe BusConnection(owning: handle, library)
        try connection.start(place)
        return connection
    }

    @unsafe private init(owning handle: OpaquePointer, _ library: SDBusLibrary) {
        unsafe self.handle = handle
        unsafe self.library = library
    }

    deinit { _ = unsafe library.closeUnref(handle) }

    /// Whether the bus has said who we are.
    var isReady: Bool { unsafe library.isReady(handle) > 0 }

    /// Sends a call, or puts it where `receive` sends it from; returns its number.
    func send(_ call: BusCall) throws(SystemBusError) -> UInt64 {
        var made: OpaquePointer?
        let code = unsafe library.newMethodCall(
            handle, &made, call.destination, call.path, call.interface, call.member)
        try check(code, call.operation)
        guard let made = unsafe made else {
            throw SystemBusError(.other, during: call.operation)
        }
        let message = unsafe BusMessage(owning: made, library)
        for argument in call.arguments { try check(message.append(argument), call.operation) }
        var cookie: UInt64 = 0
        let result = unsafe library.send(handle, message.handle, &cookie)
        guard result >= 0 else {
            throw SystemBusError(.disconnected, during: call.operation, systemError: -result)
        }
        return cookie
    }

    /// The next message. Without one it does what else there is to do, or waits for something to
    /// do, and returns nothing.
    ///
    /// - Throws: `disconnected`, `timedOut`, `cancelled`, `other`.
    func receive(
        _ patience: Patience, _ operation: String
    ) throws(SystemBusError) -> BusMessage? {
        // Also when there is no wait: messages without end would keep us for ever.
        try patience.check(operation)
        var received: OpaquePointer?
        let code = unsafe library.process(handle, &received)
        guard code >= 0 else {
            throw SystemBusError(.disconnected, during: operation, systemError: -code)
        }
        if let received = unsafe received { return unsafe BusMessage(owning: received, library) }
        guard code == 0 else { return nil }
        let (descriptor, events) = unsafe (library.descriptor(handle), library.events(handle))
        guard descriptor >= 0, events >= 0 else {
            throw SystemBusError(
                .disconnected, during: operation, systemError: -min(descriptor, events))
        }
        try patience.wait(for: descriptor, events: events, during: operation)
        return nil
    }

    private func start(_ place: BusPlace) throws(SystemBusError) {
        try check(unsafe library.setAddress(handle, place.address), Self.operation)
        try check(unsafe library.setBusClient(handle, 1), Self.operation)
        let code = unsafe library.start(handle)
        guard code < 0 else { return }
        // Somebody listened, and hung up before a word was said.
        let hasHungUp = [EPIPE, ECONNRESET, ENOTCONN].contains(-code)
        throw place.failure(hasHungUp ? .disconnected : .busAbsent, systemError: -code)
    }

    /// Sees to the one form that sd-bus has for failures: negative error numbers.
    private func check(_ code: Int32, _ operation: String) throws(SystemBusError) {
        guard code >= 0 else {
            throw SystemBusError(.other, during: operation, systemError: -code)
        }
    }
}
