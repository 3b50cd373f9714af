// SPDX-License-Identifier: Apache-2.0

/// Lays out cells in columns, two spaces apart.
enum Table {
    /// Lines of text, each with a newline. Every row has as many cells as `header`.
    static func text(header: [String], rows: [[String]]) -> String {
        let all = [header] + rows
        let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { line($0, widths) + "\n" }.joined()
    }

    private static func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (column, cell) in cells.enumerated() {
            line += column == cells.count - 1 ? cell : cell.padded(to: widths[column] + 2)
        }
        return line
    }
}
