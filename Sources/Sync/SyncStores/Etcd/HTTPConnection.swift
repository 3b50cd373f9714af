// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCCurl
internal import ValetKeychainModel
internal import ValetSync
internal import ValetSystem

/// Posts requests to servers and receives answers, through libcurl. It keeps connections open
/// between requests. One thread uses it at a time.
///
/// It uses no proxy, follows no redirect, and reads only the files of ``EtcdPlace``.
@safe final class HTTPConnection {
    struct Request {
        let url: String
        let place: EtcdPlace
        /// The value of the header `Authorization`.
        let token: String?
        /// Larger answers are cut off. In a stream, this limits the bytes that the caller has not
        /// taken yet.
        let maxByteCount: Int
    }

    enum Ending {
        /// The answer is complete. After a stream, these are the bytes that the caller has not
        /// taken.
        case done(status: Int, [UInt8])
        /// The caller has taken all that it wanted.
        case stopped
        case limit
        case tooLarge
        /// libcurl's code, and its text.
        case failed(Int32, String)
    }

    /// Where libcurl puts an answer.
    private final class Inbox {
        var bytes: [UInt8] = []
        let maxByteCount: Int
        var isTooLarge = false

        init(maxByteCount: Int) { self.maxByteCount = maxByteCount }
    }

    private let curl: CurlLibrary
    private let multi: CurlLibrary.Handle
    private let easy: CurlLibrary.Handle
    private let errorText: UnsafeMutablePointer<CChar>
    /// CURL_ERROR_SIZE.
    private static let errorByteCount = 256

    /// Loads libcurl. Connects to nothing yet.
    ///
    /// - Throws: `unavailable` if libcurl is not installed.
    init() throws(KeychainFailure) {
        unsafe curl = try CurlLibrary()
        guard let multi = unsafe curl.makeMulti(), let easy = unsafe curl.makeEasy() else {
            throw .withoutCurl
        }
        unsafe self.multi = multi
        unsafe self.easy = easy
        unsafe errorText = .allocate(capacity: Self.errorByteCount)
        unsafe errorText.initialize(repeating: 0, count: Self.errorByteCount)
    }

    deinit {
        unsafe curl.cleanUpEasy(easy)
        unsafe _ = curl.cleanUpMulti(multi)
        unsafe errorText.deallocate()
    }

    /// Posts `body`, which is JSON.
    ///
    /// - Parameter receive: For a stream: runs after each arrival of bytes, and gets those that
    ///   were not taken yet. It may take some of them, and returns whether it wants more.
    func post(
        _ request: Request, _ body: Span<UInt8>, within limit: WaitLimit,
        receive: (inout [UInt8]) -> Bool = { _ in true }
    ) -> Ending {
        let inbox = Inbox(maxByteCount: request.maxByteCount)
        return unsafe body.withUnsafeBytes { body in
            let headers = unsafe self.headers(of: request)
            defer { unsafe curl.freeHeaders(headers) }
            unsafe errorText[0] = 0
            var code = setTarget(request)
            code |= unsafe set(valet_curl_headers, headers)
            code |= unsafe set(valet_curl_body, body.baseAddress ?? UnsafeRawPointer(multi))
            code |= set(valet_curl_body_byte_count, body.count)
            let place = unsafe Unmanaged.passUnretained(inbox).toOpaque()
            code |= unsafe set(valet_curl_receiver_value, place)
            guard code == 0 else { return .failed(code, "an option is not known") }
            return withExtendedLifetime(inbox) {
                withoutBrokenPipes { transfer(inbox, within: limit, receive) }
            }
        }
    }

    private func transfer(
        _ inbox: Inbox, within limit: WaitLimit, _ receive: (inout [UInt8]) -> Bool
    ) -> Ending {
        guard unsafe curl.add(multi, easy) == 0 else { return .failed(0, "no transfer begins") }
        defer { unsafe _ = curl.remove(multi, easy) }
        while true {
            var runningCount: Int32 = 0
            guard unsafe curl.perform(multi, &runningCount) == 0 else {
                return .failed(0, "the transfer cannot go on")
            }
            if inbox.isTooLarge { return .tooLarge }
            if runningCount == 0, let ending = ending(inbox, receive) { return ending }
            if !inbox.bytes.isEmpty, !receive(&inbox.bytes) { return .stopped }
            guard limit.ending(at: .immediately).wait(for: -1) == .deadline,
                !limit.deadline.hasPassed
            else { return .limit }
            // Waits for the server or for the end of `limit`, at most a second.
            var others = limit.descriptors.map {
                valet_curl_descriptor(descriptor: $0, events: 1, happened: 0)
            }
            let milliseconds = min(limit.deadline.pollMilliseconds, 1000)
            let count = UInt32(others.count)
            unsafe others.withUnsafeMutableBytes { others in
                unsafe _ = curl.poll(multi, others.baseAddress, count, milliseconds, nil)
            }
        }
    }

    /// How the transfer ended; nil if libcurl does not say.
    private func ending(_ inbox: Inbox, _ receive: (inout [UInt8]) -> Bool) -> Ending? {
        var restCount: Int32 = 0
        guard let found = unsafe curl.readMessage(multi, &restCount) else { return nil }
        let message = unsafe found.load(as: valet_curl_message.self)
        let code = unsafe message.data.result
        guard code == 0 else {
            let known = unsafe curl.text(code).map { unsafe String(cString: $0) } ?? ""
            let text = unsafe String(cString: errorText)
            return .failed(code, text.isEmpty ? known : text)
        }
        if !inbox.bytes.isEmpty, !receive(&inbox.bytes) { return .stopped }
        var status = 0
        unsafe _ = valet_curl_get_status(curl.getInfo, easy, &status)
        return .done(status: status, inbox.bytes)
    }
}

