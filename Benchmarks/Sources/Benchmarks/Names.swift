// SPDX-License-Identifier: Apache-2.0

// Which items are read and written. Items have numbers; the stores make names of them.

/// Names of 16 bytes. Those of one number differ only in their order.
enum Names {
    /// Scattered over the whole index, as hashes are: hexadecimal digits of the mixed number.
    static func random(_ number: Int) -> String {
        let digits = String(RandomNumbers.mix(UInt64(number)), radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    /// In the order of their numbers.
    static func ordered(_ number: Int) -> String {
        let digits = String(number)
        return "key-" + String(repeating: "0", count: 12 - digits.utf8.count) + digits
    }
}

/// SplitMix64: the same numbers in every run.
struct RandomNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mix(state)
    }

    /// Maps each number to another one, no two to the same.
    static func mix(_ number: UInt64) -> UInt64 {
        var bits = number
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}

/// How often each item is asked for.
struct Popularity {
    private let count: Int
    /// For Zipf, the sum of the weights up to each rank; empty if all items are equally popular.
    private var sums: [Double] = []

    /// Each of `count` items as often as any other.
    static func uniform(_ count: Int) -> Popularity { Popularity(count: count) }

    /// Zipf's law with s = 1: the item of rank r is asked for 1/r as often as the first.
    static func zipf(_ count: Int) -> Popularity {
        var popularity = Popularity(count: count)
        var sum = 0.0
        popularity.sums = (1...count).map { rank in
            sum += 1 / Double(rank)
            return sum
        }
        return popularity
    }

    private init(count: Int) { self.count = count }

    func draw(_ numbers: inout RandomNumbers) -> Int {
        guard let total = sums.last else { return .random(in: 0..<count, using: &numbers) }
        let point = Double.random(in: 0..<total, using: &numbers)
        var (low, high) = (0, count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > point { high = middle } else { low = middle + 1 }
        }
        // Popular items are not neighbours: 7,919 is a prime that divides no count in use.
        return low &* 7_919 % count
    }
}
