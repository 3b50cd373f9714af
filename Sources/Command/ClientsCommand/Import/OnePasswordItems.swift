// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// The items of 1Password's export, the file `export.data` in the archive `.1pux`
/// (https://support.1password.com/1pux-format): accounts have vaults, and vaults have items.
struct OnePasswordItems {
    private var items: LoginItems
    private var count = 0
    private var hasTags = false

    init(_ scope: Scope) {
        items = LoginItems(scope)
    }

    /// The items that were read, and the members that were not.
    var found: ImportedItems {
        var found = items.found
        if hasTags { found.skip("members 'tags'", "they are not imported") }
        return found
    }

    /// Reads the whole document.
    mutating func read(_ reader: inout JSONReader) throws(CLIError) {
        try reader.each(of: "accounts") { (reader) throws(CLIError) in
            try reader.each(of: "vaults") { (reader) throws(CLIError) in
                try reader.each(of: "items") { (reader) throws(CLIError) in try add(&reader) }
            }
        }
    }

    private mutating func add(_ reader: inout JSONReader) throws(CLIError) {
        count += 1
        guard reader.kind == .object else {
            return items.skip("item \(count)", "it is not an object")
        }
        var (login, state) = (ImportedLogin(source: "item \(count)"), "active")
        try read(&reader, &login, &state)
        // It must not take the place of an item that is in use.
        guard state == "active" else {
            let isOld = ["archived", "trashed", "deleted"].contains(state)
            return items.skip(login.title, isOld ? "it is \(state)" : "its state is not known")
        }
        try items.add(login)
    }

    private mutating func read(
        _ reader: inout JSONReader, _ login: inout ImportedLogin, _ state: inout String
    ) throws(CLIError) {
        try reader.object { (name, reader) throws(CLIError) in
            switch (name, reader.kind) {
            // Older versions have each item in an object of its own, with its file.
            case ("item", .object): try read(&reader, &login, &state)
            case ("file", .object): try Self.lose("attachments", &reader, &login)
            case ("state", .string): state = try reader.publicText() ?? state
            case ("overview", .object): try addOverview(&reader, to: &login)
            case ("details", .object): try Self.addDetails(&reader, to: &login)
            default: try reader.skip()
            }
        }
    }

    private mutating func addOverview(
        _ reader: inout JSONReader, to login: inout ImportedLogin
    ) throws(CLIError) {
        var first: String?
        try reader.object { (name, reader) throws(CLIError) in
            switch (name, reader.kind) {
            case ("title", .string): login.name = try reader.publicText()
            case ("url", .string): first = try reader.publicText()
            case ("urls", .array):
                try reader.array { (reader) throws(CLIError) in
                    guard reader.kind == .object else { return }
                    try reader.object { (name, reader) throws(CLIError) in
                        guard name == "url", reader.kind == .string else { return }
                        if let url = try reader.publicText() { try login.addURL(url) }
                    }
                }
            case ("tags", .array): if try reader.skip() { hasTags = true }
            default: try reader.skip()
            }
        }
        // The list has it again.
        if let first, !login.urls.contains(first) { try login.addURL(first) }
    }

    private static func addDetails(
        _ reader: inout JSONReader, to login: inout ImportedLogin
    ) throws(CLIError) {
        try reader.object { (name, reader) throws(CLIError) in
            switch (name, reader.kind) {
            case ("notesPlain", .string): login.notes = try reader.content()
            case ("password", .string): login.password = try reader.content() ?? login.password
            case ("loginFields", .array):
                try reader.array { (reader) throws(CLIError) in
                    if reader.kind == .object { try addLoginField(&reader, to: &login) }
                }
            case ("sections", .array):
                try reader.array { (reader) throws(CLIError) in
                    try reader.each(of: "fields") { (reader) throws(CLIError) in
                        if reader.kind == .object { try addField(&reader, to: &login) }
                    }
                }
            case ("passwordHistory", .array): try lose("old passwords", &reader, &login)
            case ("documentAttributes", .object): try lose("attachments", &reader, &login)
            default: if try reader.skip() { login.losses.append("its \(name) is not imported") }
            }
        }
    }

    private static func lose(
        _ what: String, _ reader: inout JSONReader, _ login: inout ImportedLogin
    ) throws(CLIError) {
        if try reader.skip() { login.losses.append("its \(what) are not imported") }
    }

    /// Adds a field of a form of the web.
    private static func addLoginField(
        _ reader: inout JSONReader, to login: inout ImportedLogin
    ) throws(CLIError) {
        var (value, isSecret) = (SecretValue?.none, true)
        var words: [String: String] = [:]
        try reader.object { (name, reader) throws(CLIError) in
            guard reader.kind == .string else { return }
            switch name {
            case "value": value = try reader.content()
            case "name", "id", "designation": words[name] = try reader.publicText()
            case "fieldType": isSecret = try reader.publicText() == "P"
            default: break
            }
        }
        guard let value else { return }
        switch words["designation"] {
        case "username" where login.username == nil: login.username = value.publicText
        case "password" where login.password == nil: login.password = value
        default:
            try login.addField(words["name"] ?? words["id"] ?? "", value, isSecret: isSecret)
        }
    }

    /// Adds a field of a section: its value is an object with one member, named like its kind.
    private static func addField(
        _ reader: inout JSONReader, to login: inout ImportedLogin
    ) throws(CLIError) {
        var (title, kind, value) = ("", "", SecretValue?.none)
        var losses: Set<String> = []
        try reader.object { (name, reader) throws(CLIError) in
            switch (name, reader.kind) {
            case ("title", .string): title = try reader.publicText() ?? title
            case ("value", .object):
                try reader.object { (name, reader) throws(CLIError) in
                    kind = name
                    value = try self.value(&reader, kind, &losses)
                }
            case ("value", _): if try reader.skip() { losses.insert("unknown") }
            default: break
            }
        }
        for kind in losses.sorted() {
            login.lose("a field of the kind \(quoted(kind)) is not imported")
        }
        guard let value else { return }
        if kind == "totp", login.otp == nil { return login.otp = value }
        try login.addField(
            title, kind == "totp" ? value.asOneTimeAddress : value,
            isSecret: !shownKinds.contains(kind))
    }

    /// The kinds of fields that 1Password shows.
    private static let shownKinds: Set<String> = [
        "string", "email", "url", "phone", "menu", "gender", "date", "monthYear", "address",
        "creditCardType",
    ]

    private static func value(
        _ reader: inout JSONReader, _ kind: String, _ losses: inout Set<String>
    ) throws(CLIError) -> SecretValue? {
        switch (kind, reader.kind) {
        case (_, .string): return try reader.content()
        case (_, .number): return SecretValue(copying: Array(try reader.word().utf8).span)
        case ("address", .object): return try parts(&reader) { _ in true }
        case ("email", .object): return try parts(&reader) { $0 == "email_address" }
        case ("sshKey", .object): return try parts(&reader) { $0 == "privateKey" }
        default:
            if try reader.skip() { losses.insert(kind) }
            return nil
        }
    }

    /// The strings of an object, one a line.
    private static func parts(
        _ reader: inout JSONReader, _ isWanted: (String) -> Bool
    ) throws(CLIError) -> SecretValue? {
        var parts: [SecretValue] = []
        try reader.object { (name, reader) throws(CLIError) in
            guard isWanted(name), reader.kind == .string else { return }
            if let part = try reader.content() { parts.append(part) }
        }
        return parts.isEmpty ? nil : SecretValue.joined(lines: parts[...])
    }
}
