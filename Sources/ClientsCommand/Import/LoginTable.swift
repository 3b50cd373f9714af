// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSecretMemory

/// Logins in a table of comma-separated values, as Chrome, Firefox, Bitwarden, 1Password and Apple
/// Passwords export them. Their columns have different names for the same things.
enum LoginTable {
    /// What a column holds, by its name in lower case.
    private enum Column: String {
        case name, url, username, password, notes, otp, realm, note, fields
        case urls = "login_uri"

        private static let otherNames: [String: Column] = [
            "title": .name, "website": .url, "web site": .url,
            "login_username": .username, "login_password": .password,
            "login_totp": .otp, "otpauth": .otp, "one-time password": .otp, "httprealm": .realm,
        ]

        init?(header: String) {
            let name = header.lowercased()
            guard let column = Column(rawValue: name) ?? Self.otherNames[name] else { return nil }
            self = column == .note ? .notes : column
        }
    }

    /// The items of a table. The first row names the columns.
    static func items(in input: SecretValue, _ scope: Scope) throws(CLIError) -> ImportedItems {
        var found = ImportedItems()
        var columns: [Int: Column] = [:]
        var table = CSVRows(input)
        guard let header = try table.next() else { throw CLIError(.damaged, "the CSV is empty") }
        for (place, field) in header.enumerated() {
            columns[place] = field.publicText.flatMap { Column(header: $0) }
        }
        let known = Set(columns.values)
        guard known.contains(.password) else {
            throw CLIError(
                .damaged, "the CSV has no column for passwords",
                hint: "expected an export of Chrome, Firefox, Bitwarden, 1Password or Passwords")
        }
        while let row = try table.next() {
            if row.count == 1, row[0].byteCount == 0 { continue }
            guard row.count == header.count else {
                throw .malformed(
                    "the CSV", line: table.line,
                    "\(row.count) fields, where the first row has \(header.count)")
            }
            var fields: [Column: SecretValue] = [:]
            for (place, field) in row.enumerated() where field.byteCount > 0 {
                if let column = columns[place] { fields[column] = field }
            }
            try login(fields, table.rowLine).add(to: &found, scope)
        }
        return found
    }

    private static func login(
        _ fields: [Column: SecretValue], _ line: Int
    ) throws(CLIError) -> ImportedLogin {
        var login = ImportedLogin(source: "line \(line)")
        login.name = try text(fields[.name], line)
        login.username = try text(fields[.username], line)
        login.realm = try text(fields[.realm], line) ?? ""
        if let url = try text(fields[.url], line) { login.urls = [url] }
        if let urls = try text(fields[.urls], line) { login.addURLs(in: urls) }
        (login.password, login.notes, login.otp) = (
            fields[.password], fields[.notes], fields[.otp]
        )
        if fields[.fields] != nil {
            login.losses.append("its further fields are not imported from CSV; export JSON")
        }
        return login
    }

    private static func text(_ field: SecretValue?, _ line: Int) throws(CLIError) -> String? {
        guard let field else { return nil }
        guard let text = field.publicText else {
            throw .malformed("the CSV", line: line, "a field is not UTF-8")
        }
        return text
    }
}

/// A login of a password manager, and the items that its parts become.
struct ImportedLogin {
    var source: String
    var name: String?
    var username: String?
    var urls: [String] = []
    var realm = ""
    var password: SecretValue?
    var notes: SecretValue?
    var otp: SecretValue?
    /// Further secrets by name.
    var fields: [(name: String, value: SecretValue)] = []
    /// Why parts of it are not imported.
    var losses: [String] = []

    init(source: String) {
        self.source = source
    }

