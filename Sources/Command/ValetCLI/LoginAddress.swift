// SPDX-License-Identifier: Apache-2.0

/// The address of a server as browsers read it (https://url.spec.whatwg.org). Options, imports and
/// docker's helper use it: another reading would give a password to another server.
///
/// The text is compared byte by byte, because a slash with a combining mark is one `Character`,
/// which is not equal to a slash.
package struct LoginAddress {
    /// In lower case; nil if the text has none.
    package let scheme: String?
    /// Whether the text has a user name or a password before the host.
    package let hasUser: Bool
    /// With its port.
    package let host: String
    /// The rest after the host, from its slash, question mark or hash sign on.
    package let rest: String

    /// - Returns: nil for text that is no address, and for one that programs read differently.
    package init?(_ text: String) {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
        var bytes = Array(text.utf8.drop(while: isBlank))
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        // Browsers remove tabs and newlines, so that `exa\nmple` is another host for them.
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        let mark = bytes.indices.first { bytes[$0...].starts(with: "://".utf8) }
        let scheme = mark.flatMap { Self.scheme(bytes[..<$0]) }
        self.scheme = scheme
        var start = 0
        if let mark, scheme != nil {
            start = mark + 3
        } else if bytes.starts(with: "//".utf8) {
            start = 2
        }
        let end = bytes[start...].firstIndex { "/\\?#".utf8.contains($0) } ?? bytes.endIndex
        // A backslash is a slash for browsers, but not in other programs.
        let isWeb = scheme == nil || scheme == "http" || scheme == "https"
        guard isWeb || end == bytes.endIndex || bytes[end] != UInt8(ascii: "\\") else { return nil }
        let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@"))
        hasUser = at != nil
        let host = bytes[(at.map { $0 + 1 } ?? start)..<end]
        guard Self.isHost(host) else { return nil }
        self.host = String(decoding: host, as: UTF8.self)
        rest = String(decoding: bytes[end...], as: UTF8.self)
    }

    /// The scheme in these bytes (RFC 3986 §3.1); nil if they are none.
    private static func scheme(_ bytes: ArraySlice<UInt8>) -> String? {
        let text = String(decoding: bytes, as: UTF8.self).lowercased()
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        guard let first = text.utf8.first, letters.contains(first),
            text.utf8.allSatisfy({
                letters.contains($0) || (UInt8(ascii: "0")...0x39).contains($0)
                    || "+-.".utf8.contains($0)
            })
        else { return nil }
        return text
    }

    /// Whether the bytes are a name or an address, and at most one port. `%` would stand for
    /// another byte.
    private static func isHost(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard !bytes.isEmpty, !bytes.contains(where: { " %<>^|\"".utf8.contains($0) }) else {
            return false
        }
        var port = bytes
        if bytes.first == UInt8(ascii: "[") {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else { return false }
            port = bytes[(end + 1)...]
            guard port.isEmpty || port.first == UInt8(ascii: ":") else { return false }
        } else {
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
                return !bytes.contains { "[]".utf8.contains($0) }
            }
            guard colon > bytes.startIndex,
                !bytes[..<colon].contains(where: { "[]".utf8.contains($0) })
            else { return false }
            port = bytes[colon...]
        }
        guard !port.isEmpty else { return true }
        let digits = port.dropFirst()
        return digits.allSatisfy { (UInt8(ascii: "0")...0x39).contains($0) }
            && (UInt16(String(decoding: digits, as: UTF8.self)) ?? 0) > 0
    }
}

extension LoginPlace {
    /// The place of an address; without a scheme, one of `https`.
    package init?(_ address: LoginAddress, path: String?) {
        self.init(scheme: address.scheme ?? "https", host: address.host, path: path)
    }
}
