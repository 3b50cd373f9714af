// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI
internal import ValetSealing
internal import ValetSystem

/// A connection to the user's session bus, through sd-bus in libsystemd, which is loaded when it is
/// needed. Each call ends by its time limit. `SecretService` reads keyrings with it.
@safe struct SessionBus: ~Copyable {
    typealias Handle = OpaquePointer
    typealias Text = UnsafePointer<CChar>

    private let bus: Handle
    private let library: Library

    /// How long a call may take. A service that is started by the call needs some of it.
    private static let patience = Duration.seconds(20)
    /// When all calls have to be over: a service that answers each call late ends the import, too.
    private let deadline = Deadline(after: .seconds(180))

    /// Connects to the bus that `$DBUS_SESSION_BUS_ADDRESS` or `$XDG_RUNTIME_DIR` names.
    init() throws(CLIError) {
        let library = unsafe try Library()
        var made: Handle?
        let code = unsafe library.openUser(&made)
        guard code >= 0, let bus = unsafe made else {
            throw CLIError(
                .failure, "there is no session bus: \(Self.text(-code))",
                hint: "run this in the session whose keyring you want to read")
        }
        unsafe self.bus = bus
        unsafe self.library = library
    }

    deinit { _ = unsafe library.disconnect(bus) }

    /// Calls a method whose arguments are strings and object paths, and returns its answer.
    ///
    /// - Parameter arguments: Each with its D-Bus type: "s", "o", or "v" for a variant of a string.
    /// - Returns: nil for an error that the other side reports.
    func call(
        _ member: String, of interface: String, at path: String, on service: String,
        _ arguments: [(type: Unicode.Scalar, text: String)] = []
    ) throws(CLIError) -> Answer? {
        var made: Handle?
        let code = unsafe library.newMethodCall(bus, &made, service, path, interface, member)
        guard code >= 0, let made = unsafe made else { throw Self.failure(member, code) }
        let call = unsafe Answer(made, library)
        for (type, text) in arguments {
            let code = call.append(text, as: type)
            guard code >= 0 else { throw Self.failure(member, code) }
        }
        var reply: Handle?
        let result = unsafe library.call(
            bus, call.message, try microseconds(member), nil, &reply)
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
    private func microseconds(_ member: String) throws(CLIError) -> UInt64 {
        let time = min(Self.patience, deadline.remaining)
        guard time > .zero else { throw Self.failure(member, -ETIMEDOUT) }
        return UInt64(time / .microseconds(1))
    }

    private static func failure(_ member: String, _ code: Int32) -> CLIError {
        CLIError(.failure, "the call \(member) on the session bus failed: \(text(-code))")
    }

    private static func text(_ error: Int32) -> String {
        unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)"
    }

    fileprivate static func letter(_ type: Unicode.Scalar) -> CChar {
        CChar(truncatingIfNeeded: type.value)
    }
}

extension SessionBus {
    /// A message: a call to send, or an answer, which is read from its start on. Each function that
    /// reads returns nil at the end of the message, and if the next part has another type.
    @safe struct Answer: ~Copyable {
        fileprivate let message: Handle
        private let library: Library

        @unsafe fileprivate init(_ message: Handle, _ library: Library) {
            unsafe self.message = message
            unsafe self.library = library
        }

        deinit { _ = unsafe library.drop(message) }

        /// Appends an argument. Returns a negative number if that fails.
        fileprivate func append(_ text: String, as type: Unicode.Scalar) -> Int32 {
            guard type == "v" else {
                return unsafe library.appendBasic(message, letter(type), text)
            }
            var code = unsafe library.openContainer(message, letter("v"), "s")
            if code >= 0 { code = unsafe library.appendBasic(message, letter("s"), text) }
            return code < 0 ? code : unsafe library.closeContainer(message)
        }

        /// A string, an object path or a signature.
        func text(_ type: Unicode.Scalar = "s") -> String? {
            var text: Text?
            guard unsafe library.readBasic(message, letter(type), &text) > 0,
                let text = unsafe text
            else { return nil }
            return unsafe String(validatingCString: text)
        }

        /// A boolean.
        func flag() -> Bool? {
            var number: Int32 = 0
            guard unsafe library.readBasic(message, letter("b"), &number) > 0 else { return nil }
            return number != 0
        }

