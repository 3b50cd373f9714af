// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCCurl
internal import ValetKeychainModel
internal import ValetSystem

/// Posts requests to servers and receives answers, through libcurl. It keeps connections open
/// between requests. One thread uses it at a time.
///
/// It uses no proxy, follows no redirect, and reads only the files of ``EtcdSecurity``.
@safe final class HTTPConnection {
    /// A request, with the limits of its answer.
    struct Request {
        let url: String
        let security: EtcdSecurity
        /// The value of the header `Authorization`.
        let token: String?
        /// Larger answers are cut off. In a stream, this limits the bytes that the caller has not
        /// taken yet.
        let maxByteCount: Int
    }

    /// How a request ended.
    enum Ending {
        /// The answer is complete. After a stream, these are the bytes that the caller has not
        /// taken.
        case done(status: Int, [UInt8])
        /// The caller has taken all that it wanted.
        case stopped
        /// The limit ended it.
        case limit
        /// The answer is too large.
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
            wait(limit)
        }
    }

    /// Waits for the server or for the end of `limit`, at most a second.
    private func wait(_ limit: WaitLimit) {
        var others = limit.descriptors.map {
            valet_curl_descriptor(descriptor: $0, events: 1, happened: 0)
        }
        let milliseconds = min(limit.deadline.pollMilliseconds, 1000)
        let count = UInt32(others.count)
        unsafe others.withUnsafeMutableBytes { others in
            unsafe _ = curl.poll(multi, others.baseAddress, count, milliseconds, nil)
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

/// Options of libcurl.
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
        if let file = request.security.authority {
            code |= set(valet_curl_authority_file, file)
            // Otherwise the system's authorities would count, too.
            code |= unsafe set(valet_curl_authority_folder, UnsafeRawPointer?.none)
        }
        code |= set(valet_curl_certificate, request.security.certificate)
        code |= set(valet_curl_key, request.security.key)
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
