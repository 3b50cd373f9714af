// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A connection to the user's session bus, through sd-bus in libsystemd, which is loaded when it is
/// needed. Each call ends by its time limit. `SecretService` reads keyrings with it.
@safe package struct SessionBus: ~Copyable {
    private let connection: BusConnection

    /// How long a call may take. A service that is started by the call needs some of it.
    private static let patience = Duration.seconds(20)
    /// When all calls have to be over: a service that answers each call late ends the import, too.
    private let deadline = Deadline(after: .seconds(180))

    /// Connects to the bus that `$DBUS_SESSION_BUS_ADDRESS` or `$XDG_RUNTIME_DIR` names.
    ///
    /// - Throws: ``SystemError``: `libraryAbsent`, `busAbsent`.
    package init() throws(SystemError) {
        let library = unsafe try SDBusLibrary("libsystemd.so.0")
        var made: OpaquePointer?
        let code = unsafe library.openUser(&made)
        guard code >= 0, let bus = unsafe made else {
            throw SystemError(
                .busAbsent, during: "connect to the session bus",
                hint: "run this in the session whose keyring you want to read", systemError: -code)
        }
        connection = unsafe BusConnection(owning: bus, library)
    }

    /// Calls a method whose arguments are strings and object paths, and returns its answer.
    ///
    /// - Parameter arguments: Each with its D-Bus type: "s", "o", or "v" for a variant of a string.
    /// - Returns: nil for an error that the other side reports.
    /// - Throws: ``SystemError``: `timedOut`, `disconnected`, `other`.
    package func call(
        _ member: String, of interface: String, at path: String, on service: String,
        _ arguments: [(type: Unicode.Scalar, text: String)] = []
    ) throws(SystemError) -> Answer? {
        let library = unsafe connection.library
        var made: OpaquePointer?
        let code = unsafe library.newMethodCall(
            connection.handle, &made, service, path, interface, member)
        guard code >= 0, let made = unsafe made else { throw Self.failure(member, code) }
        let call = unsafe Answer(made, library)
        for (type, text) in arguments {
            let code = call.append(text, as: type)
            guard code >= 0 else { throw Self.failure(member, code) }
        }
        var reply: OpaquePointer?
        let result = unsafe library.call(
            connection.handle, call.message.handle, try microseconds(member), nil, &reply)
        guard result >= 0, let reply = unsafe reply else {
            // No answer in time, or no bus: other calls would fail in the same way.
            if [ETIMEDOUT, ECONNRESET, ENOTCONN, EPIPE].contains(-result) {
                throw Self.failure(member, result)
            }
            return nil
        }
        // The library wipes its memory when it frees the message.
        _ = unsafe library.sensitive(reply)
        return unsafe Answer(reply, library)
    }

    /// How long the next call may take.
    private func microseconds(_ member: String) throws(SystemError) -> UInt64 {
        let time = min(Self.patience, deadline.remaining)
        guard time > .zero else { throw Self.failure(member, -ETIMEDOUT) }
        return UInt64(time / .microseconds(1))
    }

    private static func failure(_ member: String, _ code: Int32) -> SystemError {
        let isLost = [ECONNRESET, ENOTCONN, EPIPE].contains(-code)
        return SystemError(
            code == -ETIMEDOUT ? .timedOut : isLost ? .disconnected : .other,
            during: "call \(member) on the session bus", systemError: -code)
    }

    fileprivate static func letter(_ type: Unicode.Scalar) -> CChar {
        CChar(truncatingIfNeeded: type.value)
    }
}

extension SessionBus {
    /// A message: a call to send, or an answer, which is read from its start on. Each function that
    /// reads returns nil at the end of the message, and if the next part has another type.
    @safe package struct Answer: ~Copyable {
        fileprivate let message: BusMessage

        @unsafe fileprivate init(_ message: OpaquePointer, _ library: SDBusLibrary) {
            self.message = unsafe BusMessage(owning: message, library)
        }

        private var library: SDBusLibrary { unsafe message.library }

        /// Appends an argument. Returns a negative number if that fails.
        fileprivate func append(_ text: String, as type: Unicode.Scalar) -> Int32 {
            guard type == "v" else {
                return unsafe library.appendBasic(message.handle, letter(type), text)
            }
            var code = unsafe library.openContainer(message.handle, letter("v"), "s")
            if code >= 0 { code = unsafe library.appendBasic(message.handle, letter("s"), text) }
            return code < 0 ? code : unsafe library.closeContainer(message.handle)
        }

        /// A string, an object path or a signature.
        package func text(_ type: Unicode.Scalar = "s") -> String? {
            var text: UnsafePointer<CChar>?
            guard unsafe library.readBasic(message.handle, letter(type), &text) > 0,
                let text = unsafe text
            else { return nil }
            return unsafe String(validatingCString: text)
        }

        /// A boolean.
        package func flag() -> Bool? {
            var number: Int32 = 0
            guard unsafe library.readBasic(message.handle, letter("b"), &number) > 0 else {
                return nil
            }
            return number != 0
        }

        /// Lends an array of bytes. sd-bus wipes them when the answer is dropped.
        package func withBytes<R>(_ body: (Span<UInt8>) -> R) -> R? {
            var start: UnsafeRawPointer?
            var count = 0
            guard unsafe library.readArray(message.handle, letter("y"), &start, &count) >= 0 else {
                return nil
            }
            let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
                .assumingMemoryBound(to: UInt8.self)
            return body(unsafe Span(_unsafeElements: bytes))
        }

        /// Passes over parts of these types.
        package func skip(_ types: String) -> Bool {
            unsafe library.skip(message.handle, types) >= 0
        }

        /// Enters a container, such as ("a", "{sv}"), and leaves it after `body`. Returns false if
        /// there is no such container, or no further one in an array.
        package func inside(
            _ type: Unicode.Scalar, _ contents: String, _ body: () -> Void
        ) -> Bool {
            guard unsafe library.enterContainer(message.handle, letter(type), contents) > 0 else {
                return false
            }
            body()
            return unsafe library.exitContainer(message.handle) >= 0
        }
    }
}
