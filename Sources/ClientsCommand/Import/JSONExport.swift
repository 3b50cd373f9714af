// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSecretMemory

/// The forms of JSON that `valet import` reads: that of `valet export`, Bitwarden's, and an object
/// whose members are names and secrets. ``ExportFormat`` reads the first.
enum JSONExport {
    /// The items of a document.
    static func items(in text: SecretValue, _ scope: Scope) throws(CLIError) -> ImportedItems {
        let document = try JSONDocument(text, called: "the input")
        var kind = ""
        var (isEncrypted, hasItems) = (false, false)
        try document.forEachRow(
            """
            SELECT json_type(text), json_extract(text, '$.format'),
                json_type(text, '$.items') = 'array', json_type(text, '$.encrypted') = 'true'
            FROM document
            """
        ) { row throws(CLIError) in
            kind = try row.text(0) ?? ""
            if try row.text(1) == ExportFormat.name { kind = ExportFormat.name }
            (hasItems, isEncrypted) = (row.number(2) == 1, row.number(3) == 1)
        }
        if isEncrypted {
            throw .usage(
                "the export is encrypted", hint: "export it again as JSON without encryption")
        }
        switch (kind, hasItems) {
        case (ExportFormat.name, true): return try ExportFormat.items(document, scope)
        case ("object", true): return try logins(document, scope)
        case ("object", false): return try members(document, scope)
        default: throw .usage("the input is not an object")
        }
    }

    // MARK: An object with names and secrets

    private static func members(
        _ document: JSONDocument, _ scope: Scope
    ) throws(CLIError) -> ImportedItems {
        var found = ImportedItems()
        try document.forEachRow(
            """
            SELECT key, iif(json_each.type = 'text', atom, NULL)
            FROM document, json_each(document.text)
            """
        ) { row throws(CLIError) in
            let key = try row.text(0) ?? ""
            guard !key.isEmpty else { return found.skip("a member", "it has no name") }
            guard let value = try row.secret(1) else {
                return found.skip(key, "it is not a string")
            }
            try found.add(ImportedItem(key, value, in: scope, from: key))
        }
        return found
    }

    // MARK: Bitwarden

    private static func logins(
        _ document: JSONDocument, _ scope: Scope
    ) throws(CLIError) -> ImportedItems {
        var logins: [ImportedLogin] = []
        try document.forEachRow(
            """
            SELECT json_extract(value, '$.name'), json_extract(value, '$.login.username'),
                json_extract(value, '$.login.password'), json_extract(value, '$.login.totp'),
                json_extract(value, '$.notes'),
                json_type(value, '$.card') = 'object' OR json_type(value, '$.identity') = 'object'
                    OR json_type(value, '$.sshKey') = 'object',
                json_array_length(value, '$.login.fido2Credentials') > 0
            FROM json_each((SELECT text FROM document), '$.items') ORDER BY key
            """
        ) { row throws(CLIError) in
            var login = ImportedLogin(source: "item \(logins.count + 1)")
            (login.name, login.username) = (try row.text(0), try row.text(1))
            (login.password, login.otp) = (try row.secret(2), try row.secret(3))
            login.notes = try row.secret(4)
            if row.number(5) == 1 {
                login.losses.append("cards, identities and SSH keys are not imported")
            }
            if row.number(6) == 1 { login.losses.append("passkeys are not imported") }
            logins.append(login)
        }
        try document.forEachRow(
            """
            SELECT item.key, json_extract(address.value, '$.uri')
            FROM json_each((SELECT text FROM document), '$.items') AS item,
                json_each(item.value, '$.login.uris') AS address
            WHERE json_type(address.value, '$.uri') = 'text'
            """
        ) { row throws(CLIError) in
            if let url = try row.text(1) { logins[Int(row.number(0))].urls.append(url) }
        }
        try addFields(of: document, to: &logins)
        var found = ImportedItems()
        for login in logins { try login.add(to: &found, scope) }
        return found
    }

    /// Adds the fields that people give names to.
    private static func addFields(
        of document: JSONDocument, to logins: inout [ImportedLogin]
    ) throws(CLIError) {
        try document.forEachRow(
            """
            SELECT item.key, json_extract(field.value, '$.name'),
                json_extract(field.value, '$.value')
            FROM json_each((SELECT text FROM document), '$.items') AS item,
                json_each(item.value, '$.fields') AS field
            WHERE json_type(field.value, '$.value') = 'text'
            """
        ) { row throws(CLIError) in
            guard let value = try row.secret(2) else { return }
            logins[Int(row.number(0))].fields.append((try row.text(1) ?? "field", value))
        }
    }
}

/// Base64 (RFC 4648 §4), for values that are not UTF-8.
enum Base64 {
    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The bytes; nil for text that no encoder writes.
    static func decoded(_ text: SecretValue) -> SecretValue? {
        text.withBytes { text in
            guard text.count % 4 == 0 else { return nil }
            var result = SecretText(capacity: max(1, text.count / 4 * 3))
            for start in stride(from: 0, to: text.count, by: 4) {
                var (bits, padding) = (UInt32(0), 0)
                for index in start..<start + 4 {
                    let digit = digits.firstIndex(of: text[index])
                    let isPadding =
                        text[index] == UInt8(ascii: "=") && index >= start + 2
                        && start + 4 == text.count
                    guard digit != nil && padding == 0 || isPadding else { return nil }
                    if isPadding { padding += 1 }
                    bits = bits << 6 | UInt32(digit ?? 0)
                }
                guard bits & (1 << (8 * UInt32(padding)) - 1) == 0 else { return nil }
                for place in 0..<3 - padding {
                    result.append(UInt8(truncatingIfNeeded: bits >> (16 - 8 * UInt32(place))))
                }
            }
            return result.value()
        }
    }

    /// Appends the text for bytes.
    static func append(_ bytes: Span<UInt8>, to text: inout SecretText) {
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var bits: UInt32 = 0
            for offset in 0..<3 {
                bits = bits << 8 | (offset < count ? UInt32(bytes[start + offset]) : 0)
            }
            for place in 0..<4 {
                let digit = digits[Int(bits >> (18 - 6 * UInt32(place)) & 63)]
                text.append(place <= count ? digit : UInt8(ascii: "="))
            }
        }
    }
}