        /// A copy of an array of bytes.
        func bytes() -> SecretValue? {
            var start: UnsafeRawPointer?
            var count = 0
            guard unsafe library.readArray(message, letter("y"), &start, &count) >= 0 else {
                return nil
            }
            let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
                .assumingMemoryBound(to: UInt8.self)
            return SecretValue(copying: unsafe Span(_unsafeElements: bytes))
        }

        /// Passes over parts of these types.
        func skip(_ types: String) -> Bool { unsafe library.skip(message, types) >= 0 }

        /// Enters a container, such as ("a", "{sv}"), and leaves it after `body`. Returns false if
        /// there is no such container, or no further one in an array.
        func inside(
            _ type: Unicode.Scalar, _ contents: String, _ body: () -> Void
        ) -> Bool {
            guard unsafe library.enterContainer(message, letter(type), contents) > 0 else {
                return false
            }
            body()
            return unsafe library.exitContainer(message) >= 0
        }
    }

    /// The functions of sd-bus. No function is variadic, so building needs no header; the name
    /// `libsystemd.so.0` guarantees the types. The names here omit `sd_bus_` and `message_`.
    @unsafe fileprivate struct Library {
        let openUser: @convention(c) (UnsafeMutablePointer<Handle?>) -> Int32
        let disconnect: @convention(c) (Handle) -> Handle?
        let newMethodCall:
            @convention(c) (Handle, UnsafeMutablePointer<Handle?>, Text, Text, Text, Text) -> Int32
        let call:
            @convention(c) (
                Handle, Handle, UInt64, UnsafeMutableRawPointer?, UnsafeMutablePointer<Handle?>
            ) -> Int32
        let drop: @convention(c) (Handle) -> Handle?
        let sensitive: @convention(c) (Handle) -> Int32
        let appendBasic: @convention(c) (Handle, CChar, UnsafeRawPointer) -> Int32
        let openContainer: @convention(c) (Handle, CChar, Text) -> Int32
        let closeContainer: @convention(c) (Handle) -> Int32
        let readBasic: @convention(c) (Handle, CChar, UnsafeMutableRawPointer) -> Int32
        let readArray:
            @convention(c) (
                Handle, CChar, UnsafeMutablePointer<UnsafeRawPointer?>, UnsafeMutablePointer<Int>
            ) -> Int32
        let enterContainer: @convention(c) (Handle, CChar, Text) -> Int32
        let exitContainer: @convention(c) (Handle) -> Int32
        let skip: @convention(c) (Handle, Text) -> Int32

        init() throws(CLIError) {
            let name = "libsystemd.so.0"
            guard let library = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
                throw unsafe Self.absent
            }
            unsafe openUser = try Self.symbol("sd_bus_open_user", library)
            unsafe disconnect = try Self.symbol("sd_bus_close_unref", library)
            unsafe newMethodCall = try Self.symbol("sd_bus_message_new_method_call", library)
            unsafe call = try Self.symbol("sd_bus_call", library)
            unsafe drop = try Self.symbol("sd_bus_message_unref", library)
            unsafe sensitive = try Self.symbol("sd_bus_message_sensitive", library)
            unsafe appendBasic = try Self.symbol("sd_bus_message_append_basic", library)
            unsafe openContainer = try Self.symbol("sd_bus_message_open_container", library)
            unsafe closeContainer = try Self.symbol("sd_bus_message_close_container", library)
            unsafe readBasic = try Self.symbol("sd_bus_message_read_basic", library)
            unsafe readArray = try Self.symbol("sd_bus_message_read_array", library)
            unsafe enterContainer = try Self.symbol("sd_bus_message_enter_container", library)
            unsafe exitContainer = try Self.symbol("sd_bus_message_exit_container", library)
            unsafe skip = try Self.symbol("sd_bus_message_skip", library)
        }

        private static let absent = CLIError(
            .failure, "libsystemd is missing or older than 246",
            hint: "install the package libsystemd0")

        private static func symbol<F>(
            _ name: String, _ library: UnsafeMutableRawPointer
        ) throws(CLIError) -> F {
            guard let address = unsafe dlsym(library, name) else { throw unsafe absent }
            return unsafe unsafeBitCast(address, to: F.self)
        }
    }
}
