// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSealing

/// The text that `security dump-keychain -d` writes on macOS.
///
/// An item begins with a line `keychain: "PATH"`. Attributes are lines such as
/// `"acct"<blob>="name"`, and the value is the line after `data:`. Bytes that are not printable are
/// hexadecimal digits after `0x`, followed by an escaped form of the same.
enum KeychainDump {
    /// The attributes that are kept, by their codes; 7 is the label.
    private static let attributes: [String: Attribute] = [
        "0x00000007": .label, "\"acct\"": .account, "\"svce\"": .service, "\"srvr\"": .server,
        "\"ptcl\"": .protocol, "\"port\"": .port, "\"path\"": .path, "\"sdmn\"": .securityDomain,
        "\"atyp\"": .authenticationType, "\"desc\"": .itemDescription, "\"icmt\"": .comment,
        "\"gena\"": .generic,
    ]

    /// The items. Keys and certificates are skipped.
    static func items(in text: SecretValue) throws(CLIError) -> ImportedItems {
        var found = ImportedItems()
        try text.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            var entry: Entry?
            var isAtValue = false
            for (index, range) in bytes.lines.enumerated() {
                let line = bytes.extracting(range)
                if isAtValue {
                    entry?.value = try value(line, index + 1)
                    isAtValue = false
                } else if line.startsWith("keychain: ") {
                    try entry?.add(to: &found)
                    entry = Entry(line: index + 1)
                } else if line.equals("data:") {
                    isAtValue = true
                } else if line.startsWith("class: "), let text = line.text {
                    entry?.itemClass = String(text.dropFirst("class: ".count))
                } else if line.startsWith("    ") {
                    try entry?.read(line, index + 1)
                } else if line.startsWith("version: ") || line.equals("attributes:") || line.isEmpty
                {
                    continue
                } else {
                    // The line may be a secret: it is not shown.
                    throw .malformed("the dump", line: index + 1, "an unknown line")
                }
            }
            try entry?.add(to: &found)
            guard entry != nil else {
                throw CLIError(
                    .damaged, "this is not the output of 'security dump-keychain -d'")
            }
        }
        return found
    }

    private struct Entry {
        let line: Int
        var itemClass = ""
        var attributes: ItemAttributes = [:]
        var value: SecretValue?

        init(line: Int) { self.line = line }

        /// Reads the line of an attribute; ignores those that are not kept.
        mutating func read(_ line: Span<UInt8>, _ number: Int) throws(CLIError) {
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")),
                let head = line.extracting(4..<max(4, equals)).text
            else { return }
            let code = String(head.prefix { $0 != " " && $0 != "<" })
            guard let attribute = KeychainDump.attributes[code] else { return }
            let rest = line.extracting((equals + 1)..<line.count)
            guard !rest.equals("<NULL>") else { return }
            if head.hasSuffix("<uint32>") {
                guard let number = KeychainDump.number(rest) else {
                    throw .malformed("the dump", line: number, "an attribute has no number")
                }
                attributes[attribute] = number
            } else {
                let value = try KeychainDump.value(rest, number)
                attributes[attribute] = value.withBytes { bytes in
                    bytes.text.map(AttributeValue.text)
                        ?? .bytes(bytes.indices.map { bytes[$0] })
                }
            }
        }

        func add(to found: inout ImportedItems) throws(CLIError) {
            var name = "line \(line)"
            if case .text(let label)? = attributes[.label] { name = "\(label) (\(name))" }
            let known: ItemClass? =
                switch itemClass {
                case "\"genp\"": .genericPassword
                case "\"inet\"": .internetPassword
                default: nil
                }
            guard let known else { return found.skip(name, "it is not a password") }
            guard let value else { return found.skip(name, "the dump has no value for it") }
            var kept = attributes.filter { $0.key.exists(in: known) }
            let primary: [Attribute] =
                known == .genericPassword
                ? [.account, .service]
                : [
                    .account, .securityDomain, .server, .protocol, .authenticationType, .port,
                    .path,
                ]
            for attribute in primary where kept[attribute] == nil {
                kept[attribute] = attribute.defaultValue
            }
            try found.add(
                KeychainDump.ofHelper(kept, value, name)
                    ?? ImportedItem(known, kept.canonical, value, from: name))
        }
    }

    /// The item of docker's helper or of Git Credential Manager, as the helpers here name it; nil
    /// for other items.
    private static func ofHelper(
        _ attributes: ItemAttributes, _ value: SecretValue, _ name: String
    ) -> ImportedItem? {
        let account = attributes[.account]?.asText ?? ""
        if let service = attributes[.service]?.asText {
            return ImportedItem(gitService: service, account: account, value, from: name)
        }
        guard attributes[.label]?.asText == "Docker Credentials",
            let place = LoginPlace(attributes), let path = place.path
        else { return nil }
        let slash = path.isEmpty || path.hasPrefix("/") ? "" : "/"
        return ImportedItem(
            dockerAt: "\(place.scheme)://\(place.host)\(slash)\(path)", account: account, value,
            from: name)
    }

    /// A number: hexadecimal digits, or a code of four characters.
    private static func number(_ text: Span<UInt8>) -> AttributeValue? {
        guard let text = text.text else { return nil }
        if text.hasPrefix("0x") {
            return Int64(text.dropFirst(2).prefix { $0 != " " }, radix: 16).map { .number($0) }
        }
        guard text.count == 6, text.hasPrefix("\""), text.hasSuffix("\"") else { return nil }
        return .text(String(text.dropFirst().dropLast()))
    }

    /// Bytes: hexadecimal digits, or text in quotation marks, or nothing.
    private static func value(_ text: Span<UInt8>, _ line: Int) throws(CLIError) -> SecretValue {
        var bytes = SecretText(capacity: 64)
        if text.startsWith("0x") {
            var index = 2
            while index < text.count, text[index] != UInt8(ascii: " ") {
                guard let high = text[index].hexadecimalValue, index + 1 < text.count,
                    let low = text[index + 1].hexadecimalValue
                else { throw .malformed("the dump", line: line, "wrong hexadecimal digits") }
                bytes.append(high << 4 | low)
                index += 2
            }
        } else if text.count >= 2, text[0] == UInt8(ascii: "\""),
            text[text.count - 1] == UInt8(ascii: "\"")
        {
            bytes.append(text.extracting(1..<(text.count - 1)))
        } else if !text.isEmpty {
            throw .malformed("the dump", line: line, "a value without quotation marks")
        }
        return bytes.value()
    }
}

extension Span<UInt8> {
    /// Whether these bytes begin with those of `text`.
    func startsWith(_ text: String) -> Bool {
        count >= text.utf8.count && extracting(0..<text.utf8.count).equals(text)
    }
}
