// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// The forms of JSON that `valet import` reads: that of `valet export`, Bitwarden's, and an object
/// whose members are names and secrets. ``ExportFormat`` and ``BitwardenItem`` read the items of
/// the first two.
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
        case .members: return try members(&reader, scope)
        }
    }

    private enum Form {
        case export, bitwarden, members
    }

    private static func form(_ reader: JSONReader) throws(CLIError) -> Form {
        var reader = reader
        // 'bw list items' writes a list alone.
        var hasItems = reader.kind == .array
        var (format, isEncrypted) = ("", false)
        switch reader.kind {
        case .array: try reader.skip()
        case .object:
            try reader.object(isUnique: false) { (name, reader) throws(CLIError) in
                switch (name, reader.kind) {
                case ("format", .string): format = try reader.string().publicText ?? ""
                case ("items", .array): hasItems = true
                case ("encrypted", .literal): isEncrypted = try reader.word() == "true"
                default: break
                }
            }
        case .string, .number, .literal:
            throw CLIError(.damaged, "the input is not an object or a list")
        }
        try reader.checkEnd()
        guard !isEncrypted else {
            throw CLIError(
                .damaged,
                "the export is encrypted", hint: "export it again as JSON without encryption")
        }
        if format == ExportFormat.name, hasItems { return .export }
        guard !format.hasPrefix("valet-export-") else {
            throw CLIError(
                .damaged, "the export is damaged, or another version of valet wrote it")
        }
        return hasItems ? .bitwarden : .members
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
