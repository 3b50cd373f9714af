// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSecretMemory

/// A text that names a secret: `valet://APP/ID/KEY`. `run`, `inject` and `read` resolve it.
struct SecretReference: Hashable, Sendable {
    static let scheme = "valet:"
    private static let form = "valet://APP/ID/KEY, valet:KEY or KEY"

    /// Help on references, for verbs that take them.
    static let discussion =
        "REF is 'valet://APP/ID/KEY': the application, the identifier of its valet, and the key. "
        + "An empty APP is this command, an empty ID is 'default', and KEY may contain slashes. "
        + "Percent signs encode other characters, as in URLs. '?accessibility=CLASS', '&cloud', "
        + "'&local' and '&group=PREFIX.GROUP' may follow, or, in place of ID and KEY, "
        + "'service=', 'server=', "
        + "'account=', 'port=', 'protocol=', 'label=' and 'keychain-swift'. 'valet:KEY' is a "
        + "secret of the default valet."

    let selection: ItemSelection

    /// Reads a reference.
    ///
    /// - Parameter defaults: The options that choose the valet of a reference that is a key alone.
    init(_ text: String, _ defaults: ParsedValues = ParsedValues()) throws(CLIError) {
        var values = ParsedValues()
        if text.hasPrefix("valet://") {
            try Self.read(text.dropFirst("valet://".count), of: text, &values)
        } else {
            values = defaults
            let isShort = text.hasPrefix(Self.scheme)
            if isShort { values = ParsedValues() }
            values.arguments = ["KEY": isShort ? String(text.dropFirst(6)) : text]
            if values.arguments["KEY"]?.isEmpty == true { throw Self.malformed(text) }
        }
        selection = try ItemOptions.selection(values)
    }

    private static func read(
        _ rest: Substring, of text: String, _ values: inout ParsedValues
    ) throws(CLIError) {
        let halves = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = halves[0].split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
            .map(decoded)
        guard !parts.contains(nil) else { throw malformed(text) }
        let words = parts.compactMap(\.self)
        if let application = words.first, !application.isEmpty {
            values.options[ItemOptions.application.name] = application
        }
        if words.count > 1, !words[1].isEmpty {
            values.options[ItemOptions.identifier.name] = words[1]
        }
        if words.count > 2, !words[2].isEmpty { values.arguments["KEY"] = words[2] }
        if halves.count > 1 { try readQuery(halves[1], of: text, &values) }
        let names = PasswordOptions.naming.contains(where: values.isGiven)
        guard names || values.arguments["KEY"] != nil else { throw malformed(text) }
    }

    private static func readQuery(
        _ query: Substring, of text: String, _ values: inout ParsedValues
    ) throws(CLIError) {
        let options =
            [ItemOptions.accessibility, ItemOptions.cloud, ItemOptions.local, ItemOptions.group]
            + PasswordOptions.all
        for member in query.split(separator: "&", omittingEmptySubsequences: false) {
            let sides = member.split(separator: "=", maxSplits: 1).map(String.init)
            guard let option = options.first(where: { $0.name == sides.first }) else {
                throw malformed(text)
            }
            guard option.valueName != nil else {
                guard sides.count == 1 else { throw malformed(text) }
                values.flags.insert(option.name)
                continue
            }
            guard sides.count == 2, let value = decoded(sides[1][...]), !value.isEmpty,
                option.choices.isEmpty || option.choices.contains(value)
            else { throw malformed(text) }
            values.options[option.name] = value
        }
    }

    private static func malformed(_ text: String) -> CLIError {
        .usage(
            "\(quoted(text)) is not a reference to a secret", hint: "a reference is \(form)")
    }

    /// The text without percent signs; nil if they are malformed.
    private static func decoded(_ text: Substring) -> String? {
        var (bytes, rest) = ([UInt8](), Array(text.utf8)[...])
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard digits.utf8.count == 2, let code = UInt8(digits, radix: 16), code != 0 else {
                return nil
            }
            bytes.append(code)
            rest = rest.dropFirst(2)
        }
        return String(utf8: bytes)
    }
}

/// Resolves references, and keeps the keychain of each application open meanwhile.
final class ReferenceResolver {
    private let context: Context
    private let defaults: ParsedValues
    private var keychains: [Requester: any ItemAccess] = [:]

    /// - Parameter defaults: The options that choose the valet of a reference that is a key alone.
    init(_ context: Context, _ defaults: ParsedValues = ParsedValues()) {
        self.context = context
        self.defaults = defaults
    }

