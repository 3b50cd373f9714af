// SPDX-License-Identifier: Apache-2.0

/// Lays out cells in columns, two spaces apart.
enum Table {
    /// The columns of a table with that row alone.
    static func widths(of row: [String]) -> [Int] { row.map(\.count) }

    /// Makes room for a row that has as many cells.
    static func widen(_ widths: inout [Int], for row: [String]) {
        for (column, cell) in row.enumerated() {
            widths[column] = max(widths[column], cell.count)
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
