// SPDX-License-Identifier: Apache-2.0

/// Random numbers that are the same in every run: splitmix64.
package struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    /// A generator whose sequence follows from the seed.
    package init(seed: UInt64) { state = seed }

    /// The next number.
    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// `bytes` with one to four changes: a byte, a piece taken out, put in, doubled or cut off.
    package mutating func mutation(of bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &self) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &self)
            let end = min(bytes.count, place + Int.random(in: 0...40, using: &self))
            switch UInt8.random(in: 0..<6, using: &self) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 1: bytes[place] = [0, 1, 2, 0x7f, 0x80, 0xff].randomElement(using: &self) ?? 0
            case 2: bytes.removeSubrange(place..<end)
            case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
            case 4: bytes.insert(UInt8.random(in: 0...255, using: &self), at: place)
            default: bytes.removeSubrange(place...)
            }
        }
        return bytes
    }
}
