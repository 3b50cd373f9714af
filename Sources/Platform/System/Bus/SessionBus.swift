// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A connection to the user's session bus, through sd-bus in libsystemd, which is loaded when it is
/// needed. Each call ends by its time limit. `Keyring` reads keyrings with it.
@safe package struct SessionBus: ~Copyable {
    private let connection: BusConnection

    /// How long a call may take. A service that is started by the call needs some of it.
    private static let patience = Duration.seconds(20)
    /// When all calls have to be over.
    private let deadline: Deadline

    /// Connects to the bus that `$DBUS_SESSION_BUS_ADDRESS` or `$XDG_RUNTIME_DIR` names.
    ///
    /// - Parameter time: How long all calls together may take: a service that answers each one late
    ///   would hold up the caller.
    /// - Throws: ``SystemError``: `libraryAbsent`, `busAbsent`, `timedOut`, `disconnected`.
    package init(for time: Duration = .seconds(180)) throws(SystemError) {
        let operation = "connect to the session bus"
        deadline = Deadline(after: time)
        let connection = try BusConnection.begin(
            ofSession: operation, hint: "run this in the session whose keyring you want to read")
        // sd-bus would let a bus that is silent take 90 s, whatever the limit of the first call.
        let limit = WaitLimit(until: Deadline(after: min(time, Self.patience)))
        while !connection.isReady { _ = try connection.receive(limit, operation) }
        self.connection = connection
    }

    /// Calls a method whose arguments are strings and object paths, and returns its answer.
    ///
    /// - Parameter arguments: Each with its D-Bus type: "s", "o", or "v" for a variant of a string.
    /// - Returns: nil for an error that the other side reports.
    /// - Throws: ``SystemError``: `timedOut`, `disconnected`, `other`.
    package func call(
        _ member: String, of interface: String, at path: String, on service: String,
        _ arguments: [(type: Unicode.Scalar, text: String)] = []
    ) throws(SystemError) -> BusMessage? {
        try call(member, of: interface, at: path, on: service) { call in
            for (type, text) in arguments {
                if type == "v" {
                    call.write(variant: "s") { call.write(text) }
                } else {
                    call.write(text, as: type)
                }
            }
        }
    }

    /// Calls a method with the arguments that `write` appends, and returns its answer.
    package func call(
        _ member: String, of interface: String, at path: String, on service: String,
        _ write: (borrowing BusMessage) -> Void
    ) throws(SystemError) -> BusMessage? {
        let library = unsafe connection.library
        var made: OpaquePointer?
        let code = unsafe library.newMethodCall(
            connection.handle, &made, service, path, interface, member)
        guard code >= 0, let made = unsafe made else { throw Self.failure(member, code) }
        let call = unsafe BusMessage(owning: made, library)
        write(call)
        var reply: OpaquePointer?
        let result = unsafe library.call(
            connection.handle, call.handle, try microseconds(member), nil, &reply)
        guard result >= 0, let reply = unsafe reply else {
            // No answer in time, or no bus: other calls would fail in the same way.
            if [ETIMEDOUT, ECONNRESET, ENOTCONN, EPIPE].contains(-result) {
                throw Self.failure(member, result)
            }
            return nil
        }
        // The library wipes its memory when it frees the message.
        _ = unsafe library.sensitive(reply)
        return unsafe BusMessage(owning: reply, library)
    }

    /// How long the next call may take.
    private func microseconds(_ member: String) throws(SystemError) -> UInt64 {
        let time = min(Self.patience, deadline.remaining)
        let microseconds = UInt64(max(.zero, time) / .microseconds(1))
        // For 0, sd-bus would take its own limit, 25 s.
        guard microseconds > 0 else { throw Self.failure(member, -ETIMEDOUT) }
        return microseconds
    }

    private static func failure(_ member: String, _ code: Int32) -> SystemError {
        let isLost = [ECONNRESET, ENOTCONN, EPIPE].contains(-code)
        return SystemError(
            code == -ETIMEDOUT ? .timedOut : isLost ? .disconnected : .other,
            during: "call \(member) on the session bus", systemError: -code)
    }
}
