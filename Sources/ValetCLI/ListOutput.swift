// SPDX-License-Identifier: Apache-2.0

// Writes lists of any length in order and in bounded memory: docs/decisions/0051-many-items.md.

internal import ValetKeychainModel

/// Writes any number of items in order: the output of `list` and `backup list`.
struct ListOutput {
    private static let pieceByteCount = 64 << 10

    private let console: any Console
    private let writesJSON: Bool
    private var widths = Table.widths(of: ListedItem.header)
    private var piece = ""
    private var isFirst = true

    init(console: any Console, writesJSON: Bool) {
        self.console = console
        self.writesJSON = writesJSON
    }

    /// Writes the whole list in bounded memory. Writes nothing until `items` has returned once
    /// without an error.
    ///
    /// - Parameter items: Passes every item to its closure, in any order. Called again if the list
    ///   does not fit into memory.
    mutating func write(
        _ items: (_ body: (ListedItem) -> Void) throws(CLIError) -> Void
    ) throws(CLIError) {
        var last: [UInt8]?
        var (hasBegun, isCut) = (false, false)
        repeat {
            var listing = SortedListing(after: last)
            var widths = widths
            try items { item in
                listing.add(item)
                if !hasBegun, !writesJSON { Table.widen(&widths, for: item.paddedCells) }
            }
            listing.sort()
            if !hasBegun { try begin(widths) }
            try listing.forEach { (item) throws(CLIError) in try write(item) }
            (last, isCut, hasBegun) = (listing.lastPacked, listing.isCut, true)
        } while isCut
        try end()
    }

    /// Writes the text before the items.
    private mutating func begin(_ widths: [Int]) throws(CLIError) {
        self.widths = widths
        try add(
            writesJSON ? "{\"items\":[" : Table.line(ListedItem.header, widths) + "\n")
    }

    private mutating func write(_ item: ListedItem) throws(CLIError) {
        if writesJSON {
            try add((isFirst ? "" : ",") + item.json.encoded)
        } else {
            try add(Table.line(item.cells, widths) + "\n")
        }
        isFirst = false
    }

    private mutating func end() throws(CLIError) {
        if writesJSON { try add("]}\n") }
        try console.write(piece)
        piece = ""
    }

    private mutating func add(_ text: String) throws(CLIError) {
        piece += text
        guard piece.utf8.count >= Self.pieceByteCount else { return }
        try console.write(piece)
        piece = ""
    }
}

/// The first items of a list in order, as many as fit into bounded memory.
///
/// A long list needs several of these. Each gets all items, and keeps the first ones after the last
/// item that was written: docs/decisions/0051-many-items.md.
struct SortedListing {
    /// The most memory that packed items take.
    static let usualByteCount = 64 << 20
    /// From this size on the whole memory is reserved at once, because an array that grows by
    /// doubling needs the old and the new memory together. Reserved pages cost nothing until used.
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
    ///   - byteCount: The most memory to use, at least enough for two items.
    init(after last: [UInt8]? = nil, byteCount: Int = Self.usualByteCount) {
        self.last = last
        limit = byteCount
    }

    /// How much memory is reserved for packed items.
    var reservedByteCount: Int { bytes.capacity }
    /// Whether there are items for another listing.
    var isCut: Bool { cutoff != nil }
    /// The last item, packed; nil for an empty list.
    var lastPacked: [UInt8]? { entries.last.map { Array(bytes[$0]) } }

    /// Keeps an item if it is among the first ones.
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

    /// Sorts the kept items. Call it before reading them.
    mutating func sort() {
        entries.sort { bytes[$0].lexicographicallyPrecedes(bytes[$1]) }
    }

    /// Passes the items to `body`, in order.
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
        // In the order of their positions, each moves to the front without overwriting another.
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

/// Listed items as bytes that sort like the list: by owner, name, group and kind, each by its UTF-8
/// bytes.
extension ListedItem {
    /// The item as bytes. Only equal items have equal bytes.
    var packed: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(128)
        for text in sortKey + [accessibility, requirement ?? ""] { Self.pack(text, to: &bytes) }
        bytes.append(requirement == nil ? 0 : 1)
        bytes.append(isCloud ? 1 : 0)
        Self.pack(byteCount.map(UInt64.init), to: &bytes)
        Self.pack(modified.map(\.bitPattern), to: &bytes)
        return bytes + id
    }

    /// Unpacks ``packed``; nil for other bytes.
    init?(packed bytes: ArraySlice<UInt8>) {
        var rest = bytes
        guard let owner = Self.text(&rest), let name = Self.text(&rest),
            let group = Self.text(&rest),
            let kind = Self.text(&rest).flatMap(ItemOwner.Kind.init(rawValue:)),
            let accessibility = Self.text(&rest), let requirement = Self.text(&rest),
            let hasRequirement = rest.popFirst(), let cloud = rest.popFirst(),
            let byteCount = Self.number(&rest), let modified = Self.number(&rest)
        else { return nil }
        self.init(
            name: name, owner: ItemOwner(kind: kind, name: owner), group: group,
            accessibility: accessibility, isCloud: cloud == 1,
            byteCount: byteCount.value.map(Int.init),
            modified: modified.value.map(Double.init(bitPattern:)),
            requirement: hasRequirement == 1 ? requirement : nil, id: Array(rest))
    }

    /// Appends text and a zero byte. A zero in the text is followed by 0xFF, which UTF-8 never
    /// contains.
    private static func pack(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            bytes.append(byte)
            if byte == 0 { bytes.append(0xFF) }
        }
        bytes.append(0)
    }

    private static func pack(_ number: UInt64?, to bytes: inout [UInt8]) {
        bytes.append(number == nil ? 0 : 1)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: (number ?? 0) >> shift))
        }
    }

    private static func text(_ bytes: inout ArraySlice<UInt8>) -> String? {
        var text: [UInt8] = []
        while let end = bytes.firstIndex(of: 0) {
            let piece = bytes[..<end]
            bytes = bytes[(end + 1)...]
            guard bytes.first == 0xFF else { return String(utf8: text + piece) }
            bytes.removeFirst()
            text += piece + [0]
        }
        return nil
    }

    private static func number(_ bytes: inout ArraySlice<UInt8>) -> (value: UInt64?, Void)? {
        guard bytes.count >= 9, let mark = bytes.popFirst() else { return nil }
        let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        bytes.removeFirst(8)
        return (mark == 1 ? number : nil, ())
    }
}

/// Lays out cells in columns, two spaces apart.
enum Table {
    /// The column widths of a table with that row alone.
    static func widths(of row: [String]) -> [Int] { row.map(\.width) }

    /// Widens the first columns for a row that has at most as many cells.
    static func widen(_ widths: inout [Int], for row: [String]) {
        for (column, cell) in row.enumerated() {
            widths[column] = max(widths[column], cell.width)
        }
    }

    /// A row, without a newline.
    static func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (column, cell) in cells.enumerated() {
            line += column == cells.count - 1 ? cell : cell.padded(to: widths[column] + 2)
        }
        return line
    }
}
