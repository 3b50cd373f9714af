// SPDX-License-Identifier: Apache-2.0

/// The first of many items in the order of a list, as many as a bounded amount of memory holds.
///
/// A list of any length is written with several of these: each takes all items, and keeps the first
/// of those behind the last one that was written. docs/decisions/0051-many-items.md.
struct SortedListing {
    /// The most memory that packed items take.
    static let usualByteCount = 64 << 20
    /// From this size on all the memory is reserved at once: growing a large array by doubling
    /// needs the old one and the new one at the same time. Reserved pages cost nothing until used.
    private static let reservingByteCount = 1 << 20
    private static let entryByteCount = MemoryLayout<Range<Int>>.stride

    private let limit: Int
    /// Items up to this one were written before.
    private let last: [UInt8]?
    /// Items from this one on are for a later listing.
    private var cutoff: [UInt8]?
    private var bytes: [UInt8] = []
    private var entries: [Range<Int>] = []

    /// - Parameters:
    ///   - last: The last item that was written, packed.
    ///   - byteCount: The most memory to take, at least enough for two items.
    init(after last: [UInt8]? = nil, byteCount: Int = Self.usualByteCount) {
        self.last = last
        limit = byteCount
    }

    /// How much memory the packed items have been given.
    var reservedByteCount: Int { bytes.capacity }
    /// Whether there are items for another listing.
    var isCut: Bool { cutoff != nil }
    /// The last item, packed; nil if there is none.
    var lastPacked: [UInt8]? { entries.last.map { Array(bytes[$0]) } }

    /// Keeps an item if it is among the first.
    mutating func add(_ item: ListedItem) {
        let packed = item.packed
        if let last, !last.lexicographicallyPrecedes(packed) { return }
        if let cutoff, !packed.lexicographicallyPrecedes(cutoff) { return }
        let isFull =
            bytes.count + packed.count + (entries.count + 1) * Self.entryByteCount > limit
        if isFull, entries.count > 1 { dropLaterHalf() }
        if let cutoff, !packed.lexicographicallyPrecedes(cutoff) { return }
        entries.append(bytes.count..<(bytes.count + packed.count))
        if bytes.capacity < limit, bytes.count + packed.count > Self.reservingByteCount {
            bytes.reserveCapacity(limit)
        }
        bytes += packed
    }

    /// Puts what was kept in order; to be called before it is read.
    mutating func sort() {
        entries.sort { bytes[$0].lexicographicallyPrecedes(bytes[$1]) }
    }

    /// Gives the items in their order.
    func forEach<E>(_ body: (ListedItem) throws(E) -> Void) throws(E) {
        for entry in entries {
            guard let item = ListedItem(packed: bytes[entry]) else { continue }
            try body(item)
        }
    }

    private mutating func dropLaterHalf() {
        sort()
        let kept = entries.count / 2
        cutoff = Array(bytes[entries[kept]])
        entries.removeLast(entries.count - kept)
        // In the order of their places, each moves to the front without writing over another.
        entries.sort { $0.lowerBound < $1.lowerBound }
        var end = 0
        for index in entries.indices {
            let entry = entries[index]
            for offset in 0..<entry.count { bytes[end + offset] = bytes[entry.lowerBound + offset] }
            entries[index] = end..<(end + entry.count)
            end += entry.count
        }
        bytes.removeLast(bytes.count - end)
    }
}
