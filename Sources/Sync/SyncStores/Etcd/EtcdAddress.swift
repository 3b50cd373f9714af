// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
internal import ValetSync

/// The files that secure connections to an etcd cluster. Paths are absolute; files are PEM.
package struct EtcdSecurity: Hashable, Sendable {
    /// The certificates of authorities that may vouch for the servers. With it, those of the system
    /// do not count; without it, they do.
    package var authority: String?
    /// The certificate of this device, if the cluster asks for one.
    package var certificate: String?
    /// The private key of that certificate.
    package var key: String?

    /// Names the files.
    package init(authority: String? = nil, certificate: String? = nil, key: String? = nil) {
        (self.authority, self.certificate, self.key) = (authority, certificate, key)
    }
}

/// A user of an etcd cluster. Its password is an item of the keychain.
package struct EtcdCredentials: Sendable {
    /// The name.
    package let user: String
    /// The password, in UTF-8.
    package let password: SecretValue

    package init(user: String, password: SecretValue) {
        (self.user, self.password) = (user, password)
    }
}

/// Where an etcd cluster is, and how this device gets in.
package struct EtcdAddress: Sendable {
    /// `https://HOST:PORT` for each member of the cluster, in the order in which they are tried.
    package let endpoints: [String]
    /// The files that secure the connections.
    package let security: EtcdSecurity
    /// The user, if the cluster asks for one.
    package let credentials: EtcdCredentials?

    private static let operation = "read the address of the etcd cluster"
    private static let defaultPort = 2379
    private static let maximalEndpointCount = 16

    /// Reads a list such as `https://a.example:2379,https://b.example:2379`.
    ///
    /// Plain HTTP is refused: others on the network could not read items, but they could delete
    /// all that is in the store. There are two exceptions: addresses of this machine itself, and
    /// networks for which the caller sets `allowsPlainText`. Neither holds with credentials: any
    /// user of this machine can listen on a port that etcd has left, and would get the password.
    /// - Throws: `badAddress`, with the remedy.
    package init(
        _ list: String, security: EtcdSecurity = EtcdSecurity(),
        credentials: EtcdCredentials? = nil, allowsPlainText: Bool = false
    ) throws(KeychainFailure) {
        // Before anything is repeated in an error: it may be a password.
        guard !list.contains("@") else {
            throw Self.refusal(
                "an address must have no user and no password in it",
                hint: "give the user by '--user'; its password is asked for")
        }
        var endpoints: [String] = []
        for part in list.split(separator: ",", omittingEmptySubsequences: false) {
            let (endpoint, protection) = try Self.endpoint(String(part))
            guard protection == .secure || credentials == nil else {
                throw Self.refusal(
                    "\(part) would send the password unprotected, which any user of the machine "
                        + "or the network could receive",
                    hint: "use https, and TLS in the servers; or no user")
            }
            guard protection != .nothing || allowsPlainText else {
                throw Self.refusal(
                    "\(part) sends everything unprotected",
                    hint: "use https, and TLS in the servers")
            }
            endpoints.append(endpoint)
        }
        guard endpoints.count <= Self.maximalEndpointCount else {
            throw Self.refusal("more than \(Self.maximalEndpointCount) servers", hint: "name fewer")
        }
        try Self.check(security)
        self.endpoints = endpoints
        self.security = security
        self.credentials = credentials
    }

    private static func check(_ security: EtcdSecurity) throws(KeychainFailure) {
        for file in [security.authority, security.certificate, security.key].compactMap(\.self)
        where file.utf8.first != UInt8(ascii: "/") || file.utf8.contains(0) {
            throw refusal("\(file) is not an absolute path", hint: "give absolute paths")
        }
        guard (security.certificate == nil) == (security.key == nil) else {
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
