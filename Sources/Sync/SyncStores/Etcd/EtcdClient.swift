// SPDX-License-Identifier: Apache-2.0

internal import ValetCCurl
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSync
internal import ValetSystem

/// Calls etcd's JSON gateway: tries one server after the other, authenticates, and says what went
/// wrong. One thread uses it at a time.
///
/// Every request may be made again: transactions have conditions, and everything else overwrites
/// bytes by the same ones. So after a server that does not answer, the next one is asked.
final class EtcdClient {
    /// A request.
    struct Call {
        let path: String
        let body: [UInt8]
        /// What is being done, for errors.
        let operation: String
        var maxByteCount = 1 << 20
        /// Whether to ask until the deadline, once a server may have made the change.
        var persists = false
    }

    /// What became of a request to one server.
    private enum Attempt {
        case answer([UInt8])
        /// No server would answer otherwise.
        case refusal(KeychainFailure)
        /// There is no token, or one that has expired.
        case unauthorized
        /// Another server may answer. If `isUnknown`, this one may have done what it was asked.
        case next(KeychainFailure, isUnknown: Bool)
    }

    private let address: EtcdAddress
    private let connection: HTTPConnection
    /// The server that answered last.
    private var current = 0
    private var token: String?
    /// The servers ask for no users.
    private var needsNoToken: Bool

    /// A server without its quorum accepts requests and is silent.
    private static let limitOfServer = Duration.seconds(5)
    private static let pause: Int64 = 200_000_000

    init(_ address: EtcdAddress) throws(KeychainFailure) {
        self.address = address
        connection = try HTTPConnection()
        needsNoToken = address.credentials == nil
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

    /// A new lease.
    func lease(
        _ duration: Duration, _ operation: String, within limit: WaitLimit
    ) throws(KeychainFailure) -> String {
        let body = Array(#"{"TTL":"\#(duration.components.seconds)"}"#.utf8)
        let call = Call(path: "/v3/lease/grant", body: body, operation: operation)
        guard let lease = etcdMember(.lease, of: try perform(call, within: limit)) else {
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
        guard case .unauthorized = first, address.credentials != nil else { return first }
        needsNoToken = false
        if let failure = try authenticate(within: limit) { return failure }
        return attempt(call, within: limit)
    }

    /// Gets a token.
    ///
    /// - Returns: What else the server said; nil if it gave one, or needs none.
    private func authenticate(within limit: WaitLimit) throws(KeychainFailure) -> Attempt? {
        guard let credentials = address.credentials else { return nil }
        let operation = "log in to etcd"
        token = nil
        let body = credentials.json
        let result = body.withBytes { body in
            attempt("/v3/auth/authenticate", body, operation, 1 << 16, limit)
        }
        switch result {
        case .answer(let bytes):
            guard let text = etcdMember(.token, of: bytes) else {
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
            url: address.endpoints[current] + path, security: address.security, token: token,
            maxByteCount: maxByteCount)
    }

    /// Opens a stream at the server that answered last, and lends each of its lines until `receive`
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
        case (_, 3) where text.contains("user name is empty"): return .unauthorized
        case (_, 3) where text.contains("authentication failed"):
            return .refusal(error(.storeDenied, "give the right user and password"))
        case (_, 3) where text.contains("too large"):
            return .refusal(
                error(.storeFull, "start etcd with --max-request-bytes 1572864 or more"))
        case (_, 9) where text.contains("not enabled"):
            return .refusal(error(.badStoreAddress, nil))
        case (_, 8) where text.contains("space exceeded"): return .refusal(error(.storeFull, nil))
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
        case _ where text.contains("alert"):
            return .next(
                error(.storeDenied, "give a certificate that the servers accept"), isUnknown: false)
        case valet_curl_failed_to_secure:
            return .next(error(.storeUnavailable, nil), isUnknown: false)
        default: return .next(error(.storeUnavailable, nil), isUnknown: true)
        }
    }

    /// The beginning of a text of the server, without characters that control terminals.
    private static func line(_ text: String) -> String {
        String(
            decoding: text.utf8.prefix(200).map { $0 < 0x20 || $0 > 0x7e ? 0x3f : $0 },
            as: UTF8.self)
    }
}

extension EtcdCredentials {
    /// The body of a request for a token.
    fileprivate var json: SecretValue {
        password.withBytes { password in
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
