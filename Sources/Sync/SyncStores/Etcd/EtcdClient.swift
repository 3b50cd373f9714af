// SPDX-License-Identifier: Apache-2.0

internal import ValetCCurl
package import ValetKeychainModel
package import ValetSealing
package import ValetSync
internal import ValetSystem

/// Calls etcd's JSON gateway: tries one server after the other, authenticates, and says what went
/// wrong. One thread uses it at a time.
///
/// Every request may be repeated: transactions have conditions, a lease that nobody uses ends by
/// itself, and everything else overwrites bytes with the same bytes. So if one server does not
/// answer, the next one is asked.
final class EtcdClient {
    struct Call {
        let path: String
        let body: [UInt8]
        let operation: String
        var maxByteCount = 1 << 20
        /// Whether to ask until the deadline, once a server may have made the change.
        var persists = false
    }

    private enum Attempt {
        case answer([UInt8])
        /// Every other server would answer the same.
        case refusal(KeychainFailure)
        /// There is no token, or one that has expired.
        case unauthorized
        /// Another server may answer. If `isUnknown`, this one may have done what it was asked.
        case next(KeychainFailure, isUnknown: Bool)
    }

    private let address: EtcdAddress
    private let connection: HTTPConnection
    private var current = 0
    private var token: String?
    /// Requests need no token: there is no user, or the servers do not use authentication.
    private var needsNoToken: Bool

    /// A server without a quorum accepts requests but does not answer.
    private static let limitOfServer = Duration.seconds(5)
    private static let pause: Int64 = 200_000_000
    private static let leaseQuery: StaticString = "SELECT json_extract(text, '$.ID') FROM document"
    private static let tokenQuery: StaticString =
        "SELECT json_extract(text, '$.token') FROM document"

    init(_ address: EtcdAddress) throws(KeychainFailure) {
        self.address = address
        connection = try HTTPConnection()
        needsNoToken = address.place.user == nil
    }

    func transact(
        _ transaction: EtcdTransaction, _ operation: String, within limit: WaitLimit,
        maxByteCount: Int = 1 << 20, persists: Bool = false
    ) throws(KeychainFailure) -> EtcdAnswer {
        let call = Call(
            path: "/v3/kv/txn", body: transaction.json, operation: operation,
            maxByteCount: maxByteCount, persists: persists)
        guard let answer = EtcdAnswer(try perform(call, within: limit)) else {
            throw Self.malformed(operation)
        }
        return answer
    }

    /// Grants a lease and returns its ID.
    func lease(
        _ duration: Duration, _ operation: String, within limit: WaitLimit
    ) throws(KeychainFailure) -> String {
        let body = Array(#"{"TTL":"\#(duration.components.seconds)"}"#.utf8)
        let call = Call(path: "/v3/lease/grant", body: body, operation: operation)
        guard let lease = etcdMember(Self.leaseQuery, of: try perform(call, within: limit)) else {
            throw Self.malformed(operation)
        }
        return lease
    }

    private static func malformed(_ operation: String) -> KeychainFailure {
        KeychainFailure.store(.storeMalformed, during: operation, reason: "not an answer of etcd")
    }

    /// Asks the servers in turn, from the one that answered last.
    private func perform(_ call: Call, within limit: WaitLimit) throws(KeychainFailure) -> [UInt8] {
        var isUnknown = false
        var last = KeychainFailure.store(.storeTimedOut, during: call.operation)
        repeat {
            for _ in address.endpoints where !Self.hasEnded(limit) {
                switch try authorizedAttempt(call, within: limit) {
                case .answer(let bytes): return bytes
                case .refusal(let error): throw error
                case .unauthorized: throw Self.unauthorized(call.operation)
                case .next(let error, let mayBeDone):
                    isUnknown = isUnknown || mayBeDone
                    last = error
                    current = (current + 1) % address.endpoints.count
                }
            }
            guard call.persists, isUnknown, limit.deadline.sleep(atMost: Self.pause) else { break }
        } while !Self.hasEnded(limit)
        guard call.persists, isUnknown else { throw last }
        throw KeychainFailure.store(
            .storeOutcomeUnknown, during: call.operation, reason: last.message)
    }

    private static func hasEnded(_ limit: WaitLimit) -> Bool {
        limit.deadline.hasPassed || limit.cancellation?.isCancelled == true
    }

    /// Authenticates first if needed, and once more if the token is refused.
    private func authorizedAttempt(
        _ call: Call, within limit: WaitLimit
    ) throws(KeychainFailure) -> Attempt {
        if token == nil, !needsNoToken {
            if let failure = try authenticate(within: limit) { return failure }
        }
        let first = attempt(call, within: limit)
        guard case .unauthorized = first, address.place.user != nil else { return first }
        needsNoToken = false
        if let failure = try authenticate(within: limit) { return failure }
        return attempt(call, within: limit)
    }

    /// Gets a token.
    ///
    /// - Returns: The failed attempt; nil if the server gave a token, or needs none.
    private func authenticate(within limit: WaitLimit) throws(KeychainFailure) -> Attempt? {
        guard let body = address.loginRequest else { return nil }
        let operation = "log in to etcd"
        token = nil
        let result = body.withBytes { body in
            attempt("/v3/auth/authenticate", body, operation, 1 << 16, limit)
        }
        switch result {
        case .answer(let bytes):
            guard let text = etcdMember(Self.tokenQuery, of: bytes) else {
                throw Self.malformed(operation)
            }
            guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), text.utf8.count < 8192
            else {
                throw KeychainFailure.store(
                    .storeMalformed, during: operation, reason: "not a token")
            }
            token = text
            return nil
        case .refusal(let error) where error.code == .badStoreAddress:
            // "authentication is not enabled"
            needsNoToken = true
            return nil
        case .refusal, .unauthorized, .next: return result
        }
    }

