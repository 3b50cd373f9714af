// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetSealing

@Suite struct `The cipher of the Secret Service` {
    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        Hexadecimal.bytes(hexadecimal) ?? []
    }

    private static func secret(_ hexadecimal: String) -> SecretBytes {
        SecretBytes(copying: bytes(hexadecimal).span)
    }

    private static func text(_ secret: consuming SecretBytes?) -> String? {
        secret?.withBytes { bytes in Hexadecimal.text(bytes.indices.map { bytes[$0] }) }
    }

    @Test func `Both libraries are there`() {
        #expect(TransferCipher.all().count == 2)
    }

    /// NIST SP 800-38A, F.2.1 and F.2.2, the first two blocks.
    @Test(arguments: 0..<2)
    func `AES in CBC mode gives the bytes of the standard`(_ library: Int) {
        let cipher = TransferCipher.all()[library]
        let key = Self.secret("2b7e151628aed2a6abf7158809cf4f3c")
        let vector = Self.bytes("000102030405060708090a0b0c0d0e0f")
        let plain = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
        let sealed = "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
        let there = cipher.crypt(Self.secret(plain), key, vector, isEncrypting: true)
        #expect(Self.text(there) == sealed)
        let back = cipher.crypt(Self.secret(sealed), key, vector, isEncrypting: false)
        #expect(Self.text(back) == plain)
    }

    @Test(arguments: 0..<2)
    func `A power has as many bytes as its modulus`(_ library: Int) {
        let cipher = TransferCipher.all()[library]
        // 3^5 mod 1009 and 3^7 mod 65,537.
        #expect(Self.text(cipher.power([3], Self.secret("05"), [0x03, 0xF1])) == "00f3")
        #expect(Self.text(cipher.power([0, 3], Self.secret("07"), [1, 0, 1])) == "00088b")
    }
}
