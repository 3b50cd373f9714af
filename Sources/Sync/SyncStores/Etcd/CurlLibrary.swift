// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCCurl
internal import ValetKeychainModel
internal import ValetSync

/// The functions of libcurl. The library is loaded when a connection is made and stays loaded, so
/// that only a program that uses such a store needs it.
///
/// The names omit `curl_`. The types are those of libcurl 7.68 and newer.
@unsafe struct CurlLibrary {
    typealias Handle = UnsafeMutableRawPointer

    let makeEasy: @convention(c) () -> Handle?
    let cleanUpEasy: @convention(c) (Handle) -> Void
    /// Variadic: called through ValetCCurl.
    let setOption: UnsafeMutableRawPointer
    /// Variadic: called through ValetCCurl.
    let getInfo: UnsafeMutableRawPointer
    let text: @convention(c) (Int32) -> UnsafePointer<CChar>?
    let appendHeader: @convention(c) (Handle?, UnsafePointer<CChar>) -> Handle?
    let freeHeaders: @convention(c) (Handle?) -> Void
    let makeMulti: @convention(c) () -> Handle?
    let cleanUpMulti: @convention(c) (Handle) -> Int32
    let add: @convention(c) (Handle, Handle) -> Int32
    let remove: @convention(c) (Handle, Handle) -> Int32
    let perform: @convention(c) (Handle, UnsafeMutablePointer<Int32>) -> Int32
    let poll:
        @convention(c) (
            Handle, UnsafeMutableRawPointer?, UInt32, Int32, UnsafeMutablePointer<Int32>?
        ) -> Int32
    let readMessage:
        @convention(c) (Handle, UnsafeMutablePointer<Int32>) -> UnsafeMutableRawPointer?

    /// Loads the library.
    ///
    /// - Throws: `unavailable` if it is not installed or too old.
    init() throws(KeychainFailure) {
        guard let library = unsafe dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)
        else { throw .withoutCurl }
        unsafe makeEasy = try Self.symbol("curl_easy_init", of: library)
        unsafe cleanUpEasy = try Self.symbol("curl_easy_cleanup", of: library)
        unsafe setOption = try Self.address("curl_easy_setopt", of: library)
        unsafe getInfo = try Self.address("curl_easy_getinfo", of: library)
        unsafe text = try Self.symbol("curl_easy_strerror", of: library)
        unsafe appendHeader = try Self.symbol("curl_slist_append", of: library)
        unsafe freeHeaders = try Self.symbol("curl_slist_free_all", of: library)
        unsafe makeMulti = try Self.symbol("curl_multi_init", of: library)
        unsafe cleanUpMulti = try Self.symbol("curl_multi_cleanup", of: library)
        unsafe add = try Self.symbol("curl_multi_add_handle", of: library)
        unsafe remove = try Self.symbol("curl_multi_remove_handle", of: library)
        unsafe perform = try Self.symbol("curl_multi_perform", of: library)
        unsafe poll = try Self.symbol("curl_multi_poll", of: library)
        unsafe readMessage = try Self.symbol("curl_multi_info_read", of: library)
        let initialize: @convention(c) (Int) -> Int32 = unsafe try Self.symbol(
            "curl_global_init", of: library)
        // CURL_GLOBAL_ALL. Calls are counted; this process never ends the library.
        guard initialize(3) == 0 else { throw .withoutCurl }
    }

    private static func symbol<F>(
        _ name: String, of library: UnsafeMutableRawPointer
    ) throws(KeychainFailure) -> F {
        let address = unsafe try address(name, of: library)
        return unsafe unsafeBitCast(address, to: F.self)
    }

    private static func address(
        _ name: String, of library: UnsafeMutableRawPointer
    ) throws(KeychainFailure) -> UnsafeMutableRawPointer {
        guard let address = unsafe dlsym(library, name) else { throw .withoutCurl }
        return unsafe address
    }
}

extension KeychainFailure {
    static var withoutCurl: KeychainFailure {
        KeychainFailure.store(
            .storeUnavailable, during: "load libcurl.so.4",
            hint: "install the Debian package libcurl4, version 7.68 or newer")
    }
}
