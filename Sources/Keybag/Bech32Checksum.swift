// SPDX-License-Identifier: Apache-2.0

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

    /// Starts with the human-readable part, ASCII in lower case: what the values are.
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

    /// Gives the six values that fit those so far to `body`, each with its index.
    consuming func finish(_ body: (Int, UInt8) -> Void) {
        for _ in 0..<Self.count { append(0) }
        let rest = state ^ Self.target
        for index in 0..<Self.count {
            body(index, UInt8(rest >> UInt32(5 * (Self.count - 1 - index)) & 31))
        }
    }
}
