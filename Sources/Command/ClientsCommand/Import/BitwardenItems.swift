// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// The items of Bitwarden, as its exports and `bw list items` have them.
struct BitwardenItems {
    private var items: LoginItems
    private var count = 0
    /// The members that are not imported although some item has content in them.
    private var unknown: Set<String> = []

    /// Members that items of Bitwarden have, and those of other programs have not.
    static let signs: Set<String> = [
        "type", "login", "card", "identity", "secureNote", "sshKey", "notes", "passwordHistory",
    ]
    /// The types of fields that Bitwarden shows: text, and yes or no.
    private static let shownTypes: Set<String> = ["0", "2"]
    /// Members that only name the kind of an item.
    private static let structure: Set<String> = ["object", "type", "secureNote"]

    init(_ scope: Scope) {
        items = LoginItems(scope)
    }

    /// The items that were read, and the members that were not.
    var found: ImportedItems {
        var found = items.found
        let names = unknown.sorted().map { "'\($0)'" }.joined(separator: ", ")
        if !names.isEmpty { found.skip("members \(names)", "they are not imported") }
        return found
    }

    mutating func add(_ reader: inout JSONReader) throws(CLIError) {
        count += 1
        guard reader.kind == .object else {
            return items.skip("item \(count)", "it is not an object")
        }
        var login = ImportedLogin(source: "item \(count)")
        var unknown = unknown
        var end: String?
        try reader.object { (name, reader) throws(CLIError) in
            switch (name, reader.kind) {
            case ("deletedDate", .string): end = "it is in the trash"
            case ("archivedDate", .string): end = end ?? "it is archived"
            case ("name", .string): login.name = try reader.publicText()
            case ("notes", .string): login.notes = try reader.content()
            case ("login", .object): try Self.addLogin(&reader, to: &login, &unknown)
            case ("fields", .array): try Self.addFields(&reader, to: &login)
            case ("card", .object), ("identity", .object), ("sshKey", .object):
                try Self.addSecrets(&reader, in: name, to: &login, &unknown)
            case ("passwordHistory", .array):
                if try reader.skip() { login.losses.append("its old passwords are not imported") }
            case ("attachments", .array):
                if try reader.skip() { login.losses.append("its attachments are not imported") }
            default:
                if try reader.skip(), !Self.structure.contains(name) { unknown.insert(name) }
            }
        }
        // It must not take the place of an item that is in use.
        if let end { return items.skip(login.title, end) }
        self.unknown = unknown
        try items.add(login)
    }

    private static func addLogin(
        _ reader: inout JSONReader, to login: inout ImportedLogin, _ unknown: inout Set<String>
    ) throws(CLIError) {
        try reader.object { (name, reader) throws(CLIError) in
            switch (name, reader.kind) {
            case ("username", .string): login.username = try reader.publicText()
            case ("password", .string): login.password = try reader.content()
            case ("totp", .string): login.otp = try reader.content()
            case ("uris", .array): try addURLs(&reader, to: &login)
            // Older versions write `uri` besides the list.
            case ("uri", .string): if let url = try reader.publicText() { try login.addURL(url) }
            case ("fido2Credentials", .array):
                if try reader.skip() { login.losses.append("its passkeys are not imported") }
            default: if try reader.skip() { unknown.insert("login.\(name)") }
            }
        }
    }

    private static func addURLs(
        _ reader: inout JSONReader, to login: inout ImportedLogin
    ) throws(CLIError) {
        try reader.array { (reader) throws(CLIError) in
            guard reader.kind == .object else { return }
            try reader.object { (name, reader) throws(CLIError) in
                guard name == "uri", reader.kind == .string else { return }
                if let url = try reader.publicText() { try login.addURL(url) }
            }
        }
    }

    /// Adds the fields that people give names to.
    private static func addFields(
        _ reader: inout JSONReader, to login: inout ImportedLogin
    ) throws(CLIError) {
        try reader.array { (reader) throws(CLIError) in
            guard reader.kind == .object else { return }
            var (name, value, isSecret) = ("", SecretValue?.none, true)
            try reader.object { (member, reader) throws(CLIError) in
                switch (member, reader.kind) {
                case ("name", .string): name = try reader.publicText() ?? name
                case ("value", .string): value = try reader.content()
                case ("type", .number): isSecret = try !shownTypes.contains(reader.word())
                default: break
                }
            }
            if let value { try login.addField(name, value, isSecret: isSecret) }
        }
    }

    /// Adds the fields of a card, an identity or an SSH key.
    private static func addSecrets(
        _ reader: inout JSONReader, in group: String, to login: inout ImportedLogin,
        _ unknown: inout Set<String>
    ) throws(CLIError) {
        try reader.object { (name, reader) throws(CLIError) in
            if reader.kind == .string {
                if let value = try reader.content() { try login.addField(name, value) }
            } else if try reader.skip() {
                unknown.insert("\(group).\(name)")
            }
        }
    }
}
