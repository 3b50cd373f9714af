// SPDX-License-Identifier: Apache-2.0

/// Crockford's base32: digits and letters without I, L, O and U, each five bits.
enum Base32 {
    private static let characters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// The character, in ASCII, of a value below 32.
    static func character(of value: UInt8) -> UInt8 { characters[Int(value)] }

    /// The value of a character, or of one that looks like it; nil for any other.
    static func value(of character: UInt8) -> UInt8? {
        let isLowerCase = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character)
        let character = isLowerCase ? character & 0xdf : character
        switch character {
        case UInt8(ascii: "O"): return 0
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
        default: return characters.firstIndex(of: character).map(UInt8.init)
        }
    }

    /// Whether a character only sets others apart: space, tab, end of line, hyphen.
    static func isIgnored(_ character: UInt8) -> Bool {
        [0x20, 0x09, 0x0a, 0x0d, 0x2d].contains(character)
    }
}
