// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetSealing

/// RFC 4648 §10.
@Suite struct `Base64 of a secret` {
    private static let vectors = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"), ("\u{1F511}?>", "8J+UkT8+"),
    ]

    private func text(_ value: SecretValue?) -> String? {
        value?.withBytes { bytes in
            String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
        }
    }

    @Test(arguments: vectors)
    func `Base64 of a secret is that of the standard, both ways`(_ plain: String, _ encoded: String)
    {
        #expect(text(Base64.encoded(Array(plain.utf8).span)) == encoded)
        #expect(text(Base64.decoded(Array(encoded.utf8).span)) == plain)
    }

    @Test(arguments: [
        "A", "AA", "AA==A", "A===", "AB==", "AAE=BBBB", "A A=", "AAAA\n", "AA=", "=AAA", "AA-_",
        "AAAA====", "\u{FF21}AAA",
    ])
    func `Base64 of a secret is refused if no encoder writes it`(_ encoded: String) {
        #expect(Base64.decoded(Array(encoded.utf8).span) == nil)
    }
}
