// SPDX-License-Identifier: Apache-2.0

package import ValetSecretMemory

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
    /// Lower case and `O`, `I` and `L` are taken for what they look like; spaces, tabs, ends of
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
