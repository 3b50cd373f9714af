// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
internal import ValetSealing

/// The values that other devices replaced or deleted, and that are still kept.
///
/// For each item these are the seven newest, and the oldest of the last 30 days. So neither an
/// hourly token nor a thief who writes often pushes out older values: docs/SYNC.md §4.
package struct ReplacedValues: Sendable {
    /// A value that a join removed.
    package struct Entry: Hashable, Sendable {
        package let key: SyncItemID
        package let dot: Dot
        package let scope: KeyScope
        package let time: UInt64
        /// When the value was removed: milliseconds since 1970.
        package let milliseconds: UInt64
        package let byteCount: Int

        package init(
            _ key: SyncItemID, _ dot: Dot, in scope: KeyScope, times: (UInt64, removed: UInt64),
            byteCount: Int
        ) {
            (self.key, self.dot, self.scope) = (key, dot, scope)
            ((time, milliseconds), self.byteCount) = (times, byteCount)
        }
    }

    private static let newestCount = 7
    /// How long the oldest value is kept: 30 days in milliseconds.
    private static let duration: UInt64 = 30 * 86_400_000
    package static let maximalCount = 65_536
    /// The most bytes of all kept values together.
    private static let maximalByteCount = 64 << 20

    package private(set) var entries: [SyncItemID: [Dot: Entry]] = [:]
    private var count = 0
    private var byteCount = 0

    package init() {}

    /// How many more values fit, up to `maximalCount` in all. A join that removes more values waits
    /// until a user accepts it.
    package func room(_ maximalCount: Int) -> Int {
        byteCount < Self.maximalByteCount ? max(0, maximalCount - count) : 0
    }

    /// The values to drop because they do not fit: those that were removed first.
    package func excess(_ maximalCount: Int) -> [Entry] {
        var (count, byteCount) = (count, byteCount)
        let isExcess = { count > maximalCount || byteCount > Self.maximalByteCount }
        guard isExcess() else { return [] }
        return Array(
            Self.byAge(entries.values.flatMap(\.values)).prefix { entry in
                defer {
                    count -= 1
                    byteCount -= entry.byteCount
                }
                return isExcess()
            })
    }

    /// The expired values of the item `key`, or of all items if it is nil.
    package func expired(of key: SyncItemID? = nil, at milliseconds: UInt64) -> [Entry] {
        var expired: [Entry] = []
        for (item, list) in entries where key == nil || item == key {
            let isOld = { (entry: Entry) in
                milliseconds > entry.milliseconds
                    && milliseconds - entry.milliseconds > Self.duration
            }
            let byAge = Self.byAge(Array(list.values))
            expired += byAge.filter(isOld)
            // Of the others, the oldest stays, and so do the newest.
            expired += byAge.filter { !isOld($0) }.dropFirst().dropLast(Self.newestCount)
        }
        return expired.sorted { ($0.key, $0.dot) < ($1.key, $1.dot) }
    }

    private static func byAge(_ entries: [Entry]) -> [Entry] {
        entries.sorted { ($0.milliseconds, $0.dot) < ($1.milliseconds, $1.dot) }
    }

    package mutating func insert(_ entry: Entry) {
        remove(entry)
        entries[entry.key, default: [:]][entry.dot] = entry
        count += 1
        byteCount += entry.byteCount
    }

    package mutating func remove(_ entry: Entry) {
        guard let known = entries[entry.key]?.removeValue(forKey: entry.dot) else { return }
        count -= 1
        byteCount -= known.byteCount
        if entries[entry.key]?.isEmpty == true { entries[entry.key] = nil }
    }

    package func entry(_ dot: Dot) -> Entry? { entries.values.lazy.compactMap { $0[dot] }.first }
}

extension ReplacedValues.Entry {
    /// What a keychain keeps with the value: docs/FORMAT.md §12.3.
    package var facts: [UInt8] {
        [UInt8](fields: scope, dot, time, milliseconds, UInt32(byteCount))
    }

    /// Reads ``facts``.
    ///
    /// - Throws: `malformed` for other bytes.
    package init<E>(_ key: SyncItemID, parsing facts: [UInt8], malformed: E) throws(E) {
        var reader = ByteReader(facts, malformed: malformed)
        let count: UInt32
        (scope, dot, time, milliseconds, count) = try reader.fields()
        try reader.finish()
        (self.key, byteCount) = (key, Int(count))
    }
}
