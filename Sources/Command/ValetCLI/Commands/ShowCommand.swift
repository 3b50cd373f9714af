// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
internal import ValetSealing

/// `valet show KEY`.
enum ShowCommand {
    static let declaration = CommandDeclaration(
        name: "show", abstract: "show what is stored beside a secret, not its value",
        synonyms: ["info", "describe"],
        discussion: [
            "Writes one line for each attribute: the name, the application, the valet, service or "
                + "server, when the secret can be read, its size, its dates, and what the program "
                + "that stored it has added, as a label or a comment. Fields that are not secret "
                + "are written as well, and the names of those that are.",
            FieldName.discussion, ItemOptions.placeDiscussion, ItemOptions.passwordDiscussion,
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key], options: ItemOptions.ofOneSecret,
        schema: fields.map { ($0.member, $0.help) } + [
            ("fields", "an array of objects, the fields of the secret:"), ("  name", "its name"),
            ("  secret", "whether it is secret"), ("  byteCount", "its size"),
            ("  value", "the field as text; null if it is secret or no text"),
        ],
        exitCodes: [(.notFound, ExitCode.notFound.explanation)],
        examples: [
            ("valet show github-token", "Its accessibility, size and dates."),
            ("valet show --app Mailer --server mail.example.com", "Of an internet password."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let item = try ItemOptions.selection(values).existing(context).whole()
        let writesJSON = values.has(ItemOptions.json)
        let report = StatusReport(
            fields: fields.map { .init($0.member, $0.title, $0.value(item)) }
                + (writesJSON ? [json(item.fields)] : lines(item.fields)))
        try report.write(to: context.console, asJSON: writesJSON)
        if !writesJSON, context.console.isErrorTerminal {
            context.console.hint(
                "'valet get' writes the value"
                    + (item.fields.isEmpty ? "" : ", 'valet get --field NAME' a field"))
        }
        return .success
    }

    private static func json(_ fields: EntryFields) -> StatusReport.Field {
        let objects = fields.list.map { field in
            JSON.object([
                "name": .string(field.name), "secret": .flag(field.isSecret),
                "byteCount": .number(field.value.byteCount),
                "value": .text(field.isSecret ? nil : field.value.publicText),
            ])
        }
        return StatusReport.Field("fields", nil, .array(objects))
    }

    /// A line for each field that is not secret, and one with the names of the others.
    private static func lines(_ fields: EntryFields) -> [StatusReport.Field] {
        let lines = fields.list.filter { !$0.isSecret }.map { field in
            StatusReport.Field(
                "", Escaping.printable(field.name),
                .string(field.value.publicText ?? "\(field.value.byteCount) bytes, no text"))
        }
        let names = fields.list.filter(\.isSecret).map { Escaping.printable($0.name) }
        let secrets = StatusReport.Field(
            "", names.isEmpty ? nil : "Secret fields", .string(names.joined(separator: ", ")))
        return lines + [secrets]
    }

    /// One attribute of an item.
    private struct Field: Sendable {
        let member: String
        /// nil for a fact that only JSON has.
        let title: String?
        let help: String
        let value: @Sendable (StoredItem) -> JSON

        init(
            _ member: String, _ title: String?, _ help: String,
            _ value: @escaping @Sendable (StoredItem) -> JSON
        ) {
            (self.member, self.title, self.help, self.value) = (member, title, help, value)
        }

        /// An attribute as text, or null.
        init(_ member: String, _ title: String, _ help: String, _ attribute: Attribute) {
            self.init(member, title, help) { item in
                guard let value = item.attributes[attribute] else { return .null }
                return .string(ListedItem.text(value))
            }
        }
    }

    private static let fields: [Field] = [
        Field("name", "Name", "the key, or the account") { .string($0.name) },
        Field("application", "Application", "the application, or the group that shares the item") {
            .string($0.accessGroup.rawValue)
        },
        Field("kind", "Kind", ItemOwner.Kind.allCases.map(\.rawValue).joined(separator: ", ")) {
            .string($0.owner.kind.rawValue)
        },
        Field("owner", "Owner", "the valet's identifier, the service or server") {
            .string($0.owner.name)
        },
        Field("protocol", "Protocol", "of an internet password, as https; else null") { item in
            guard let code = item.attributes[.protocol], code != .number(0) else { return .null }
            return .string(NetworkProtocol.name(ListedItem.text(code)))
        },
        Field("port", "Port", "of an internet password; else null") { item in
            guard case .number(let port) = item.attributes[.port], port != 0 else { return .null }
            return .number(port)
        },
        Field("path", "Path", "of an internet password; else null", .path),
        Field("authentication", nil, "of an internet password, as dflt or form; else null") {
            .textIfAny(LoginDetails($0.attributes).kind)
        },
        Field("realm", "Realm", "the security domain of an internet password; else null") {
            .textIfAny(LoginDetails($0.attributes).realm)
        },
        Field("accessibility", "Accessibility", "when the value can be read") {
            .string($0.protectionClass.word)
        },
        Field("requires", "Requires", "what reading requires, as user-presence; null if nothing") {
            .text($0.accessControl?.requirement)
        },
        Field("cloud", "Cloud", "whether the devices of a circle share the item") {
            .flag($0.isSynchronizable)
        },
        Field("byteCount", "Size", "the size of the value in bytes; null without a value") {
            .number($0.valueByteCount)
        },
        Field("label", "Label", "the label, or null", .label),
        Field("description", "Description", "the kind of item, or null", .itemDescription),
        Field("comment", "Comment", "the comment, or null", .comment),
        Field("created", "Created", "ISO 8601, as 2001-01-01T00:00:00Z", .creationDate),
        Field("modified", "Modified", "ISO 8601", .modificationDate),
        Field("id", nil, "the item's id, for --item") {
            .string(Hexadecimal.text($0.reference.itemID))
        },
    ]
}
