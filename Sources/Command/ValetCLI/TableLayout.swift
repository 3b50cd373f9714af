// SPDX-License-Identifier: Apache-2.0

/// A column of the table that `list`, `search` and `backup list` write.
enum ListColumn: CaseIterable {
    case name, owner, label, application, kind, accessibility, byteCount, modified

    var title: String {
        switch self {
        case .name: "NAME"
        case .owner: "OWNER"
        case .label: "LABEL"
        case .application: "APPLICATION"
        case .kind: "KIND"
        case .accessibility: "ACCESSIBILITY"
        case .byteCount: "SIZE"
        case .modified: "MODIFIED"
        }
    }

    /// The width that the column keeps as long as narrowing others is enough; nil if it is not
    /// narrowed.
    fileprivate var comfortableWidth: Int? {
        switch self {
        case .name: 24
        case .owner, .label, .application: 12
        case .kind: 11
        case .accessibility: 13
        case .byteCount, .modified: nil
        }
    }

    /// The least width that the column is narrowed to; nil if it is not narrowed.
    fileprivate var leastWidth: Int? {
        switch self {
        case .name, .accessibility: 8
        case .owner, .label, .application, .kind: 6
        case .byteCount, .modified: nil
        }
    }
}

/// The widths of a table's columns, two spaces apart, and which columns there are.
struct TableLayout {
    /// The widths of a time and of a date alone.
    private static let (timeWidth, dateWidth) = (20, 10)
    private static let escape = "\u{1B}["

    private let columns: [ListColumn]
    /// 0 for a column that is left out.
    private var widths: [Int]

    init(showingApplications: Bool) {
        columns = ListColumn.allCases.filter { $0 != .application || showingApplications }
        // Without labels there is no column for them.
        widths = columns.map { column in
            column == .label ? 0 : column == .modified ? Self.timeWidth : column.title.width
        }
    }

    /// Widens the columns for an item.
    mutating func widen(for item: ListedItem) {
        for (index, column) in columns.enumerated() where column != .modified {
            let width = item.cell(column).width
            guard width > 0 || column != .label else { continue }
            widths[index] = max(widths[index], width, column.title.width)
        }
    }

    /// Makes a row fit into `room` columns of the terminal. The names keep 24 of them as long as
    /// the rest of the row can be narrowed, which is always enough from 60 columns on.
    mutating func fit(into room: Int) {
        let others: [ListColumn] = [.owner, .label, .application, .kind, .accessibility]
        narrow(others, until: room) { $0.comfortableWidth }
        narrow([.name], until: room) { $0.comfortableWidth }
        if excess(over: room) > 0 { set(.modified, to: Self.dateWidth) }
        narrow(others, until: room) { $0.leastWidth }
        for column in [ListColumn.byteCount, .accessibility, .modified]
        where excess(over: room) > 0 {
            set(column, to: 0)
        }
        narrow([.name], until: room) { $0.leastWidth }
    }

    private func excess(over room: Int) -> Int {
        let shown = widths.filter { $0 > 0 }
        return shown.reduce(0, +) + 2 * (shown.count - 1) - room
    }

    private mutating func set(_ column: ListColumn, to width: Int) {
        guard let index = columns.firstIndex(of: column) else { return }
        widths[index] = min(widths[index], width)
    }

    /// Narrows the widest of some columns until a row fits, or all have their least width.
    private mutating func narrow(
        _ narrowed: [ListColumn], until room: Int, _ least: (ListColumn) -> Int?
    ) {
        for _ in 0..<max(0, excess(over: room)) {
            let indices = columns.indices.filter { index in
                narrowed.contains(columns[index])
                    && widths[index] > least(columns[index]) ?? .max
            }
            guard let widest = indices.max(by: { widths[$0] < widths[$1] }) else { return }
            widths[widest] -= 1
        }
    }

    /// The row of titles, without a newline.
    func header(inColour: Bool) -> String {
        let line = row(columns.map(\.title))
        return inColour ? Self.escape + "1m" + line + Self.escape + "0m" : line
    }

    /// The row of an item, without a newline. Shared items have their kind in colour.
    func line(of item: ListedItem, inColour: Bool) -> String {
        row(columns.map(item.cell), marking: inColour && item.isCloud ? .kind : nil)
    }

    /// A row. Shortens cells that are wider than their column.
    private func row(_ cells: [String], marking marked: ListColumn? = nil) -> String {
        var row = ""
        let last = widths.lastIndex { $0 > 0 }
        for index in columns.indices where widths[index] > 0 {
            // A date is the start of a time.
            var cell =
                columns[index] == .modified && widths[index] < cells[index].width
                ? String(cells[index].prefix(widths[index]))
                : cells[index].shortened(to: widths[index])
            let padding = index == last ? 0 : widths[index] + 2 - cell.width
            if columns[index] == marked { cell = Self.escape + "36m" + cell + Self.escape + "0m" }
            row += cell + String(repeating: " ", count: padding)
        }
        return row
    }
}
