// SPDX-License-Identifier: Apache-2.0

// Writes lists of any length in order and in bounded memory: docs/decisions/0051-many-items.md.

internal import ValetKeychainModel

struct ListFormat {
    enum Form: Hashable {
        case table, json
        /// Names alone, one a line, escaped; or exact and each ended by a zero byte.
        case names(areExact: Bool)
        case tree
    }

    var form = Form.table
    /// Whether the table has a column for the application.
    var showsApplications = false
    var order = ListOrder()
}

/// Writes any number of items in order: the output of `list`, `search` and `backup list`.
struct ListOutput {
    private static let pieceByteCount = 64 << 10

    private let console: any Console
    private let format: ListFormat
    private var layout: TableLayout
    private var tree: TreeLayout
    private var piece = ""
    /// How many items were written.
    private(set) var count = 0

    init(console: any Console, format: ListFormat) {
        self.console = console
        self.format = format
        layout = TableLayout(showingApplications: format.showsApplications)
        tree = TreeLayout(showingApplications: format.showsApplications)
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
            var listing = SortedListing(after: last, order: format.order)
            var layout = layout
            try items { item in
                listing.add(item)
                if !hasBegun, format.form == .table { layout.widen(for: item) }
            }
            listing.sort()
            if !hasBegun { try begin(layout) }
            try listing.forEach { (item) throws(CLIError) in try write(item) }
            (last, isCut, hasBegun) = (listing.lastPacked, listing.isCut, true)
        } while isCut
        try end()
    }

    /// Writes the text before the items.
    private mutating func begin(_ layout: TableLayout) throws(CLIError) {
        self.layout = layout
        switch format.form {
        case .json: try add("{\"items\":[")
        case .names, .tree: break
        case .table:
            if let room = console.outputColumnCount { self.layout.fit(into: room) }
            try add(self.layout.header(inColour: console.takesColour) + "\n")
        }
    }

    private mutating func write(_ item: ListedItem) throws(CLIError) {
        switch format.form {
        case .json: try add((count == 0 ? "" : ",") + item.json.encoded)
        case .names(areExact: true): try add(item.name + "\0")
        case .names(areExact: false): try add(Escaping.printable(item.name) + "\n")
        case .tree: try add(tree.lines(of: item))
        case .table:
            try add(layout.line(of: item, inColour: console.takesColour) + "\n")
        }
        count += 1
    }

    private mutating func end() throws(CLIError) {
        if format.form == .json { try add("]}\n") }
        try writePiece()
    }

    private mutating func add(_ text: String) throws(CLIError) {
        piece += text
        guard piece.utf8.count >= Self.pieceByteCount else { return }
        try writePiece()
    }

    private mutating func writePiece() throws(CLIError) {
        if format.form == .table {
            // The cells are escaped already, and the colours of the table must not be.
            try console.write(Array(piece.utf8).span)
        } else {
            try console.write(piece)
        }
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
    private let order: ListOrder
    /// Items up to this one were written before.
    private let last: [UInt8]?
    /// Items from this one on are for a later listing.
    private var cutoff: [UInt8]?
    private var bytes: [UInt8] = []
    private var entries: [Range<Int>] = []

    /// - Parameters:
    ///   - last: The last item that was written, packed.
    ///   - order: How the items are sorted.
    ///   - byteCount: The most memory to use, at least enough for two items.
    init(
        after last: [UInt8]? = nil, order: ListOrder = ListOrder(),
        byteCount: Int = Self.usualByteCount
    ) {
        self.last = last
        self.order = order
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
        let packed = item.packed(order)
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
            guard let item = ListedItem(packed: bytes[entry], order) else { continue }
            try body(item)
        }
    }

    private mutating func dropLaterHalf() {
        sort()
        let kept = entries.count / 2
        cutoff = Array(bytes[entries[kept]])
        entries.removeLast(entries.count - kept)
        // In the order of their positions, entries move to the front without overwriting each
        // other.
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
