// SPDX-License-Identifier: Apache-2.0

/// The functions of sd-bus in libsystemd. The library is loaded at first use and stays loaded.
///
/// No function is variadic or takes a structure, so building needs no header. The types are those
/// of sd-bus.h since systemd 246, and the name `libsystemd.so.0` guarantees them. The names here
/// omit `sd_bus_` and `message_`.
@unsafe struct SDBusLibrary {
    typealias Handle = OpaquePointer
    typealias Text = UnsafePointer<CChar>

    let new: @convention(c) (UnsafeMutablePointer<Handle?>) -> Int32
    let setAddress: @convention(c) (Handle, Text) -> Int32
    let setBusClient: @convention(c) (Handle, Int32) -> Int32
    let negotiateDescriptors: @convention(c) (Handle, Int32) -> Int32
    let start: @convention(c) (Handle) -> Int32
    let isReady: @convention(c) (Handle) -> Int32
    let descriptor: @convention(c) (Handle) -> Int32
    let events: @convention(c) (Handle) -> Int32
    let process: @convention(c) (Handle, UnsafeMutablePointer<Handle?>) -> Int32
    let send: @convention(c) (Handle, Handle, UnsafeMutablePointer<UInt64>?) -> Int32
    let closeUnref: @convention(c) (Handle) -> Handle?

    let newMethodCall:
        @convention(c) (Handle, UnsafeMutablePointer<Handle?>, Text, Text, Text, Text) -> Int32
    let appendBasic: @convention(c) (Handle, CChar, UnsafeRawPointer) -> Int32
    let unref: @convention(c) (Handle) -> Handle?

    let type: @convention(c) (Handle, UnsafeMutablePointer<UInt8>) -> Int32
    let replyCookie: @convention(c) (Handle, UnsafeMutablePointer<UInt64>) -> Int32
    let sender: @convention(c) (Handle) -> Text?
    let path: @convention(c) (Handle) -> Text?
    let interface: @convention(c) (Handle) -> Text?
    let member: @convention(c) (Handle) -> Text?
    let signature: @convention(c) (Handle, Int32) -> Text?
    let serving: Serving
    /// A structure that begins with the name of the error.
    let error: @convention(c) (Handle) -> UnsafePointer<Text?>?
    let call:
        @convention(c) (
            Handle, Handle, UInt64, UnsafeMutableRawPointer?, UnsafeMutablePointer<Handle?>
        ) -> Int32
    let sensitive: @convention(c) (Handle) -> Int32
    let openContainer: @convention(c) (Handle, CChar, Text) -> Int32
    let closeContainer: @convention(c) (Handle) -> Int32
    let appendArray: @convention(c) (Handle, CChar, UnsafeRawPointer?, Int) -> Int32
    let readArray:
        @convention(c) (
            Handle, CChar, UnsafeMutablePointer<UnsafeRawPointer?>, UnsafeMutablePointer<Int>
        ) -> Int32
    let skip: @convention(c) (Handle, Text) -> Int32
    let peekType:
        @convention(c) (Handle, UnsafeMutablePointer<CChar>, UnsafeMutablePointer<Text?>) -> Int32
    let readBasic: @convention(c) (Handle, CChar, UnsafeMutableRawPointer) -> Int32
    let enterContainer: @convention(c) (Handle, CChar, Text) -> Int32
    let exitContainer: @convention(c) (Handle) -> Int32

