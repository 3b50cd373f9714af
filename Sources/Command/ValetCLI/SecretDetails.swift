// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing

/// What a command line sets beside the value of a secret.
struct SecretDetails {
    private(set) var attributes: ItemAttributes = [:]
    private(set) var fields: [FieldChange] = []

    /// Nothing.
    init() {}

    /// - Throws: ``ExitCode/usage`` for an empty text.
    init(note: String?, username: String?, url: String?) throws(CLIError) {
        if let note { attributes[.comment] = .text(note) }
        for (name, text) in [(FieldName.username, username), (.url, url)] {
            guard let text else { continue }
            guard !text.isEmpty else {
                throw .usage(
                    "the field \(quoted(name.text)) is empty",
                    hint: "'valet remove KEY --field \(name.text)' removes a field")
            }
            let value = SecretValue(copying: Array(text.utf8).span)
            guard let field = EntryField(name.text, isSecret: false, value) else { continue }
            fields.append(.set(field))
        }
    }
}
