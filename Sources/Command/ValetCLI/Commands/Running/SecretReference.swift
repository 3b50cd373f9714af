// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing

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
        + "'service=', 'server=', 'account=', 'port=', 'protocol=', 'label=', 'item=' and "
        + "'keychain-swift'. 'valet:KEY' is a secret of the default valet, or if none is called "
        + "so, the password with that label, host or service. '#NAME' at the end of a reference "
        + "with 'valet:' is a field of the secret."

    let selection: ItemSelection
    /// nil for the value.
    let field: FieldName?

    /// Reads a reference.
    ///
    /// - Parameter defaults: The options that choose the valet of a reference that is a key alone.
    init(_ text: String, _ defaults: ParsedValues = ParsedValues()) throws(CLIError) {
        var (values, address) = (ParsedValues(), Substring(text))
        var fragment: String?
        if text.hasPrefix(Self.scheme), let sign = text.utf8.lastIndex(of: UInt8(ascii: "#")) {
            guard let name = Self.decoded(text[text.utf8.index(after: sign)...]), !name.isEmpty
            else { throw Self.malformed(text) }
            (fragment, address) = (name, text[..<sign])
        }
        guard !text.hasPrefix("op://") else {
            throw .usage(
                "\(quoted(text)) is a reference of another tool",
                hint: "here VAULT, ITEM and FIELD are ID, KEY and NAME of valet://APP/ID/KEY#NAME")
        }
        if text.hasPrefix("valet://") {
            try Self.read(address.dropFirst("valet://".count), of: text, &values)
        } else {
            values = defaults
            let isShort = text.hasPrefix(Self.scheme)
            if isShort { values = ParsedValues() }
            values.arguments = ["KEY": String(isShort ? address.dropFirst(6) : address)]
            if values.arguments["KEY"]?.isEmpty == true { throw Self.malformed(text) }
        }
        selection = try ItemOptions.selection(values)
        values.options[FieldName.option.name] = fragment
        field = try FieldName.given(values)
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

    /// Whether ``scheme`` is at a position of a text.
    static func hasScheme(_ bytes: Span<UInt8>, at position: Int) -> Bool {
        let length = scheme.utf8.count
        guard position < bytes.count, bytes[position] == UInt8(ascii: "v"),
            length <= bytes.count - position
        else { return false }
        return zip(scheme.utf8, position..<position + length).allSatisfy { $0 == bytes[$1] }
    }

    /// The text with its percent-encoding decoded; nil if that is malformed, or if the result has a
    /// null byte.
    private static func decoded(_ text: Substring) -> String? {
        let text = SecretValue(copying: Array(text.utf8).span).percentDecoded?.publicText
        return text?.utf8.contains(0) == true ? nil : text
    }
}

/// Resolves references. Keeps the keychain of each application open until its end.
final class ReferenceResolver {
    private let context: Context
    private let defaults: ParsedValues
    private var keychains: [Requester: CommandKeychain] = [:]

    /// - Parameter defaults: The options that choose the valet of a reference that is a key alone.
    init(_ context: Context, _ defaults: ParsedValues = ParsedValues()) {
        self.context = context
        self.defaults = defaults
    }

    /// The value that a reference names.
    func value(of reference: String) throws(CLIError) -> SecretValue {
        let named = try SecretReference(reference, defaults)
        let keychain = try keychain(for: named.selection.scope.requester)
        return try named.selection.target(in: keychain).orLogin().value(of: named.field)
    }

    /// The keychain as `requester` sees it.
    func keychain(for requester: Requester) throws(CLIError) -> CommandKeychain {
        if let keychain = keychains[requester] { return keychain }
        let keychain = try context.keychain(for: requester)
        keychains[requester] = keychain
        return keychain
    }

    /// `template` with a secret in place of each `{{ valet:… }}`.
    ///
    /// - Parameter place: The place that errors name; if nil, they name the line and the column in
    ///   the template.
    func fill(_ template: SecretValue, at place: String? = nil) throws(CLIError) -> FilledText {
        let found = template.withBytes(TemplateReferences.init)
        func located(_ offset: Int) -> String {
            place ?? template.withBytes { TemplateReferences.place(of: offset, in: $0) }
        }
        for suspect in found.suspects {
            context.console.note(
                "valet: warning: \(located(suspect)): this looks like a reference, but stays as it "
                    + "is: write '{{ REF }}'")
        }
        if let flaw = found.flaw {
            throw CLIError.usage(
                "a reference is not closed", hint: "write '{{ REF }}' on one line"
            ).at(located(flaw))
        }
        var (parts, secrets): ([SecretValue], [SecretValue]) = ([], [])
        for (index, range) in found.texts.enumerated() {
            parts.append(template.withBytes { SecretValue(copying: $0.extracting(range)) })
            guard index < found.references.count else { break }
            let reference = found.references[index]
            do {
                secrets.append(try value(of: reference.text))
            } catch {
                throw error.at(located(reference.position))
            }
            parts.append(secrets[index])
        }
        var joined = SecretBytes(byteCount: parts.reduce(0) { $0 + $1.byteCount })
        var position = 0
        for part in parts {
            part.withBytes { joined.write($0, at: position) }
            position += part.byteCount
        }
        return FilledText(value: SecretValue(joined), secrets: secrets)
    }

    /// The value of a variable: the secret, if `text` is a reference as a whole, else `text` with
    /// its references filled.
    func resolve(_ text: SecretValue, at place: String) throws(CLIError) -> FilledText {
        guard text.withBytes({ SecretReference.hasScheme($0, at: 0) }) else {
            return try fill(text, at: place)
        }
        guard let reference = text.publicText else {
            throw CLIError.usage("a reference is not UTF-8").at(place)
        }
        do {
            let value = try value(of: reference)
            return FilledText(value: value, secrets: [value])
        } catch {
            throw error.at(place)
        }
    }
}

/// A text with secrets in place of its references.
struct FilledText {
    let value: SecretValue
    let secrets: [SecretValue]
}
