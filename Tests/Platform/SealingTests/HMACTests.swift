// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetSealing

@Suite struct `The HMAC of a message` {
    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        Hexadecimal.bytes(hexadecimal) ?? []
    }

    private static func text(_ code: consuming SecretBytes?) -> String? {
        code?.withBytes { bytes in Hexadecimal.text(bytes.indices.map { bytes[$0] }) }
    }

    /// RFC 2202 §3, cases 1, 2 and 6.
    private static let sha1: [(key: [UInt8], message: [UInt8], code: String)] = [
        (
            [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
            "b617318655057264e28bc0b6fb378c8ef146be00"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"
        ),
        (
            [UInt8](repeating: 0xAA, count: 80),
            Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "aa4ae5e15272d00e95705637ce8a3b55ed402112"
        ),
    ]

    @Test(arguments: HMAC.libraries.filter { $0 != "libcrypto.so.1.1" }, 0..<3)
    func `SHA-1 comes from each of the libraries`(_ library: String, _ index: Int) {
        let vector = Self.sha1[index]
        let code = HMAC.sha1.code(
            of: vector.message.span, key: vector.key.span, [library])
        #expect(Self.text(code) == vector.code)
    }

    @Test func `Without a library there is no SHA-1, and the other hashes go on`() {
        let key: [UInt8] = [1]
        // The second one is there, and has neither function.
        for library in ["libnone.so.1", "libm.so.6"] {
            let code = HMAC.sha1.code(of: key.span, key: key.span, [library])
            #expect(Self.text(code) == nil)
        }
        let code = HMAC.sha512.code(of: key.span, key: key.span, [])
        #expect(Self.text(code)?.utf8.count == 128)
    }

    /// RFC 4231 §4.3 and §4.7: a short key, and one of 131 bytes, longer than a block.
    @Test(arguments: [
        (
            HMAC.sha256, "4a656665", "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            .sha512, "4a656665", "what do ya want for nothing?",
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034"
                + "f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
        ),
        (
            .sha256, String(repeating: "aa", count: 131),
            "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            .sha512, String(repeating: "aa", count: 131),
            "Test Using Larger Than Block-Size Key - Hash Key First",
            "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2"
                + "215d6a1e5295e64f73f63f0aec8b915a985d786598"
        ),
    ])
    func `SHA-256 and SHA-512 give the codes of the RFC`(
        _ hash: HMAC, _ key: String, _ message: String, _ code: String
    ) {
        let made = hash.code(of: Array(message.utf8).span, key: Self.bytes(key).span)
        #expect(Self.text(made) == code)
    }
}
