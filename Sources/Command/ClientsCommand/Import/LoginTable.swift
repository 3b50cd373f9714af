// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSealing

/// Logins in a table of separated values, as browsers and password managers export them.
/// ``LoginColumn`` knows the columns.
struct LoginTable {
    private let header: LoginHeader
    private var items: LoginItems
    /// For each column, whether it has values that are not imported.
    private var unknown: [Bool]

    /// The items of a table.
    ///
    /// - Parameter head: The names of the columns; nil if the first row has them.
    static func items(
        in input: SecretValue, _ scope: Scope, under head: String? = nil
    ) throws(CLIError) -> ImportedItems {
        var rows = try SeparatedRows(input)
        var names = head.map { $0.split(separator: ",").map(String.init) }
        if names == nil { names = try rows.next()?.map { rows.value($0).publicText ?? "" } }
        guard let names else { throw CLIError(.damaged, "the CSV is empty") }
        let header = try LoginHeader(names)
        rows.usesBackslashes = header.isKeePass
        var table = LoginTable(header, scope)
        while let row = try rows.next() {
            // An empty line.
            if row.count == 1, row[0].isEmpty { continue }
            guard row.count == names.count || header.firstPair.map({ row.count > $0 }) == true
            else {
                throw .malformed(
                    "the CSV", line: rows.rowLine,
                    "\(row.count) fields, where the first row has \(names.count)")
            }
            try table.add(row, rows)
        }
        return table.found
    }

    private init(_ header: LoginHeader, _ scope: Scope) {
        self.header = header
        items = LoginItems(scope)
        unknown = header.columns.map { _ in false }
    }

    /// The items that were read, and the columns that were not.
    private var found: ImportedItems {
        var found = items.found
        let names = zip(header.columns, unknown).filter(\.1).map { "'\($0.0.name)'" }
        if !names.isEmpty {
            found.skip("columns \(names.joined(separator: ", "))", "they are not imported")
        }
        return found
    }

    private mutating func add(
        _ row: [SeparatedRows.Field], _ rows: SeparatedRows
    ) throws(CLIError) {
        var entry = Entry(line: rows.rowLine)
        let firstPair = header.firstPair ?? row.count
        for (place, field) in row.prefix(firstPair).enumerated() where !field.isEmpty {
            let (name, column) = header.columns[place]
            // A folder is looked at, and not imported.
            if column == .folder { unknown[place] = true }
            if let column {
                try entry.add(rows.value(field), name, column)
            } else {
                unknown[place] = true
            }
        }
        var pairs = row.dropFirst(firstPair)
        while let label = pairs.popFirst() {
            guard let value = pairs.popFirst() else {
                // Enpass ends its rows with the notes.
                if !label.isEmpty { try entry.add(rows.value(label), "notes", .notes) }
                break
            }
            guard !value.isEmpty else { continue }
            let name = rows.value(label).publicText ?? ""
            try entry.add(rows.value(value), name, LoginColumn(named: name) ?? .field)
        }
        if let (source, reason) = entry.end { return items.skip(source, reason) }
        try items.add(entry.whole())
    }

    /// The fields of a row.
    private struct Entry {
        private var login: ImportedLogin
        private let line: Int
        private var email: SecretValue?
        private var isInBin = false
        private var isArchived = false

        init(line: Int) {
            self.line = line
            login = ImportedLogin(source: "line \(line)")
        }

        /// Adds a field of the row. Where an entry has only one of this kind, a second one keeps
        /// the name of its column.
        mutating func add(
            _ value: SecretValue, _ name: String, _ column: LoginColumn
        ) throws(CLIError) {
            switch column {
            case .name where login.name == nil: login.name = try text(value)
            case .username where login.username == nil: login.username = try text(value)
            case .realm where login.realm.isEmpty: login.realm = try text(value)
            case .email where email == nil: email = value
            case .password where login.password == nil: login.password = value
            case .notes where login.notes == nil: login.notes = value
            case .otp where login.otp == nil: login.otp = value
            case .folder: if LoginColumn.isBin(try text(value)) { isInBin = true }
            case .ended:
                let word = try text(value).lowercased()
                if ["true", "yes", "1"].contains(word) { isArchived = true }
            case .url: try add(url: text(value))
            case .urls: try login.addURLs(in: text(value))
            case .urlList: try addURLs(value)
            case .fieldList: try addFields(value)
            case .fieldText:
                login.losses.append("its further fields are not imported from CSV; export JSON")
            case .name, .username, .realm, .email, .shown:
                try login.addField(name, value, isSecret: false)
            case .password, .notes, .otp, .field, .pairs: try login.addField(name, value)
            }
        }

        /// The name of an entry that is not in use any more, and why; nil for one that is in use,
        /// whose place no other one may take.
        var end: (source: String, reason: String)? {
            guard isInBin || isArchived else { return nil }
            return (login.title, isInBin ? "it is in the recycle bin" : "it is archived")
        }

        /// The login, when all fields were added.
        consuming func whole() throws(CLIError) -> ImportedLogin {
            guard let email else { return login }
            let text = try text(email)
            if login.username == nil {
                login.username = text
            } else if login.username != text {
                try login.addField("email", email, isSecret: false)
            }
            return login
        }

        /// Adds an address, unless it is one of those that LastPass gives to notes and groups.
        private mutating func add(url: String) throws(CLIError) {
            if url != "http://sn", url != "http://group" { try login.addURL(url) }
        }

        private mutating func addURLs(_ list: SecretValue) throws(CLIError) {
            guard list.withBytes({ $0.startsWith("[") }) else {
                // Older exports separate addresses by commas.
                return try login.addURLs(in: text(list))
            }
            try readList(list) { (entry, reader) throws(CLIError) in
                guard reader.kind == .string else { return }
                let url = try reader.string()
                try entry.add(url: entry.text(url))
            }
        }

        private mutating func addFields(_ list: SecretValue) throws(CLIError) {
            try readList(list) { (entry, reader) throws(CLIError) in
                guard reader.kind == .object else { return }
                var (label, value, isSecret) = ("", SecretValue?.none, true)
                try reader.object { (name, reader) throws(CLIError) in
                    guard reader.kind == .string else { return }
                    switch name {
                    case "label": label = try reader.string().publicText ?? label
                    case "value": value = try reader.string()
                    case "type": isSecret = try reader.string().publicText != "text"
                    default: break
                    }
                }
                if let value, value.byteCount > 0 {
                    try entry.login.addField(label, value, isSecret: isSecret)
                }
            }
        }

        /// Reads a JSON array in a field.
        private mutating func readList(
            _ list: SecretValue,
            _ body: (inout Entry, inout JSONReader) throws(CLIError) -> Void
        ) throws(CLIError) {
            var entry = self
            var reader = try JSONReader(list, called: "a field in line \(line)")
            guard reader.kind == .array else {
                throw .malformed("the CSV", line: line, "a field is not a JSON array")
            }
            try reader.array { (reader) throws(CLIError) in try body(&entry, &reader) }
            try reader.checkEnd()
            self = entry
        }

        private func text(_ value: SecretValue) throws(CLIError) -> String {
            guard let text = value.publicText else {
                throw .malformed("the CSV", line: line, "a field is not UTF-8")
            }
            return text
        }
    }
}
