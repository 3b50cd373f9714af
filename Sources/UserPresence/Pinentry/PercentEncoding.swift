// SPDX-License-Identifier: Apache-2.0

/// The encoding of bytes in lines of the Assuan protocol: `%` and two hexadecimal digits.
enum PercentEncoding {
    /// Encodes text for a line, cut at a character so that it has at most `limit` bytes.
    static func encode(_ text: String, upTo limit: Int) -> [UInt8] {
        var result: [UInt8] = []
        for scalar in text.unicodeScalars {
            var piece: [UInt8] = []
            for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                switch byte {
                case 0..<0x20, 0x7F, UInt8(ascii: "%"):
                    piece += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
                default: piece.append(byte)
                }
            }
            guard result.count + piece.count <= limit else { break }
            result += piece
        }
        return result
    }

    /// Appends the bytes that `line` stands for to `answer`, up to `limit` bytes in all.
    ///
    /// - Throws: `malformed` if a `%` is not followed by two hexadecimal digits; `tooLong`.
    static func decode(
        _ line: Span<UInt8>, into answer: inout SecretInput, upTo limit: Int
    ) throws(UserPresenceError) {
        var index = 0
        while index < line.count {
            var byte = line[index]
            index += 1
            if byte == UInt8(ascii: "%") {
                guard index + 1 < line.count, let high = value(line[index]),
                    let low = value(line[index + 1])
                else { throw UserPresenceError(.malformed) }
                byte = high << 4 | low
                index += 2
            }
            guard answer.byteCount < limit else { throw UserPresenceError(.tooLong) }
            answer.append(byte)
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x41 + value - 10
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}
