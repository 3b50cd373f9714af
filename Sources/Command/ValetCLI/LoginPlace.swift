// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSystem

/// Where an internet password is used: the attributes that name it, besides its account.
///
/// All helpers and all sources of imports name their items by it, so that each finds what another
/// one stored.
package struct LoginPlace: Hashable, Sendable {
    /// A protocol as URLs write it: "https".
    package let scheme: String
    /// A name or address in its canonical form (``HostName``); "" for none.
    package let server: String
    /// 0 for none, and for the protocol's default port.
    package let port: UInt16
    /// Without the leading slash; in a search, nil matches any path.
    package let path: String?

    /// The authentication type of a password for programs, as git's helper for macOS stores it:
    /// `kSecAttrAuthenticationTypeDefault`. Those of web pages have "form".
    package static let authenticationType = AttributeValue.text("dflt")

    /// The ports of the protocols (IANA's registry of services).
    private static let ports: [String: UInt16] = [
        "ftp": 21, "ftps": 990, "git": 9418, "http": 80, "https": 443, "imap": 143, "imaps": 993,
        "ipp": 631, "irc": 194, "ldap": 389, "ldaps": 636, "nntp": 119, "nntps": 563, "pop3": 110,
        "pop3s": 995, "rtsp": 554, "sftp": 22, "smb": 445, "smtp": 25, "smtps": 465,
        "socks": 1080, "ssh": 22, "svn": 3690, "telnet": 23, "telnets": 992, "ws": 80, "wss": 443,
    ]

    /// The place of a host that may end in a colon and a port. An IPv6 address with a port has
    /// brackets.
    ///
    /// - Parameter path: The path without a leading slash.
    /// - Returns: nil for a protocol that would be mistaken for another one.
    package init?(scheme: String, host: String, path: String?) {
        let (name, port) = HostName.split(host)
        self.init(scheme: scheme, server: name, port: port, path: path)
    }

    /// The place of a server whose port is given separately; 0 for no port.
    package init?(scheme: String, server: String, port: UInt16, path: String?) {
        let scheme = HostName.lowercased(scheme)
        guard NetworkProtocol.name(scheme) == scheme, !scheme.isEmpty else { return nil }
        self.scheme = scheme
        self.server = HostName.canonical(server)
        self.port = port == Self.ports[scheme] ? 0 : port
        self.path = path
    }

    /// The place that an item's attributes name, in its canonical form; nil without a server or
    /// protocol.
    package init?(_ attributes: ItemAttributes) {
        guard let code = attributes[.protocol]?.asText, let server = attributes[.server]?.asText,
            let port = UInt16(exactly: attributes[.port]?.asNumber ?? 0)
        else { return nil }
        self.init(
            scheme: NetworkProtocol.name(code), server: server, port: port,
            path: attributes[.path]?.asText)
    }

    /// The attributes of an item for this place.
    package var attributes: ItemAttributes {
        var attributes: ItemAttributes = [
            .server: .text(server), .protocol: .text(NetworkProtocol.known(scheme) ?? scheme),
            .port: .number(Int64(port)),
        ]
        if let path { attributes[.path] = .text(path) }
        return attributes
    }

    /// The server and the port, as a URL has them.
    package var host: String { port == 0 ? server : "\(server):\(port)" }
}

extension AttributeValue {
    /// The value as text; nil for other values.
    package var asText: String? {
        switch self {
        case .text(let text): text
        case .bytes(let bytes): String(utf8: bytes)
        default: nil
        }
    }

    /// Seconds since 2001-01-01 00:00 UTC; nil for other values.
    package var date: Double? {
        guard case .date(let seconds) = self else { return nil }
        return seconds
    }

    /// The value as a number; nil for other values.
    package var asNumber: Int64? {
        guard case .number(let number) = self else { return nil }
        return number
    }
}

extension ItemAttributes {
    /// The same with the server in the form that helpers and imports write; nil if it has that
    /// form, or if there is none. The server may be a URL, or end in a colon and a port.
    var withCanonicalServer: ItemAttributes? {
        guard let text = self[.server]?.asText else { return nil }
        var other = self
        let address = LoginAddress(text)
        let scheme = address?.scheme
        var (name, port) = HostName.split(text)
        if let address, let scheme, !address.hasUser, NetworkProtocol.name(scheme) == scheme {
            (name, port) = HostName.split(address.host)
            other[.protocol] = self[.protocol] ?? .text(NetworkProtocol.known(scheme) ?? scheme)
        }
        other[.server] = .text(HostName.canonical(name))
        if self[.port] == nil, port > 0 { other[.port] = .number(Int64(port)) }
        if other[.port] != nil, let place = LoginPlace(other) {
            other[.port] = .number(Int64(place.port))
        }
        return other == self ? nil : other
    }
}
