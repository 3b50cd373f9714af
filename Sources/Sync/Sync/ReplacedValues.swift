// SPDX-License-Identifier: Apache-2.0

/// Which of the values that other devices replaced or deleted are still kept.
///
/// For each item these are the seven newest, and the oldest of the last 30 days. So neither an
/// hourly token nor a thief who writes often pushes out older values: docs/SYNC.md §4.
package enum ReplacedValues {
    /// A value that a join removed.
    package struct Entry: Hashable, Sendable {
        package let key: SyncItemID
        /// When the value was removed: milliseconds since 1970.
        package let milliseconds: UInt64
        /// The record that had the value.
        package let dot: Dot
        /// The size of the value in bytes.
        package let byteCount: Int

        /// The value of `dot`, which was removed at `milliseconds`.
        package init(key: SyncItemID, milliseconds: UInt64, dot: Dot, byteCount: Int) {
            self.key = key
            self.milliseconds = milliseconds
            self.dot = dot
            self.byteCount = byteCount
        }
    }

    /// How many of the newest values of an item are kept.
    package static let newestCount = 7
    /// How long the oldest value is kept: 30 days in milliseconds.
    package static let duration: UInt64 = 30 * 86_400_000
    /// The most values that are kept.
    package static let maximalCount = 65_536
    /// The most bytes of all kept values together.
    package static let maximalByteCount = 64 << 20

    /// The expired entries.
    package static func expired(_ entries: [Entry], at milliseconds: UInt64) -> [Entry] {
        var expired: [Entry] = []
        for list in Dictionary(grouping: entries, by: \.key).values {
            let byAge = list.sorted { ($0.milliseconds, $0.dot) < ($1.milliseconds, $1.dot) }
            let isOld = { (entry: Entry) in
                milliseconds > entry.milliseconds && milliseconds - entry.milliseconds > duration
            }
            let recent = byAge.filter { !isOld($0) }
            expired += byAge.filter(isOld)
            // Index 0 is the oldest, which stays.
            expired += recent.dropFirst().dropLast(newestCount)
        }
        return expired.sorted { ($0.key, $0.dot) < ($1.key, $1.dot) }
    }

    /// How many more values fit. A join that removes more waits until a user accepts it.
    package static func room(_ entries: [Entry]) -> Int {
        guard entries.reduce(0, { $0 + $1.byteCount }) < maximalByteCount else { return 0 }
        return max(0, maximalCount - entries.count)
    }
}
