// SPDX-License-Identifier: Apache-2.0

/// Writes a list of items in its order, however many they are: `list` and `backup list`.
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

    /// Writes the whole list, in a bounded amount of memory. Writes nothing before `items` has
    /// ended once without an error.
    ///
    /// - Parameter items: Gives every item, in any order; called again for a list that does not
    ///   fit into the memory.
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
                if !hasBegun, !writesJSON { Table.widen(&widths, for: item.cells) }
            }
            listing.sort()
            if !hasBegun { try begin(widths) }
            try listing.forEach { (item) throws(CLIError) in try write(item) }
            (last, isCut, hasBegun) = (listing.lastPacked, listing.isCut, true)
        } while isCut
        try end()
    }

    /// Writes what comes before the items.
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
