// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// A secret that a person types: two characters for kind and version, the payload, and six check
/// characters.
///
/// Recovery keys and invitations to a circle have this form, in Crockford's base32:
/// docs/FORMAT.md §4.6.
package struct CheckedText: Sendable {
    /// `V1`, and 32 characters.
    static let recoveryKey = CheckedText(
        kind: [27, 1], payloadCount: 32, checksumName: "valet-recovery", noun: "recovery key")
    /// `J1`, and 26 characters: docs/SYNC.md §6.
    package static let invitation = CheckedText(
        kind: [18, 1], payloadCount: 26, checksumName: "valet-invitation", noun: "invitation")

    /// Why a text is refused. Contains no part of the text.
    enum Mistake: Hashable {
        /// A character that no such text has. `position` counts all characters from 1.
        case character(position: Int)
        /// Another number of characters, spaces and hyphens aside.
        case length(characterCount: Int, expected: Int)
        /// The check characters do not fit the others.
        case check

        /// What is wrong, in words without secrets.
        var words: String {
            switch self {
            case .character(let position): "invalid character at position \(position)"
            case .length(let count, let expected):
                "wrong length: \(count) characters instead of \(expected)"
            case .check: "mistyped: the check characters are wrong"
            }
        }
    }

    private static let groupCount = 4
    private let kind: [UInt8]
    package let payloadCount: Int
    private let checksumName: String
    private let noun: String

    /// How many characters the text has, hyphens aside.
    package var characterCount: Int { kind.count + payloadCount + Bech32Checksum.count }

    /// The text of a payload, whose values are below 32: groups of four characters in ASCII, with
    /// hyphens between them.
    package func text(of payload: Span<UInt8>) -> SecretBytes {
        precondition(payload.count == payloadCount, "not a payload")
        let count = characterCount
        return SecretBytes(byteCount: count + (count - 1) / Self.groupCount, for: .keys) { text in
            var checksum = Bech32Checksum(checksumName)
            for index in 0..<(kind.count + payloadCount) {
                let value = index < kind.count ? kind[index] : payload[index - kind.count]
                checksum.append(value)
                Self.write(value, at: index, to: &text)
            }
            checksum.finish { index, value in
                Self.write(value, at: count - Bech32Checksum.count + index, to: &text)
            }
        }
    }

    private static func write(_ value: UInt8, at index: Int, to text: inout MutableSpan<UInt8>) {
        let place = index + index / groupCount
        if index % groupCount == 0, index > 0 { text[place - 1] = 0x2d }
        text[place] = Base32.character(of: value)
    }

    /// The payload of a typed text.
    ///
    /// Lower-case letters count as capitals, `O` as 0, `I` and `L` as 1. Spaces, tabs, ends of
    /// lines and hyphens are ignored.
    ///
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a mistyped text; `newerFormat` for
    ///   another kind of text, or a later version.
    package func payload(of text: Span<UInt8>) throws(KeychainFailure) -> SecretBytes {
        let values = try values(of: text)
        var checksum = Bech32Checksum(checksumName)
        values.withBytes { values in
            for index in values.indices { checksum.append(values[index]) }
        }
        guard checksum.isRight else { throw failure(.mistyped(.check)) }
        let isKnown = values.withBytes { values in
            kind.indices.allSatisfy { values[$0] == kind[$0] }
        }
        guard isKnown else { throw failure(.newer) }
        return SecretBytes(byteCount: payloadCount, for: .keys) { payload in
            values.withBytes { values in
                for index in payload.indices { payload[index] = values[kind.count + index] }
            }
        }
    }

    /// The values of exactly ``characterCount`` characters.
    private func values(of text: Span<UInt8>) throws(KeychainFailure) -> SecretBytes {
        let characterCount = characterCount
        var count = 0
        let values = try SecretBytes(byteCount: characterCount, for: .keys) {
            (values: inout MutableSpan<UInt8>) throws(KeychainFailure) in
            for index in text.indices where !Base32.isIgnored(text[index]) {
                guard let value = Base32.value(of: text[index]) else {
                    throw failure(.mistyped(.character(position: index + 1)))
                }
                if count < characterCount { values[count] = value }
                count += 1
            }
        }
        guard count == characterCount else {
            throw failure(.mistyped(.length(characterCount: count, expected: characterCount)))
        }
        return values
    }

    private func failure(_ fault: KeybagFault) -> KeychainFailure {
        KeychainFailure(fault, during: "read the \(noun)")
    }
}

/// Crockford's base32: digits and letters without I, L, O and U, each five bits.
package enum Base32 {
    private static let characters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// The character, in ASCII, of a value below 32.
    package static func character(of value: UInt8) -> UInt8 { characters[Int(value)] }

    /// The value of a character or of one that looks like it; nil for other characters.
    static func value(of character: UInt8) -> UInt8? {
        let isLowerCase = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character)
        let character = isLowerCase ? character & 0xdf : character
        switch character {
        case UInt8(ascii: "O"): return 0
        case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
        default: return characters.firstIndex(of: character).map(UInt8.init)
        }
    }

    /// Whether a character is a separator: space, tab, end of line, hyphen.
    static func isIgnored(_ character: UInt8) -> Bool {
        [0x20, 0x09, 0x0a, 0x0d, 0x2d].contains(character)
    }
}

/// The checksum of BIP 350 (Bech32m): six values that fit the values before them.
///
/// It is a BCH code over GF(32). Among up to 89 values it finds every change of up to four of them
/// (BIP 173, "Checksum design"), so it also finds every swap of two values.
struct Bech32Checksum {
    static let count = 6
    private static let generator: InlineArray<5, UInt32> = [
        0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3,
    ]
    private static let target: UInt32 = 0x2bc8_30a3

    private var state: UInt32 = 1

    /// Starts with the human-readable part, which names the kind of text: lower-case ASCII.
    init(_ humanReadablePart: String) {
        for byte in humanReadablePart.utf8 { append(byte >> 5) }
        append(0)
        for byte in humanReadablePart.utf8 { append(byte & 31) }
    }

    /// Takes in a value below 32.
    mutating func append(_ value: UInt8) {
        let top = state >> 25
        state = (state & 0x1ff_ffff) << 5 ^ UInt32(value)
        for bit in Self.generator.indices where top >> UInt32(bit) & 1 == 1 {
            state ^= Self.generator[bit]
        }
    }

    /// Whether the last six values fit those before them.
    var isRight: Bool { state == Self.target }

    /// Passes the six check values to `body`, each with its index.
    consuming func finish(_ body: (Int, UInt8) -> Void) {
        for _ in 0..<Self.count { append(0) }
        let rest = state ^ Self.target
        for index in 0..<Self.count {
            body(index, UInt8(rest >> UInt32(5 * (Self.count - 1 - index)) & 31))
        }
    }
}
