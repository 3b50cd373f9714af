// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

/// Times both stores side by side in one process, in turns, so that both meet the same machine.
struct Measurement {
    let itemCount: Int
    let raw: RawStore
    let valet = Self.valet("benchmark")

    static func valet(_ name: String) -> Valet {
        guard let identifier = Identifier(nonEmpty: name) else { preconditionFailure("a name") }
        return Valet.valet(with: identifier, accessibility: .afterFirstUnlock)
    }

    /// One whose items a lock takes away.
    static func lockable(_ name: String) -> Valet {
        guard let identifier = Identifier(nonEmpty: name) else { preconditionFailure("a name") }
        return Valet.valet(with: identifier, accessibility: .whenUnlocked)
    }

    static func key(_ number: Int) -> String { "key-\(number)" }

    /// 64 bytes that differ from one write to the next: the same ones again would cost nothing.
    static func value(_ number: Int) -> [UInt8] {
        (0..<64).map { UInt8(truncatingIfNeeded: number >> ($0 % 8)) ^ UInt8($0) }
    }

    func run() throws {
        let reads = 50_000
        let writes = 500
        try turns("get", reads, raw: { raw.get($0) }) { key in
            _ = try valet.object(forKey: key)
        }
        try turns("contains", reads, raw: { raw.contains($0) }) { key in
            _ = try valet.containsObject(forKey: key)
        }
        try turns("set existing", writes, raw: { raw.set($0, Self.value(.random(in: 0 ... .max))) })
        {
            key in
            try valet.setObject(Data(Self.value(.random(in: 0 ... .max))), forKey: key)
        }
        var next = itemCount
        let addRaw = { (key: String) in
            next += 1
            raw.set("new-" + key + "-\(next)", Self.value(next))
        }
        try turns("set new", writes, raw: addRaw) { key in
            next += 1
            try valet.setObject(Data(Self.value(next)), forKey: "new-" + key + "-\(next)")
        }
        let many = Self.valet("ten-thousand")
        let times = try (0..<5).map { _ in
            try microseconds(per: 1) {
                let count = try many.allKeys().count
                precondition(count == 10_000)
            }
        }
        report("allKeys", 10_000, raw: nil, ours: median(times))
    }

    /// Five rounds of both, and the median of each.
    private func turns(
        _ name: String, _ count: Int, raw: (String) -> Void, ours: (String) throws -> Void
    ) throws {
        var rawTimes: [Double] = []
        var ourTimes: [Double] = []
        for _ in 0..<5 {
            let keys = (0..<count).map { _ in Self.key(.random(in: 0..<itemCount)) }
            rawTimes.append(microseconds(per: count) { keys.forEach(raw) })
            ourTimes.append(try microseconds(per: count) { try keys.forEach(ours) })
        }
        let (rawTime, ourTime) = (median(rawTimes), median(ourTimes))
        report(name, itemCount, raw: rawTime, ours: ourTime)
    }

    /// One line: what, items, microseconds of both, ratio of the rates.
    private func report(_ name: String, _ count: Int, raw: Double?, ours: Double) {
        let columns = [
            String(count), raw.map { String(format: "%.2f", $0) } ?? "-",
            String(format: "%.2f", ours), raw.map { String(format: "%.2f", $0 / ours) } ?? "-",
        ]
        let widths = [10, 10, 10, 8]
        let padded = zip(columns, widths).map { text, width in
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        let title = name + String(repeating: " ", count: max(0, 14 - name.count))
        print(([title] + padded).joined(separator: " "))
    }
}

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
