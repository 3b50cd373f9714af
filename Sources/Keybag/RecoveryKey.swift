// SPDX-License-Identifier: Apache-2.0

package import ValetSealing
package import ValetSecretMemory

/// The key on paper that opens a keychain whose device secret or passcode is lost.
///
/// A seed of 20 random bytes, from which an X25519 pair is made: docs/FORMAT.md §4.6. Keybags hold
/// the public half.
package struct RecoveryKey: ~Copyable, Sendable {
    static let seedByteCount = 20

    let seed: SecretBytes
    let pair: KeyAgreementPair

    /// Takes over a seed of 20 bytes.
    init(seed: consuming SecretBytes) {
        precondition(seed.byteCount == Self.seedByteCount, "not the seed of a recovery key")
        pair = KeyAgreementPair(seed: seed, .recovery)
        self.seed = seed
    }

    /// Makes a new one.
    package static func random() -> RecoveryKey {
        RecoveryKey(seed: SecretBytes(randomByteCount: seedByteCount, for: .keys))
    }

    /// The half that keybags store; not secret.
    package var publicKey: PublicKey { pair.publicKey }
}

/// The text on paper: docs/FORMAT.md §4.6.
extension RecoveryKey {
    /// How many characters the text has, hyphens aside.
    static let characterCount = kind.count + seedCharacterCount + Bech32Checksum.count
    private static let seedCharacterCount = seedByteCount * 8 / 5
    private static let groupCount = 4
    /// `V1`: what the text is, and its version.
    private static let kind: [UInt8] = [27, 1]
    private static let checksumName = "valet-recovery"

    /// The text, 49 bytes of ASCII: ten groups of four characters, with hyphens between them.
    package var text: SecretBytes {
        let values = values
        let count = Self.characterCount
        return SecretBytes(byteCount: count + (count - 1) / Self.groupCount, for: .keys) { text in
            values.withBytes { values in
                for index in values.indices {
                    let place = index + index / Self.groupCount
                    if index % Self.groupCount == 0, index > 0 { text[place - 1] = 0x2d }
                    text[place] = Base32.character(of: values[index])
                }
            }
        }
    }

    /// Reads what a person typed.
    ///
    /// Lower-case letters count as capitals, `O` as 0, `I` and `L` as 1. Spaces, tabs, ends of
    /// lines and hyphens are ignored.
    /// - Throws: ``KeybagError``: `mistypedRecoveryKey`; `newer` for the text of a later version.
    package init(parsing text: Span<UInt8>) throws(KeybagError) {
        let values = try Self.values(of: text)
        var checksum = Bech32Checksum(Self.checksumName)
        values.withBytes { values in
            for index in values.indices { checksum.append(values[index]) }
        }
        guard checksum.isRight else { throw Self.mistyped(.check) }
        let isKnown = values.withBytes { values in
            Self.kind.indices.allSatisfy { values[$0] == Self.kind[$0] }
        }
        guard isKnown else { throw KeybagError(.newer, during: Self.reading) }
        self.init(
            seed: SecretBytes(byteCount: Self.seedByteCount, for: .keys) { seed in
                values.withBytes { values in
                    for bit in 0..<(8 * Self.seedByteCount) {
                        let value = values[Self.kind.count + bit / 5] >> UInt8(4 - bit % 5) & 1
                        seed[bit / 8] |= value << UInt8(7 - bit % 8)
                    }
                }
            })
    }

    /// The value of each character.
    private var values: SecretBytes {
        SecretBytes(byteCount: Self.characterCount, for: .keys) { values in
            for index in Self.kind.indices { values[index] = Self.kind[index] }
            seed.withBytes { seed in
                for bit in 0..<(8 * Self.seedByteCount) {
                    let value = seed[bit / 8] >> UInt8(7 - bit % 8) & 1
                    values[Self.kind.count + bit / 5] |= value << UInt8(4 - bit % 5)
                }
            }
            let start = Self.characterCount - Bech32Checksum.count
            var checksum = Bech32Checksum(Self.checksumName)
            for index in 0..<start { checksum.append(values[index]) }
            checksum.finish { index, value in values[start + index] = value }
        }
    }

    /// The values of exactly 40 characters.
    private static func values(of text: Span<UInt8>) throws(KeybagError) -> SecretBytes {
        var count = 0
        let values = try SecretBytes(byteCount: characterCount, for: .keys) {
            (values: inout MutableSpan<UInt8>) throws(KeybagError) in
            for index in text.indices where !Base32.isIgnored(text[index]) {
                guard let value = Base32.value(of: text[index]) else {
                    throw mistyped(.character(position: index + 1))
                }
                if count < characterCount { values[count] = value }
                count += 1
            }
        }
        guard count == characterCount else { throw mistyped(.length(characterCount: count)) }
        return values
    }

    private static let reading = "read the recovery key"

    private static func mistyped(_ mistake: RecoveryKeyMistake) -> KeybagError {
        KeybagError(.mistypedRecoveryKey(mistake), during: reading)
    }
}

/// Why a text is not a recovery key (docs/FORMAT.md §4.6), without any of the text.
package enum RecoveryKeyMistake: Hashable, Sendable {
    /// A character that no recovery key has. `position` counts all characters from 1.
    case character(position: Int)
    /// Not 40 characters, spaces and hyphens aside.
    case length(characterCount: Int)
    /// The check characters do not fit the others.
    case check
}

extension RecoveryKeyMistake: CustomStringConvertible {
    /// One line without secrets.
    package var description: String {
        switch self {
        case .character(let position):
            "invalid character at position \(position)"
        case .length(let characterCount):
            "wrong length: \(characterCount) characters instead of \(RecoveryKey.characterCount)"
        case .check: "mistyped: the check characters are wrong"
        }
    }
}

/// Crockford's base32: digits and letters without I, L, O and U, each five bits.
enum Base32 {
    private static let characters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// The character, in ASCII, of a value below 32.
    static func character(of value: UInt8) -> UInt8 { characters[Int(value)] }

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

    /// Whether a character only separates others: space, tab, end of line, hyphen.
    static func isIgnored(_ character: UInt8) -> Bool {
        [0x20, 0x09, 0x0a, 0x0d, 0x2d].contains(character)
    }
}

/// The checksum of BIP 350 (Bech32m): six values that fit the values before them.
///
/// It is a BCH code over GF(32). Among up to 89 values it finds every change of up to four of them
/// (BIP 173, "Checksum design"), hence each pair that changed places.
struct Bech32Checksum {
    /// The number of values that it adds.
    static let count = 6
    private static let generator: InlineArray<5, UInt32> = [
        0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3,
    ]
    private static let target: UInt32 = 0x2bc8_30a3

    private var state: UInt32 = 1

    /// Starts with the human-readable part, which says what the values are: lower-case ASCII.
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
