// SPDX-License-Identifier: Apache-2.0

import Foundation
import Valet

/// Does the same again and again until a file is there.
enum Steady {
    /// Writes the item; returns how many calls it made and how long the slowest took, in ms.
    static func write(_ key: String, until file: String) throws -> String {
        var count = 0
        return try repeating(until: file) {
            try Agent.valet.setString("value \(count)", forKey: key)
            count += 1
        }
    }

    /// Reads the item.
    static func read(_ key: String, until file: String) throws -> String {
        try repeating(until: file) { _ = try Agent.valet.string(forKey: key) }
    }

    private static func repeating(
        until file: String, _ step: () throws -> Void
    ) throws -> String {
        let clock = ContinuousClock()
        var (count, slowest) = (0, Duration.zero)
        while !FileManager.default.fileExists(atPath: file) {
            slowest = max(slowest, try clock.measure(step))
            count += 1
        }
        return "\(count) \(Int(slowest / .milliseconds(1)))"
    }
}
