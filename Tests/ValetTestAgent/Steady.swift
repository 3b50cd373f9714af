// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Valet

/// Does the same again and again until the process gets SIGUSR1.
enum Steady {
    private static let isAsked = Atomic<Bool>(false)

    /// Writes the item; returns how many calls it made and how long the slowest took, in ms.
    static func write(_ key: String) throws -> String {
        var count = 0
        return try repeating {
            try Agent.valet.setString("value \(count)", forKey: key)
            count += 1
        }
    }

    /// Reads the item.
    static func read(_ key: String) throws -> String {
        try repeating { _ = try Agent.valet.string(forKey: key) }
    }

    private static func repeating(_ step: () throws -> Void) throws -> String {
        isAsked.store(false, ordering: .sequentiallyConsistent)
        signal(SIGUSR1) { _ in Steady.isAsked.store(true, ordering: .sequentiallyConsistent) }
        let clock = ContinuousClock()
        var (count, slowest) = (0, Duration.zero)
        while !isAsked.load(ordering: .sequentiallyConsistent) {
            slowest = max(slowest, try clock.measure(step))
            count += 1
        }
        return "\(count) \(Int(slowest / .milliseconds(1)))"
    }
}
