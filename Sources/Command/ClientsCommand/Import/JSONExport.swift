// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// The forms of JSON that `valet import` reads: that of `valet export`, those of Bitwarden and
/// 1Password, and an object whose members are names and secrets. ``ExportFormat``,
/// ``BitwardenItems`` and ``OnePasswordItems`` read the items of the first three.
enum JSONExport {
    /// The items of a document.
    static func items(in text: SecretValue, _ scope: Scope) throws(CLIError) -> ImportedItems {
        var reader = try JSONReader(text, called: "the input")
        // The whole document is checked before anything of it counts.
        switch try form(reader) {
        case .export:
            var found = ImportedItems()
            var count = 0
            try forEachItem(&reader) { (reader) throws(CLIError) in
                count += 1
                try found.add(ExportFormat.item(&reader, count, scope))
            }
            return found
        case .bitwarden:
            var items = BitwardenItems(scope)
            try forEachItem(&reader) { (reader) throws(CLIError) in try items.add(&reader) }
            return items.found
        case .onePassword:
            var items = OnePasswordItems(scope)
            try items.read(&reader)
            return items.found
        case .docker: return try DockerConfig.items(in: text)
        default: return try members(&reader, scope)
        }
    }

    /// The form of a document.
    ///
    /// - Throws: ``ExitCode/damaged`` for JSON of another program.
    static func form(_ text: SecretValue) throws(CLIError) -> FileForm {
        try form(JSONReader(text, called: "the input"))
    }

    private static func form(_ reader: JSONReader) throws(CLIError) -> FileForm {
        let outline = try Outline(reader)
        guard !outline.isEncrypted else {
            throw CLIError(
                .damaged,
                "the export is encrypted", hint: "export it again as JSON without encryption")
        }
        let (items, format) = (outline.ofItems, outline.format)
        if format == ExportFormat.name, items != nil { return .export }
        guard !format.hasPrefix("valet-export-") else {
            throw CLIError(
                .damaged, "the export is damaged, or another version of valet wrote it")
        }
        if let items, items.isEmpty || !items.isDisjoint(with: BitwardenItems.signs) {
            return .bitwarden
        }
        if outline.structures.contains("accounts") { return .onePassword }
        if !outline.structures.isDisjoint(with: ["auths", "credHelpers"]) { return .docker }
        guard items == nil, outline.structures.isEmpty else { throw foreign(outline) }
        return .object
    }

    /// What tells the forms apart.
    private struct Outline {
        var format = ""
        var isEncrypted = false
        /// The names of members that are objects or lists.
        var structures: Set<String> = []
        /// The names of the members of all items; nil if there is no list of items.
        var ofItems: Set<String>?

        init(_ reader: JSONReader) throws(CLIError) {
            var reader = reader
            switch reader.kind {
            // 'bw list items' writes a list alone.
            case .array: ofItems = try Self.membersOfItems(&reader)
            case .object:
                try reader.object(isUnique: false) { (name, reader) throws(CLIError) in
                    try add(name, &reader)
                }
            case .string, .number, .literal:
                throw CLIError(.damaged, "the input is not an object or a list")
            }
            try reader.checkEnd()
        }

        private mutating func add(
            _ name: String, _ reader: inout JSONReader
        ) throws(CLIError) {
            if [.object, .array].contains(reader.kind) { structures.insert(name) }
            switch (name, reader.kind) {
            case ("format", .string): format = try reader.string().publicText ?? ""
            case ("items", .array): ofItems = try Self.membersOfItems(&reader)
            case ("encrypted", .literal): isEncrypted = try reader.word() == "true"
            default: break
            }
        }

        private static func membersOfItems(
            _ reader: inout JSONReader
        ) throws(CLIError) -> Set<String> {
            var names: Set<String> = []
            try reader.array { (reader) throws(CLIError) in
                guard reader.kind == .object else { return }
                try reader.object { (name, _) throws(CLIError) in names.insert(name) }
            }
            return names
        }
    }

    /// Files of other programs that this version does not read: the lists and objects that they
    /// have, and what helps.
    private static let foreignForms: [(members: Set<String>, what: String, hint: String)] = [
        (["vaults"], "an export of Proton Pass", asCSV),
        (["items", "category"], "an export of Enpass", asCSV),
        (["header", "db"], "a backup of Aegis", "'valet otp add' stores an otpauth:// URI"),
        (["logins"], "Firefox's own file, which is encrypted", asCSV),
        (
            ["metadata"], "an object of Kubernetes",
            "'--from docker-config' reads a secret with the password of a registry"
        ),
    ]
    private static let asCSV = "\(FileForm.asCSV), and use '--from csv'"

    private static func foreign(_ outline: Outline) -> CLIError {
        let members = outline.structures.union(outline.ofItems ?? [])
        let known = foreignForms.first { $0.members.isSubset(of: members) }
        return CLIError(
            .damaged,
            known.map { "\($0.what) is not read" }
                ?? "the JSON has objects or lists, and no known program writes them so",
            hint: known?.hint
                ?? "an object with names and secrets is read; docs/CLIENTS.md lists other forms")
    }

    /// Calls `body` with the reader at each item of an array, or of an object's member "items".
    private static func forEachItem(
        _ reader: inout JSONReader, _ body: (inout JSONReader) throws(CLIError) -> Void
    ) throws(CLIError) {
        guard reader.kind == .object else { return try reader.array(body) }
        try reader.object { (name, reader) throws(CLIError) in
            if name == "items" { try reader.array(body) }
        }
    }

    /// The items of an object whose members are names and secrets.
    private static func members(
        _ reader: inout JSONReader, _ scope: Scope
    ) throws(CLIError) -> ImportedItems {
        var found = ImportedItems()
        try reader.object(isUnique: false) { (name, reader) throws(CLIError) in
            try found.checkCount()
            guard !name.isEmpty else { return found.skip("a member", "it has no name") }
            guard reader.kind == .string else { return found.skip(name, "it is not a string") }
            try found.add(ImportedItem(name, reader.string(), in: scope, from: name))
        }
        return found
    }
}
