// SPDX-License-Identifier: Apache-2.0

/// Runs `body` and returns microseconds per operation.
func microseconds(per operations: Int, _ body: () throws -> Void) rethrows -> Double {
    let clock = ContinuousClock()
    let time = try clock.measure(body)
    let (seconds, attoseconds) = time.components
    return (Double(seconds) * 1e6 + Double(attoseconds) / 1e12) / Double(operations)
}

/// The median of an odd number of runs.
func median(_ values: [Double]) -> Double {
    values.sorted()[values.count / 2]
}