    private func attempt(_ call: Call, within limit: WaitLimit) -> Attempt {
        attempt(call.path, call.body.span, call.operation, call.maxByteCount, limit)
    }

    private func attempt(
        _ path: String, _ body: Span<UInt8>, _ operation: String, _ maxByteCount: Int,
        _ limit: WaitLimit
    ) -> Attempt {
        let ending = min(limit.deadline, Deadline(after: Self.limitOfServer))
        let result = connection.post(
            request(path, maxByteCount: maxByteCount), body, within: limit.ending(at: ending))
        switch result {
        case .done(200, let bytes): return .answer(bytes)
        case .done(let status, let bytes): return refusal(status, bytes, operation)
        case .tooLarge:
            return .refusal(
                KeychainFailure.store(
                    .storeMalformed, during: operation, reason: "too large an answer"))
        case .limit, .stopped:
            let error = KeychainFailure.store(
                .storeTimedOut, during: operation, reason: "\(address.endpoints[current]) is silent"
            )
            return .next(error, isUnknown: true)
        case .failed(let code, let text): return failure(Int(code), text, operation)
        }
    }

    private func request(_ path: String, maxByteCount: Int) -> HTTPConnection.Request {
        HTTPConnection.Request(
            url: address.endpoints[current] + path, place: address.place, token: token,
            maxByteCount: maxByteCount)
    }

    /// Opens a stream at the server that answered last, and calls `receive` with each line until it
    /// returns false.
    ///
    /// - Returns: How the stream ended; an error if it broke off.
    func stream(
        _ path: String, _ body: [UInt8], within limit: WaitLimit,
        receive: ([UInt8]) -> Bool
    ) -> HTTPConnection.Ending {
        connection.post(request(path, maxByteCount: 4 << 20), body.span, within: limit) { bytes in
            while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(bytes[..<end])
                bytes.removeSubrange(...end)
                if !receive(line) { return false }
            }
            return true
        }
    }
}

/// Translates the servers' refusals and libcurl's failures.
extension EtcdClient {
    private static func unauthorized(_ operation: String) -> KeychainFailure {
        KeychainFailure.store(
            .storeDenied, during: operation, reason: "the cluster wants a user and a password",
            hint: "give the right user and password")
    }

