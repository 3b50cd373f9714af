// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

/// The name of a field of a secret, as command lines and imports write it.
///
/// Some names are standard, and have synonyms: `login` is `username`. Some of these are attributes
/// of the item where it has them: the user name of a login is its account.
package struct FieldName: Hashable, Sendable {
    package let text: String

    package static let username = FieldName(text: "username")
    package static let url = FieldName(text: "url")
    package static let note = FieldName(text: "note")
    package static let otp = FieldName(text: "otp")
    static let label = FieldName(text: "label")
    private static let password = "password"

    private static let standard: Set<String> = [
        username.text, url.text, note.text, otp.text, label.text, password,
    ]
    private static let synonyms: [String: FieldName] = [
        "user": username, "user name": username, "user_name": username, "login": username,
        "account": username, "uri": url, "website": url, "notes": note, "comment": note,
        "comments": note, "totp": otp, "otpauth": otp, "2fa": otp, "title": label,
    ]

    static let option = OptionDeclaration(
        name: "field", valueName: "NAME",
        help: "this field of the secret, not its value: username, url, note, otp, or any other")

    static let discussion =
        "A secret may have fields beside its value: imports keep the user name, addresses, notes "
        + "and the key of one-time codes of an entry so, and 'valet set KEY --field NAME' adds "
        + "others. 'valet show' lists them. Of a login, 'username' and 'url' are its account and "
        + "its server."

    private init(text: String) { self.text = text }

    /// The name that `text` stands for. Standard names and their synonyms are the same in capitals.
    ///
    /// - Throws: ``ExitCode/usage`` for a name that no field can have.
    package init(_ text: String) throws(CLIError) {
        let lowercase = text.lowercased()
        if let known = Self.synonyms[lowercase] {
            self = known
        } else if Self.standard.contains(lowercase) {
            self.text = lowercase
        } else {
            guard EntryField.isName(text) else {
                throw .usage(
                    "\(quoted(text)) cannot be the name of a field",
                    hint: "a name has from 1 to \(EntryField.maximalNameByteCount) bytes, and no "
                        + "control characters")
            }
            self.text = text
        }
    }

    /// The field that `--field` names; nil for the value itself.
    static func given(_ values: ParsedValues) throws(CLIError) -> FieldName? {
        guard let text = values[option] else { return nil }
        let name = try FieldName(text)
        return name.text == password ? nil : name
    }

    /// Whether `show` writes a new field of this name, unless somebody says otherwise.
    package var isPublic: Bool { [Self.username, .url, .label].contains(self) }
}

extension StoredItem {
    /// What the item has under a name: a field, or the attribute that stands for it; nil for
    /// nothing.
    ///
    /// - Parameter fields: The fields, which are read with the value.
    func field(_ name: FieldName, among fields: EntryFields) -> SecretValue? {
        if let field = fields.field(name) { return field.value }
        return attribute(name).map { SecretValue(copying: Array($0.utf8).span) }
    }

    private func attribute(_ name: FieldName) -> String? {
        let text: String? =
            switch name {
            case .username where !owner.isValet: attributes[.account]?.asText
            case .url: LoginPlace(attributes)?.url
            case .note: attributes[.comment]?.asText
            case .label: attributes[.label]?.asText
            default: nil
            }
        return text?.isEmpty == true ? nil : text
    }

    /// The names under which the item has something, for messages.
    func fieldNames(with fields: EntryFields) -> [String] {
        let standard: [FieldName] = [.username, .url, .note, .label]
        let attributes = standard.filter { fields[$0.text] == nil && attribute($0) != nil }
        return attributes.map(\.text) + fields.list.map(\.name)
    }
}

extension EntryFields {
    /// The field of that name, or else the only one whose name differs in capitals alone.
    func field(_ name: FieldName) -> EntryField? {
        if let exact = self[name.text] { return exact }
        let similar = list.filter { $0.name.lowercased() == name.text.lowercased() }
        return similar.count == 1 ? similar[0] : nil
    }
}

extension LoginPlace {
    /// The place as a URL.
    var url: String {
        let name = server.utf8.contains(UInt8(ascii: ":")) ? "[\(server)]" : server
        let path = path.flatMap { $0.isEmpty ? nil : "/" + $0 } ?? ""
        return "\(scheme)://\(name)\(port == 0 ? "" : ":\(port)")\(path)"
    }
}
