// SPDX-License-Identifier: Apache-2.0

// The former values of a secret: `history` lists them, `undo` puts one back.

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

/// `valet history KEY`.
enum HistoryCommand {
    static let discussion =
        "The last three values that a verb of 'valet' has replaced or removed are kept in the "
        + "keychain, encrypted like the present ones; 'valet settings history' changes how many. "
        + "Not kept is what programs replace or remove, or the verbs for git, docker and AWS; "
        + "what is removed while the keychain is locked; and what needs the user's presence. "
        + "'valet remove --purge' removes a secret with its former values."

    static let declaration = CommandDeclaration(
        name: "history", abstract: "list the former values of a secret by date",
        synonyms: ["versions", "log"],
        discussion: [
            "Writes one line for each former value, the last one first: its number, when it was "
                + "set, and its size. Never the value: 'valet get KEY --version N' writes it, "
                + "'valet undo KEY' puts it back.",
            discussion, ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key], options: ItemOptions.ofOneSecret,
        schema: [
            ("name", "the key"), ("versions", "an array of objects, the last value first:"),
            ("  version", "the number for --version"),
            ("  set", "ISO 8601, when the value was stored"),
            ("  byteCount", "the size of the value"),
        ],
        exitCodes: [(.notFound, "no such secret, and no former value of one")],
        examples: [("valet history github-token", "Its former values.")])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let target = try ItemOptions.selection(values).target(context)
        let found = try target.formerItems()
        if found.isEmpty, try !target.exists() {
            throw target.error(KeychainFailure(.itemNotFound, during: "list former values"))
        }
        let lines = found.enumerated().map { (index, item) in
            StatusReport.Field(
                "\(index + 1)", "\(index + 1)", .text(item.setTime),
                item.valueByteCount.map { "\($0) bytes" })
        }
        guard values.has(ItemOptions.json) else {
            if found.isEmpty { context.console.note("valet: \(target.title) has no former values") }
            try StatusReport(fields: lines).write(to: context.console, asJSON: false)
            return .success
        }
        let versions = found.enumerated().map { (index, item) in
            JSON.object([
                "version": .number(index + 1), "set": .text(item.setTime),
                "byteCount": .number(item.valueByteCount),
            ])
        }
        try context.console.write(
            .object(["name": .string(target.name), "versions": .array(versions)]))
        return .success
    }
}

/// `valet undo KEY`.
enum UndoCommand {
    static let declaration = CommandDeclaration(
        name: "undo", abstract: "put a former value of a secret back",
        synonyms: ["revert"],
        discussion: [
            "Gives a secret the value that it had before its last change, or brings a removed one "
                + "back. The value that it had until now becomes a former value, so that a second "
                + "'undo' takes the first one back. --version chooses an older value.",
            HistoryCommand.discussion, ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key], options: ItemOptions.ofOneSecret + [FormerValue.option],
        schema: [
            ("name", "the key"), ("set", "ISO 8601, when the restored value was first stored"),
            ("byteCount", "the size of the restored value"),
        ],
        exitCodes: [(.notFound, "there is no such former value")],
        examples: [
            ("valet undo github-token", "Takes the last change back."),
            ("valet undo github-token --version 2", "The value before that."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let target = try ItemOptions.selection(values).target(context)
        let item = try target.formerItem(FormerValue.number(values) ?? 1)
        try target.putBack(item)
        if values.has(ItemOptions.json) {
            try context.console.write(
                .object([
                    "name": .string(target.name), "set": .text(item.setTime),
                    "byteCount": .number(item.valueByteCount),
                ]))
        } else {
            let time = item.setTime.map { " of \($0)" } ?? ""
            context.console.note("valet: \(target.title) has its value\(time) again")
        }
        return .success
    }
}

/// The option that names a former value.
enum FormerValue {
    static let option = OptionDeclaration(
        name: "version", valueName: "N",
        help: "the value before the last N changes: 1 for the last former value")

    /// The number on the command line; nil if none is given.
    static func number(_ values: ParsedValues) throws(CLIError) -> Int? {
        guard let text = values[option] else { return nil }
        guard let number = Int(text), number > 0 else {
            throw .usage(
                "'\(option.spelling)' does not take \(quoted(text))",
                hint: "it takes a number of 'valet history': 1 for the last former value")
        }
        return number
    }
}

extension ItemTarget {
    /// The former values, the last one first.
    func formerItems() throws(CLIError) -> [StoredItem] {
        let queries =
            switch form {
            case .secret: scope.chosenServices.map { PasswordName(name, in: $0).query }
            case .password(let query): [query]
            }
        var found: [StoredItem] = []
        for query in queries {
            found += try requesting(keychain.attempt(session.formerItems(query)))
        }
        return found.sorted { $0.logicalTime > $1.logicalTime }
    }

    /// - Parameter number: 1 for the last former value.
    /// - Throws: ``ExitCode/notFound``.
    func formerItem(_ number: Int) throws(CLIError) -> StoredItem {
        let found = try formerItems()
        guard number <= found.count else {
            let count = found.isEmpty ? "no former value" : "\(found.count) former values"
            throw CLIError(
                .notFound, "\(title) in \(place) has \(count)",
                hint: found.isEmpty ? nil : "'valet history' lists them")
        }
        return found[number - 1]
    }

    /// - Parameter number: 1 for the last former value.
    func formerValue(_ number: Int) throws(CLIError) -> SecretValue {
        let item = try formerItem(number)
        guard let value = try requesting(keychain.attempt(session.formerValue(item))) else {
            throw CLIError(.notFound, "\(title) in \(place) had no value then")
        }
        return value
    }

    /// Puts a former value back where the secret is now, else where it was.
    fileprivate func putBack(_ item: StoredItem) throws(CLIError) {
        if case .secret = form, let name = try located(),
            item.attributes[.service] != .text(name.service.service)
        {
            // The secret was moved to another accessibility since then, and stays there.
            let value = try requesting(keychain.attempt(session.formerValue(item)))
            if let value { _ = try storeSecret(value, ifAbsent: false) }
        } else {
            try requesting(keychain.attempt(session.restore(item)))
        }
    }

    /// Removes the item and its former values in one step. Returns whether there was an item.
    func purge() throws(CLIError) -> Bool {
        let item = try detailsIfAny()
        let all = try (item.map { [$0] } ?? []) + formerItems()
        guard !all.isEmpty else {
            throw error(KeychainFailure(.itemNotFound, during: "remove the item"))
        }
        try requesting(keychain.attempt(session.purge(all)))
        return item != nil
    }
}

extension StoredItem {
    /// When the value was stored.
    fileprivate var setTime: String? { modificationDate.flatMap(Timestamp.text) }
}