    /// `code` is one of gRPC's: https://grpc.io/docs/guides/status-codes/.
    private func refusal(_ status: Int, _ body: [UInt8], _ operation: String) -> Attempt {
        let answer = EtcdRefusal(body)
        let text = Self.line(answer.text ?? "HTTP status \(status)")
        let error = { (code: KeychainFailure.Code, hint: String?) in
            KeychainFailure.store(code, during: operation, reason: text, hint: hint)
        }
        switch (status, answer.code) {
        case (401, _), (_, 16): return .unauthorized
        case (403, _), (_, 7): return .refusal(error(.storeDenied, nil))
        case (_, 3) where text.includes("user name is empty"): return .unauthorized
        case (_, 3) where text.includes("authentication failed"):
            return .refusal(error(.storeDenied, "give the right user and password"))
        case (_, 3) where text.includes("too large"):
            return .refusal(
                error(.storeFull, "start etcd with --max-request-bytes 1572864 or more"))
        case (_, 9) where text.includes("not enabled"):
            return .refusal(error(.badStoreAddress, nil))
        case (_, 8) where text.includes("space exceeded"): return .refusal(error(.storeFull, nil))
        case (500..., _), (429, _), (_, 1), (_, 2), (_, 4), (_, 8), (_, 10), (_, 13), (_, 14):
            return .next(error(.storeUnavailable, nil), isUnknown: true)
        default:
            let help = "check that the address is that of etcd 3.4 or newer with its JSON gateway"
            return .refusal(error(.storeMalformed, help))
        }
    }

    private func failure(_ code: Int, _ text: String, _ operation: String) -> Attempt {
        let reason = "\(address.endpoints[current]): \(Self.line(text))"
        let error = { (code: KeychainFailure.Code, hint: String?) in
            KeychainFailure.store(code, during: operation, reason: reason, hint: hint)
        }
        switch code {
        case valet_curl_failed_to_resolve, valet_curl_failed_to_connect:
            return .next(error(.storeUnavailable, nil), isUnknown: false)
        case valet_curl_bad_certificate, valet_curl_bad_authority_file:
            return .refusal(
                error(.badStoreAddress, "give readable files with a certificate, its key, and a CA")
            )
        case valet_curl_bad_cipher, valet_curl_failed_to_verify:
            return .next(
                error(.storeDenied, "check the CA file, and the names in the server's certificate"),
                isUnknown: false)
        // A server that wants another certificate of this device says so after the handshake.
        case _ where text.includes("alert"):
            return .next(
                error(.storeDenied, "give a certificate that the servers accept"), isUnknown: false)
        case valet_curl_failed_to_secure:
            return .next(error(.storeUnavailable, nil), isUnknown: false)
        default: return .next(error(.storeUnavailable, nil), isUnknown: true)
        }
    }

    /// The first 200 bytes of a server's text, with "?" for every byte outside printable ASCII.
    private static func line(_ text: String) -> String {
        String(
            decoding: text.utf8.prefix(200).map { $0 < 0x20 || $0 > 0x7e ? 0x3f : $0 },
            as: UTF8.self)
    }
}

