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
        + "Percent signs encode other characters, as in URLs. '?accessibility=CLASS', '&cloud' and "
        + "'&group=PREFIX.GROUP' may follow, or, in place of ID and KEY, 'service=', 'server=', "
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
            [ItemOptions.accessibility, ItemOptions.cloud, ItemOptions.group]
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
    func parts(of template: SecretValue) throws(CLIError) -> [SecretValue] {
        let (texts, references) = template.withBytes(TemplateParts.read)
        var parts: [SecretValue] = []
        for (index, range) in texts.enumerated() {
            if !range.isEmpty {
                parts.append(
                    template.withBytes { SecretValue(copying: $0.extracting(range)) })
            }
            if index < references.count { parts.append(try value(of: references[index])) }
        }
        return parts
    }
}

/// Finds references in templates.
enum TemplateParts {
    /// The ranges of the text around references, and the references: one less than ranges.
    static func read(_ bytes: Span<UInt8>) -> (texts: [Range<Int>], references: [String]) {
        var (texts, references, start, position) = ([Range<Int>](), [String](), 0, 0)
        while position + 1 < bytes.count {
            guard isPair(UInt8(ascii: "{"), bytes, position),
                let (reference, end) = reference(bytes, from: position + 2)
            else {
                position += 1
                continue
            }
            texts.append(start..<position)
            references.append(reference)
            (start, position) = (end, end)
        }
        return (texts + [start..<bytes.count], references)
    }

    /// The reference that begins at `start`, and the position after its braces; nil for other text.
    private static func reference(_ bytes: Span<UInt8>, from start: Int) -> (String, Int)? {
        var text: [UInt8] = []
        var position = start
        while position + 1 < bytes.count, bytes[position] != UInt8(ascii: "\n") {
            if isPair(UInt8(ascii: "}"), bytes, position) {
                let blanks: Set<UInt8> = [0x20, 0x09]
                let inside = text.drop { blanks.contains($0) }
                    .reversed().drop { blanks.contains($0) }.reversed()
                guard let word = String(utf8: Array(inside)),
                    word.hasPrefix(SecretReference.scheme)
                else { return nil }
                return (word, position + 2)
            }
            text.append(bytes[position])
            position += 1
        }
        return nil
    }

    private static func isPair(_ byte: UInt8, _ bytes: Span<UInt8>, _ position: Int) -> Bool {
        bytes[position] == byte && bytes[position + 1] == byte
    }
}