extension HTTPConnection {
    private func setTarget(_ request: Request) -> Int32 {
        let isSecure = request.url.hasPrefix("https:")
        // CURLPROTO_HTTP is 1, CURLPROTO_HTTPS is 2.
        var code = set(valet_curl_protocols, isSecure ? 2 : 1)
        code |= set(valet_curl_url, request.url)
        code |= set(valet_curl_proxy, "")
        code |= set(valet_curl_no_proxy, "*")
        code |= set(valet_curl_follows_redirects, 0)
        code |= set(valet_curl_post, 1)
        // HTTP 1.1, at least TLS 1.2.
        code |= set(valet_curl_http_version, 2)
        code |= set(valet_curl_ssl_version, 6)
        code |= set(valet_curl_verifies_peer, 1)
        code |= set(valet_curl_verifies_host, 2)
        if let file = request.place.authority {
            code |= set(valet_curl_authority_file, file)
            // Otherwise libcurl would trust the system's authorities, too.
            code |= unsafe set(valet_curl_authority_folder, UnsafeRawPointer?.none)
        }
        code |= set(valet_curl_certificate, request.place.certificate)
        code |= set(valet_curl_key, request.place.key)
        code |= set(valet_curl_uses_no_signals, 1)
        code |= set(valet_curl_no_delay, 1)
        code |= set(valet_curl_keep_alive, 1)
        code |= set(valet_curl_connect_milliseconds, 300_000)
        code |= unsafe set(valet_curl_error_text, errorText)
        code |= unsafe valet_curl_set_receiver(curl.setOption, easy, Self.receive)
        // Since libcurl 7.87: a resolver that hangs does not hold up the end of a request.
        _ = set(valet_curl_leaves_resolver, 1)
        return code
    }

    private func headers(of request: Request) -> CurlLibrary.Handle? {
        // Without "Expect:" libcurl waits a second before it sends a large body.
        var lines = ["Content-Type: application/json", "Expect:"]
        if let token = request.token { lines.append("Authorization: \(token)") }
        var list: CurlLibrary.Handle?
        for line in lines { unsafe list = unsafe curl.appendHeader(list, line) ?? list }
        return unsafe list
    }

    private static let receive: valet_curl_receiver = { start, size, count, place in
        guard let start = unsafe start, let place = unsafe place else { return 0 }
        let inbox = unsafe Unmanaged<Inbox>.fromOpaque(place).takeUnretainedValue()
        let (byteCount, overflows) = size.multipliedReportingOverflow(by: count)
        guard !overflows, byteCount <= inbox.maxByteCount - inbox.bytes.count else {
            inbox.isTooLarge = true
            return 0
        }
        unsafe inbox.bytes.append(
            contentsOf: UnsafeRawBufferPointer(start: start, count: byteCount))
        return byteCount
    }

    private func set(_ option: Int, _ value: Int) -> Int32 {
        unsafe valet_curl_set_number(curl.setOption, easy, Int32(option), value)
    }

    private func set(_ option: Int, _ text: String?) -> Int32 {
        guard let text else { return unsafe set(option, UnsafeRawPointer?.none) }
        return unsafe text.withCString { unsafe set(option, UnsafeRawPointer($0)) }
    }

    private func set(_ option: Int, _ pointer: UnsafeRawPointer?) -> Int32 {
        unsafe valet_curl_set_pointer(curl.setOption, easy, Int32(option), pointer)
    }

    /// OpenSSL writes to sockets in a way that raises SIGPIPE when the other end is gone.
    private func withoutBrokenPipes<R>(_ body: () -> R) -> R {
        var (brokenPipe, before, pending) = (sigset_t(), sigset_t(), sigset_t())
        unsafe sigemptyset(&brokenPipe)
        unsafe sigaddset(&brokenPipe, SIGPIPE)
        unsafe sigpending(&pending)
        let wasPending = unsafe sigismember(&pending, SIGPIPE) == 1
        unsafe pthread_sigmask(SIG_BLOCK, &brokenPipe, &before)
        defer {
            if !wasPending {
                var time = timespec()
                while unsafe sigtimedwait(&brokenPipe, nil, &time) < 0, errno == EINTR {}
            }
            unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        return body()
    }
}

/// The functions of libcurl. The library is loaded when a connection is made and stays loaded, so
/// that only a program that uses an etcd store needs it.
///
/// The types are those of libcurl 7.68 and newer.
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
        guard let library = DynamicLibrary("libcurl.so.4") else { throw .withoutCurl }
        unsafe makeEasy = try Self.symbol("curl_easy_init", of: library)
        unsafe cleanUpEasy = try Self.symbol("curl_easy_cleanup", of: library)
        unsafe setOption = try Self.symbol("curl_easy_setopt", of: library)
        unsafe getInfo = try Self.symbol("curl_easy_getinfo", of: library)
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
        // CURL_GLOBAL_ALL. libcurl counts these calls; this process never cleans the library up.
        guard initialize(3) == 0 else { throw .withoutCurl }
    }

    private static func symbol<F>(
        _ name: String, of library: DynamicLibrary
    ) throws(KeychainFailure) -> F {
        guard let function: F = unsafe library.function(name) else { throw .withoutCurl }
        return function
    }
}

extension KeychainFailure {
    static var withoutCurl: KeychainFailure {
        KeychainFailure.store(
            .storeUnavailable, during: "load libcurl.so.4",
            hint: "install the Debian package libcurl4, version 7.68 or newer")
    }
}