    /// The value that a reference names.
    func value(of reference: String) throws(CLIError) -> SecretValue {
        let selection = try SecretReference(reference, defaults).selection
        let requester = selection.scope.requester
        if let keychain = keychains[requester] {
            return try selection.target(in: keychain).value()
        }
        let keychain = try context.keychain(for: requester)
        keychains[requester] = keychain
        return try selection.target(in: keychain).value()
    }

    /// The parts of `template`, with the value in place of each `{{ valet:… }}`.
    ///
    /// - Parameter place: Where the template is; nil if errors name a line and a column of it.
    func parts(
        of template: SecretValue, at place: String? = nil
    ) throws(CLIError) -> [TemplatePart] {
        let found = template.withBytes(TemplateReferences.init)
        func located(_ error: CLIError, _ offset: Int) -> CLIError {
            error.at(place ?? template.withBytes { TemplateReferences.place(of: offset, in: $0) })
        }
        if let flaw = found.flaw {
            throw located(
                .usage("a reference is not closed", hint: "write '{{ REF }}' on one line"), flaw)
        }
        var parts: [TemplatePart] = []
        for (index, range) in found.texts.enumerated() {
            if !range.isEmpty {
                let text = template.withBytes { SecretValue(copying: $0.extracting(range)) }
                parts.append(TemplatePart(value: text, isSecret: false))
            }
            guard index < found.references.count else { break }
            do throws(CLIError) {
                let value = try value(of: found.references[index])
                parts.append(TemplatePart(value: value, isSecret: true))
            } catch {
                throw located(error, range.upperBound)
            }
        }
        return parts
    }
}

/// A piece of a template: its own text, or the secret in place of a reference.
struct TemplatePart {
    let value: SecretValue
    let isSecret: Bool
}

/// The references in a template. Braces around text that does not begin with `valet:` are text.
struct TemplateReferences {
    /// The ranges of the text around the references: one more than references.
    private(set) var texts: [Range<Int>] = []
    private(set) var references: [String] = []
    /// The position of a reference that has no end on its line, or is not UTF-8.
    private(set) var flaw: Int?

    init(_ bytes: Span<UInt8>) {
        var (start, position) = (0, 0)
        while position + 1 < bytes.count {
            guard Self.isPair(UInt8(ascii: "{"), bytes, position),
                Self.isReference(bytes, position + 2)
            else {
                position += 1
                continue
            }
            guard let (reference, end) = Self.reference(bytes, from: position + 2) else {
                flaw = position
                return
            }
            texts.append(start..<position)
            references.append(reference)
            (start, position) = (end, end)
        }
        texts.append(start..<bytes.count)
    }

    /// The line and the column of a position, both from 1, in words for messages.
    static func place(of offset: Int, in bytes: Span<UInt8>) -> String {
        var (line, column) = (1, 1)
        for index in 0..<offset {
            if bytes[index] == UInt8(ascii: "\n") {
                (line, column) = (line + 1, 1)
            } else if bytes[index] & 0xC0 != 0x80 {
                // The first byte of a character in UTF-8.
                column += 1
            }
        }
        return "line \(line), column \(column)"
    }

    /// Whether a reference begins at `start`, after blanks.
    private static func isReference(_ bytes: Span<UInt8>, _ start: Int) -> Bool {
        var position = start
        while position < bytes.count, isBlank(bytes[position]) { position += 1 }
        let scheme = Array(SecretReference.scheme.utf8)
        guard position + scheme.count <= bytes.count else { return false }
        return scheme.indices.allSatisfy { bytes[position + $0] == scheme[$0] }
    }

    /// The reference that begins at `start`, and the position after its braces; nil if it is not
    /// UTF-8, or has no end on its line.
    private static func reference(_ bytes: Span<UInt8>, from start: Int) -> (String, Int)? {
        var text: [UInt8] = []
        var position = start
        while position + 1 < bytes.count, bytes[position] != UInt8(ascii: "\n") {
            if isPair(UInt8(ascii: "}"), bytes, position) {
                let inside = text.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
                return String(utf8: Array(inside)).map { ($0, position + 2) }
            }
            text.append(bytes[position])
            position += 1
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isPair(_ byte: UInt8, _ bytes: Span<UInt8>, _ position: Int) -> Bool {
        bytes[position] == byte && bytes[position + 1] == byte
    }
}
