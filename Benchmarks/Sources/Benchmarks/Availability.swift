// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

/// What a passcode costs those who read.
enum Availability {
    /// Microseconds per read of items that are there: the median of eleven rounds.
    static func read(from valet: Valet, itemCount: Int) throws -> Double {
        let count = 20_000
        let times = try (0..<11).map { _ in
            let keys = (0..<count).map { _ in Names.random(.random(in: 0..<itemCount)) }
            return try microseconds(per: count) {
                for key in keys { _ = try valet.object(forKey: key) }
            }
        }
        return median(times)
    }

    /// Microseconds until a read is refused: the median and the slowest of a thousand.
    static func lockedAnswers(of valet: Valet) -> (median: Double, slowest: Double) {
        let times = (0..<1001).map { _ in
            microseconds(per: 1) {
                let value = try? valet.object(forKey: Names.random(0))
                precondition(value == nil, "not locked")
            }
        }
        return (median(times), times.max() ?? 0)
    }
}