extension EtcdAddress {
    /// The body of a request for a token; nil without a user.
    fileprivate var loginRequest: SecretValue? {
        guard let user = place.user, let password else { return nil }
        return password.withBytes { password in
            var text = SecretText(capacity: 64 + 2 * (user.utf8.count + password.count))
            text.append(#"{"name":"#)
            text.appendJSONString(user)
            text.append(#","password":"#)
            text.appendJSONString(password)
            text.append("}")
            return text.value()
        }
    }
}

/// Where an etcd cluster is, and how this device gets in.
package struct EtcdAddress: Sendable {
    /// `https://HOST:PORT` for each member of the cluster, in the order in which they are tried.
    package let endpoints: [String]
    let place: EtcdPlace
    /// The password of the user, in UTF-8: an item of the keychain.
    let password: SecretValue?

    private static let operation = "read the address of the etcd cluster"
    private static let defaultPort = 2379
    private static let maximalEndpointCount = 16

    /// Reads a list such as `https://a.example:2379,https://b.example:2379`, and checks the rest.
    ///
    /// Plain HTTP is refused: others on the network could not read items, but they could delete
    /// all that is in the store. There are two exceptions: addresses of this machine itself, and
    /// networks for which `allowsPlainText` is set. Neither exception applies with a user: any user
    /// of this machine can listen on a port that etcd has left, and would get the password.
    /// - Throws: `badStoreAddress`, with the remedy; `storeDenied` for a user without a password.
    package init(_ place: EtcdPlace, password: SecretValue? = nil) throws(KeychainFailure) {
        // This check comes before any error that quotes the list: it may contain a password.
        guard !place.list.contains("@") else {
            throw Self.refusal(
                "an address must have no user and no password in it",
                hint: "give the user by '--user'; its password is asked for")
        }
        var endpoints: [String] = []
        for part in place.list.split(separator: ",", omittingEmptySubsequences: false) {
            let (endpoint, protection) = try Self.endpoint(String(part))
            guard protection == .secure || place.user == nil else {
                throw Self.refusal(
                    "\(part) would send the password unprotected, which any user of the machine "
                        + "or the network could receive",
                    hint: "use https, and TLS in the servers; or no user")
            }
            guard protection != .nothing || place.allowsPlainText else {
                throw Self.refusal(
                    "\(part) sends everything unprotected",
                    hint: "use https, and TLS in the servers")
            }
            endpoints.append(endpoint)
        }
        guard endpoints.count <= Self.maximalEndpointCount else {
            throw Self.refusal("more than \(Self.maximalEndpointCount) servers", hint: "name fewer")
        }
        try Self.checkFiles(of: place)
        if let user = place.user, password == nil {
            throw KeychainFailure.store(
                .storeDenied, during: Self.operation,
                reason: "the keychain has no password of the user \(user)",
                hint: "`valet sync leave --here`, then join the circle anew")
        }
        (self.endpoints, self.place, self.password) = (endpoints, place, password)
    }

    private static func checkFiles(of place: EtcdPlace) throws(KeychainFailure) {
        for file in [place.authority, place.certificate, place.key].compactMap(\.self)
        where file.utf8.first != UInt8(ascii: "/") || file.utf8.contains(0) {
            throw refusal("\(file) is not an absolute path", hint: "give absolute paths")
        }
        guard (place.certificate == nil) == (place.key == nil) else {
            throw refusal(
                "a certificate without its key, or a key alone", hint: "give both, or none")
        }
    }

    /// What keeps others from reading or changing what is sent to a server.
    private enum Protection {
        case secure, sameMachine, nothing
    }

    private static func endpoint(
        _ text: String
    ) throws(KeychainFailure) -> (url: String, Protection) {
        let help = "write https://HOST:PORT for each server, with commas between them"
        let scheme = ["https://", "http://"].first { text.hasPrefix($0) }
        guard let scheme else { throw refusal("'\(text)' is not the URL of a server", hint: help) }
        var rest = text.dropFirst(scheme.count)
        if rest.hasSuffix("/") { rest.removeLast() }
        var (host, port) = (rest, defaultPort)
        let afterBracket = rest.lastIndex(of: "]") ?? rest.startIndex
        if let colon = rest[afterBracket...].lastIndex(of: ":") {
            let digits = rest[rest.index(after: colon)...]
            guard digits.allSatisfy(\.isNumber), let number = UInt16(digits), number > 0 else {
                throw refusal("'\(text)' has no valid port", hint: help)
            }
            (host, port) = (rest[..<colon], Int(number))
        }
        guard isHost(host) else { throw refusal("'\(text)' has no valid host", hint: help) }
        let protection: Protection =
            scheme == "https://" ? .secure : isThisMachine(host) ? .sameMachine : .nothing
        return ("\(scheme)\(host):\(port)", protection)
    }

    /// Whether it is a name, an IPv4 address, or an IPv6 address in brackets.
    private static func isHost(_ host: Substring) -> Bool {
        let digits = "0123456789", letters = "abcdefghijklmnopqrstuvwxyz"
        guard !host.isEmpty, host.utf8.count <= 255 else { return false }
        if host.hasPrefix("["), host.hasSuffix("]") {
            let inner = host.dropFirst().dropLast()
            return inner.contains(":")
                && inner.allSatisfy { (digits + "abcdefABCDEF:.").contains($0) }
        }
        return host.allSatisfy { (digits + letters + letters.uppercased() + "-.").contains($0) }
            && host.first != "-"
    }

    /// Whether the host cannot be another machine. libcurl resolves "localhost" itself.
    private static func isThisMachine(_ host: Substring) -> Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { UInt8($0) != nil && $0.allSatisfy(\.isNumber) }
    }

    private static func refusal(_ reason: String, hint: String) -> KeychainFailure {
        KeychainFailure.store(.badStoreAddress, during: operation, reason: reason, hint: hint)
    }
}

extension String {
    /// Whether `part` is in the text. The standard library's own search links its regular
    /// expressions into a program, a megabyte.
    func includes(_ part: String) -> Bool {
        utf8.indices.contains { utf8[$0...].starts(with: part.utf8) }
    }
}