    /// Adds the addresses of a field in which Bitwarden separates them by commas.
    ///
    /// An address may have a comma itself. Splitting there would give the password to a server that
    /// somebody else has put into a link, so a part counts only if it begins with a scheme, and no
    /// part counts after a question mark or a hash sign.
    mutating func addURLs(in text: String) {
        var urls: [[UInt8]] = []
        for part in text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        {
            let hasScheme = LoginAddress(String(decoding: part, as: UTF8.self))?.scheme != nil
            if urls.isEmpty {
                urls.append(Array(part))
            } else if hasScheme, !urls[urls.count - 1].contains(where: { "?#".utf8.contains($0) }) {
                urls.append(Array(part))
            } else {
                if hasScheme {
                    losses.append("an address after a question mark may be part of another one")
                }
                urls[urls.count - 1] += [UInt8(ascii: ",")] + part
            }
        }
        self.urls += urls.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Adds the login: a password for each address, or a secret with its name; and secrets with the
    /// name and what they are for all else.
    func add(to found: inout ImportedItems, _ scope: Scope) throws(CLIError) {
        var places: [LoginPlace] = []
        var losses = losses
        for url in urls where !url.utf8.allSatisfy({ $0 == 0x20 }) {
            guard let place = Self.place(url) else {
                losses.append("one of its addresses names no server")
                continue
            }
            if !places.contains(place) { places.append(place) }
        }
        let key = name ?? places.first?.host ?? ""
        let source = name.map { "\($0) (\(self.source))" } ?? self.source
        guard !key.isEmpty else { return found.skip(source, "it has no name and no address") }
        let hasSecret = password != nil || notes != nil || otp != nil || !fields.isEmpty
        guard hasSecret || !losses.isEmpty else { return found.skip(source, "it has no secret") }
        for loss in losses { found.skip(source, loss) }
        if let password {
            for place in places {
                var item = ImportedItem(
                    place, account: username ?? "", kind: .form, password, from: source)
                item.attributes[.securityDomain] = .text(realm)
                if let name { item.attributes[.label] = .text(name) }
                try found.add(item)
            }
            if places.isEmpty {
                try found.add(ImportedItem(key, password, in: scope, from: source))
                if let username {
                    let value = SecretValue(copying: Array(username.utf8).span)
                    try found.add(
                        ImportedItem("\(key)/username", value, in: scope, from: source))
                }
            }
        }
        for (name, value) in [("notes", notes), ("otp", otp.map(Self.otpauth))] + fields {
            guard let value else { continue }
            try found.add(ImportedItem("\(key)/\(name)", value, in: scope, from: source))
        }
    }

    /// The server of an address; nil for text that names none.
    static func place(_ url: String) -> LoginPlace? {
        guard let address = LoginAddress(url),
            address.scheme != nil || address.host.utf8.contains(UInt8(ascii: "."))
        else { return nil }
        return LoginPlace(scheme: address.scheme ?? "https", host: address.host, path: "")
    }

    /// The value as `valet otp` reads it: some programs export the seed alone.
    private static func otpauth(_ value: SecretValue) -> SecretValue {
        let isSeed = value.withBytes { bytes in
            bytes.indices.allSatisfy { index in
                switch bytes[index] {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "2")...UInt8(ascii: "7"), UInt8(ascii: "="), UInt8(ascii: " "):
                    true
                default: false
                }
            }
        }
        guard isSeed else { return value }
        var text = SecretText()
        text.append("otpauth://totp/?secret=")
        value.withBytes { bytes in
            for index in bytes.indices
            where bytes[index] != UInt8(ascii: " ") && bytes[index] != UInt8(ascii: "=") {
                text.append(bytes[index])
            }
        }
        return text.value()
    }
}

/// The rows of a text of comma-separated values (RFC 4180). Lines may end in LF alone.
struct CSVRows {
    private let text: SecretValue
    private var position = 0
    /// The line that the next row begins in, from 1.
    private(set) var line = 1
    /// The line that the last row began in.
    private(set) var rowLine = 1

    private static let maximumFieldCount = 1_000

    init(_ text: SecretValue) {
        self.text = text
        // Some programs begin the file with a byte order mark.
        let mark = text.withBytes { bytes in
            bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF
        }
        if mark { position = 3 }
    }

    /// The fields of the next row; nil at the end.
    ///
    /// - Throws: ``ExitCode/damaged`` for quotation marks in wrong places.
    mutating func next() throws(CLIError) -> [SecretValue]? {
        guard position < text.byteCount else { return nil }
        rowLine = line
        var fields: [SecretValue] = []
        while true {
            guard fields.count < Self.maximumFieldCount else {
                throw .malformed("the CSV", line: line, "too many fields")
            }
            fields.append(try field())
            guard let byte = byte(position) else { return fields }
            position += 1
            if byte == UInt8(ascii: ",") { continue }
            line += 1
            return fields
        }
    }

    /// The field at the position, which then is at the comma or newline after it, or at the end.
    private mutating func field() throws(CLIError) -> SecretValue {
        guard byte(position) == UInt8(ascii: "\"") else { return try plainField() }
        var field = SecretText(capacity: 64)
        position += 1
        while let byte = byte(position) {
            position += 1
            if byte == UInt8(ascii: "\"") {
                if self.byte(position) == UInt8(ascii: "\"") {
                    position += 1
                } else {
                    skipCarriageReturn()
                    guard isAtEndOfField else {
                        throw .malformed("the CSV", line: line, "text after a quotation mark")
                    }
                    return field.value()
                }
            } else if byte == UInt8(ascii: "\n") {
                line += 1
            }
            field.append(byte)
        }
        throw .malformed("the CSV", line: line, "a quotation mark is never closed")
    }

    private mutating func plainField() throws(CLIError) -> SecretValue {
        let start = position
        while !isAtEndOfField {
            guard byte(position) != UInt8(ascii: "\"") else {
                throw .malformed("the CSV", line: line, "a quotation mark inside a field")
            }
            if byte(position) == UInt8(ascii: "\r"), isNewline(position + 1) { break }
            position += 1
        }
        let field = text.part(start..<position)
        skipCarriageReturn()
        return field
    }

    private mutating func skipCarriageReturn() {
        if byte(position) == UInt8(ascii: "\r"), isNewline(position + 1) { position += 1 }
    }

    private var isAtEndOfField: Bool {
        guard let byte = byte(position) else { return true }
        return byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n")
    }

    private func isNewline(_ place: Int) -> Bool { byte(place) == UInt8(ascii: "\n") }

    private func byte(_ place: Int) -> UInt8? {
        text.withBytes { place < $0.count ? $0[place] : nil }
    }
}