    /// Loads the library of that name.
    ///
    /// - Throws: `libraryAbsent`.
    init(_ name: String) throws(SystemError) {
        guard let library = DynamicLibrary(name) else {
            throw SystemError(withoutLibrary: "load \(name)")
        }
        unsafe new = try Self.symbol("sd_bus_new", of: library)
        unsafe setAddress = try Self.symbol("sd_bus_set_address", of: library)
        unsafe setBusClient = try Self.symbol("sd_bus_set_bus_client", of: library)
        unsafe negotiateDescriptors = try Self.symbol("sd_bus_negotiate_fds", of: library)
        unsafe start = try Self.symbol("sd_bus_start", of: library)
        unsafe isReady = try Self.symbol("sd_bus_is_ready", of: library)
        unsafe descriptor = try Self.symbol("sd_bus_get_fd", of: library)
        unsafe events = try Self.symbol("sd_bus_get_events", of: library)
        unsafe process = try Self.symbol("sd_bus_process", of: library)
        unsafe send = try Self.symbol("sd_bus_send", of: library)
        unsafe closeUnref = try Self.symbol("sd_bus_close_unref", of: library)
        unsafe newMethodCall = try Self.symbol("sd_bus_message_new_method_call", of: library)
        unsafe appendBasic = try Self.symbol("sd_bus_message_append_basic", of: library)
        unsafe unref = try Self.symbol("sd_bus_message_unref", of: library)
        unsafe type = try Self.symbol("sd_bus_message_get_type", of: library)
        unsafe replyCookie = try Self.symbol("sd_bus_message_get_reply_cookie", of: library)
        unsafe sender = try Self.symbol("sd_bus_message_get_sender", of: library)
        unsafe path = try Self.symbol("sd_bus_message_get_path", of: library)
        unsafe interface = try Self.symbol("sd_bus_message_get_interface", of: library)
        unsafe member = try Self.symbol("sd_bus_message_get_member", of: library)
        unsafe signature = try Self.symbol("sd_bus_message_get_signature", of: library)
        unsafe serving = try Serving(library)
        unsafe appendArray = try Self.symbol("sd_bus_message_append_array", of: library)
        unsafe error = try Self.symbol("sd_bus_message_get_error", of: library)
        unsafe peekType = try Self.symbol("sd_bus_message_peek_type", of: library)
        unsafe readBasic = try Self.symbol("sd_bus_message_read_basic", of: library)
        unsafe enterContainer = try Self.symbol("sd_bus_message_enter_container", of: library)
        unsafe exitContainer = try Self.symbol("sd_bus_message_exit_container", of: library)
        unsafe call = try Self.symbol("sd_bus_call", of: library)
        unsafe sensitive = try Self.symbol("sd_bus_message_sensitive", of: library)
        unsafe openContainer = try Self.symbol("sd_bus_message_open_container", of: library)
        unsafe closeContainer = try Self.symbol("sd_bus_message_close_container", of: library)
        unsafe readArray = try Self.symbol("sd_bus_message_read_array", of: library)
        unsafe skip = try Self.symbol("sd_bus_message_skip", of: library)
    }

    /// The functions that only a program that answers calls needs.
    @unsafe struct Serving {
        let requestName: @convention(c) (Handle, Text, UInt64) -> Int32
        let releaseName: @convention(c) (Handle, Text) -> Int32
        let newReturn: @convention(c) (Handle, UnsafeMutablePointer<Handle?>) -> Int32
        let newError:
            @convention(c) (Handle, UnsafeMutablePointer<Handle?>, UnsafeRawPointer) -> Int32
        let newSignal:
            @convention(c) (Handle, UnsafeMutablePointer<Handle?>, Text, Text, Text) -> Int32
        let setDestination: @convention(c) (Handle, Text) -> Int32
        let seal: @convention(c) (Handle, UInt64, UInt64) -> Int32
        let rewind: @convention(c) (Handle, Int32) -> Int32
        let arraySpace:
            @convention(c) (Handle, CChar, Int, UnsafeMutablePointer<UnsafeMutableRawPointer?>) ->
                Int32

        init(_ library: DynamicLibrary) throws(SystemError) {
            unsafe requestName = try SDBusLibrary.symbol("sd_bus_request_name", of: library)
            unsafe releaseName = try SDBusLibrary.symbol("sd_bus_release_name", of: library)
            unsafe newReturn = try SDBusLibrary.symbol(
                "sd_bus_message_new_method_return", of: library)
            unsafe newError = try SDBusLibrary.symbol(
                "sd_bus_message_new_method_error", of: library)
            unsafe seal = try SDBusLibrary.symbol("sd_bus_message_seal", of: library)
            unsafe rewind = try SDBusLibrary.symbol("sd_bus_message_rewind", of: library)
            unsafe arraySpace = try SDBusLibrary.symbol(
                "sd_bus_message_append_array_space", of: library)
            unsafe newSignal = try SDBusLibrary.symbol("sd_bus_message_new_signal", of: library)
            unsafe setDestination = try SDBusLibrary.symbol(
                "sd_bus_message_set_destination", of: library)
        }
    }

    private static func symbol<F>(
        _ name: String, of library: DynamicLibrary
    ) throws(SystemError) -> F {
        guard let function: F = unsafe library.function(name) else {
            throw SystemError(withoutLibrary: "find \(name)")
        }
        return function
    }
}

extension SystemError {
    fileprivate init(withoutLibrary operation: String) {
        self.init(
            .libraryAbsent, during: operation,
            hint: "install the Debian package libsystemd0, version 246 or newer")
    }
}
