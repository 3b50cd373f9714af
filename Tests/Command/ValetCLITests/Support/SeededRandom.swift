// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Random numbers that a seed repeats (SplitMix64).
struct SeededRandom {
    private var state: UInt64

    init(_ seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// A number from 0 up to `limit`, without it; 0 for 0.
    mutating func below(_ limit: Int) -> Int {
        limit > 0 ? Int(next() % UInt64(limit)) : 0
    }

    mutating func byte(below limit: UInt8) -> UInt8 { UInt8(below(Int(limit))) }

    /// A text of pieces that a parser cares about, and of random bytes.
    mutating func text(of pieces: [String], atMost count: Int) -> [UInt8] {
        (0..<below(count + 1)).flatMap { _ in
            below(4) == 0
                ? [UInt8(truncatingIfNeeded: next())] : Array(pieces[below(pieces.count)].utf8)
        }
    }
}

/// How many rounds a test with random input makes: `$VALET_FUZZ_ROUNDS`, else a few.
enum FuzzRounds {
    static let count =
        ProcessInfo.processInfo.environment["VALET_FUZZ_ROUNDS"].flatMap(Int.init) ?? 50
}
