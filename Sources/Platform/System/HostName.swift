// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Names and addresses of servers in the one form that items have. ``LoginPlace`` writes them.
package enum HostName {
    /// The form that browsers compare: small letters, international names in ASCII, IPv6 addresses
    /// at their shortest and in brackets, no dot at the end.
    ///
    /// Text that is no name of a server is kept in lower case: git may keep passwords for it.
    package static func canonical(_ text: String) -> String {
        if let address = address(text) { return address }
        var name = text
        if !text.utf8.allSatisfy({ $0 < 0x80 }) { name = ascii(text) ?? text }
        name = lowercased(name)
        // The dot at the end stands for the DNS root.
        if name.utf8.count > 1, name.utf8.last == UInt8(ascii: "."), !name.hasSuffix("..") {
            name.removeLast()
        }
        return name
    }

    /// A host and the port after its last colon; 0 for none.
    ///
    /// An IPv6 address has brackets if it has a port. Text that cannot be a port stays part of the
    /// host.
    package static func split(_ host: String) -> (name: String, port: UInt16) {
        guard let colon = host.utf8.lastIndex(of: UInt8(ascii: ":")) else { return (host, 0) }
        let name = host.utf8[..<colon]
        let digits = host.utf8[host.utf8.index(after: colon)...]
        guard digits.allSatisfy({ (UInt8(ascii: "0")...0x39).contains($0) }),
            !name.contains(UInt8(ascii: ":")) || name.last == UInt8(ascii: "]")
        else { return (host, 0) }
        // A URL may have a colon without a port.
        guard !digits.isEmpty else { return (String(decoding: name, as: UTF8.self), 0) }
        guard let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0 else {
            return (host, 0)
        }
        return (String(decoding: name, as: UTF8.self), port)
    }

    /// The text with small letters of ASCII.
    package static func lowercased(_ text: String) -> String {
        let bytes = text.utf8.map { byte in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The shortest form of an IPv6 address, in brackets; nil for other text.
    private static func address(_ text: String) -> String? {
        guard text.utf8.contains(UInt8(ascii: ":")), text.utf8.count < 64 else { return nil }
        var inner = text[...]
        if inner.hasPrefix("["), inner.hasSuffix("]") { inner = inner.dropFirst().dropLast() }
        var bytes = in6_addr()
        guard unsafe inet_pton(AF_INET6, String(inner), &bytes) == 1 else { return nil }
        var shortest = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let count = socklen_t(shortest.count)
        guard unsafe inet_ntop(AF_INET6, &bytes, &shortest, count) != nil else { return nil }
        let characters = shortest.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return "[" + String(decoding: characters, as: UTF8.self) + "]"
    }

    // MARK: International names

    private typealias ToASCII =
        @convention(c) (
            UnsafePointer<CChar>, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, Int32
        ) -> Int32
    private typealias Free = @convention(c) (UnsafeMutableRawPointer?) -> Void

    /// The ASCII form of an international name (RFC 5891, mapped as in UTS #46, as browsers and
    /// curl do); nil for other text, and without libidn2.
    ///
    /// The library has the tables of Unicode that decide which names are the same. It is loaded by
    /// its soname `libidn2.so.0`, which guarantees the types here.
    private static func ascii(_ name: String) -> String? {
        // The library would read the name up to a null byte.
        guard !name.utf8.contains(0),
            let library = DynamicLibrary("libidn2.so.0"),
            let convert = unsafe library.function("idn2_to_ascii_8z", as: ToASCII.self),
            let free = unsafe library.function("idn2_free", as: Free.self)
        else { return nil }
        var made: UnsafeMutablePointer<CChar>?
        // IDN2_NFC_INPUT and IDN2_NONTRANSITIONAL.
        let code = unsafe convert(name, &made, 1 | 8)
        defer { unsafe free(made) }
        guard code == 0, let made = unsafe made else { return nil }
        let text = unsafe String(cString: made)
        // Fullwidth characters become ASCII ones: a slash made so would end the host.
        let isName = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return isName ? text : nil
    }
}
