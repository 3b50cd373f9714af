// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// `valet export --to secret-service`: copies the items that programs keep in `valet serve` to the
/// Secret Service that runs in its place. Stores nothing if any item is in conflict, and compares
/// each item that it has stored. After an export that ended early, the next one finds the items
/// already stored unchanged.
struct KeyringExport: ~Copyable {
    private let values: ParsedValues
    private let context: Context
    private let logins: Logins
    private let keyring: Keyring
    /// The object path of the service's default collection.
    private let collection: String

    private struct Step {
        let item: StoredItem
        let label: String
        let lookup: [LookupName: String]
        var action: ImportVerb.Action
        /// The object path of the keyring's item with these attributes; nil for a new item.
        var path: String?
    }

    /// The limit is long because GNOME Keyring writes its whole file for each item.
    private static let time = Duration.seconds(3600)

    init(_ given: ParsedValues, _ context: Context) throws(CLIError) {
        if given.isGiven(ExportHelp.format) {
            throw .usage("'--to' and '--format' exclude each other")
        }
        guard !given.has(ExportHelp.replace) || !given.has(ExportHelp.skipExisting) else {
            throw .usage("'--replace' and '--skip-existing' exclude each other")
        }
        let values = try DesktopItems.values(given, of: ExportHelp.to)
        let logins = try Logins(values, context)
        guard try !Keyring.isValet() else {
            throw CLIError(
                .failure, "the service that runs is 'valet serve' itself",
                hint: "end it, and start the other keyring")
        }
        let keyring = try Keyring(for: Self.time)
        let answer = try keyring.call(
            "ReadAlias", of: Keyring.names.service, at: Keyring.root, [("s", "default")])
        guard let collection = answer?.text("o"), collection != "/" else {
            throw CLIError(
                .failure, "the service has no collection that programs use by default",
                hint: "make one, for example in Passwords and Keys")
        }
        guard try !keyring.isLocked(collection) else {
            throw CLIError(
                .locked, "the keyring is locked: \(try keyring.name(of: collection))",
                hint: "unlock it, for example in Passwords and Keys")
        }
        self.values = values
        self.context = context
        self.logins = logins
        self.keyring = keyring
        self.collection = collection
    }

    func run() throws(CLIError) -> ExitCode {
        var damage: KeychainFailure?
        let found = try logins.found(.genericPassword, [:]).readable(noting: &damage)
        let steps = try plan(found.newestFirst)
        // The item of the keyring may be that of a damaged item here.
        guard damage == nil || !steps.contains(where: { $0.action == .replace }) else {
            throw CLIError(
                .damaged, "items are damaged: nothing was exported",
                hint: "'valet doctor' lists them; without '--replace' the others are exported")
        }
        let conflictCount = steps.count { $0.action == .conflict }
        let isDryRun = values.has(ExportHelp.dryRun)
        let isDone = !isDryRun && conflictCount == 0
        context.console.noteFieldsLeft(in: steps.map(\.item), "a keyring has none")
        if isDone { try store(steps) }
        try context.console.report(ofEffect: isDone) { () throws(CLIError) in
            try show(steps, isDone: isDone)
        }
        if conflictCount > 0, !isDryRun {
            throw CLIError(
                .alreadyThere,
                "items exist already with another value (\(conflictCount)): nothing was changed",
                hint: "choose '--replace' or '--skip-existing'")
        }
        guard damage == nil else {
            throw CLIError(
                .damaged, "damaged items were left out", hint: "'valet doctor' lists them")
        }
        return .success
    }

    private func plan(_ items: [StoredItem]) throws(CLIError) -> [Step] {
        var steps: [Step] = []
        for item in items {
            guard let service = item.text(.service),
                DesktopItem.collection(ofService: service) != nil
            else { continue }
            steps.append(
                Step(
                    item: item, label: item.text(.label) ?? "",
                    lookup: DesktopItem.lookup(item.attributes), action: .add))
        }
        // Each item of the keyring matches at most one item here, one with the same value if there
        // is one.
        var taken: Set<String> = []
        for isForSame in [true, false] {
            for index in steps.indices where steps[index].path == nil {
                for path in try paths(like: steps[index]) where !taken.contains(path) {
                    if isForSame {
                        guard try isStored(steps[index], at: path) else { continue }
                    }
                    steps[index].action = isForSame ? .same : conflictAction
                    steps[index].path = path
                    taken.insert(path)
                    break
                }
            }
        }
        return steps
    }

    /// The keyring's items with exactly the attributes of an item.
    private func paths(like step: Step) throws(CLIError) -> [String] {
        let wanted = step.lookup.withoutGeneralSchema
        let answer = try keyring.call(
            "SearchItems", of: Keyring.names.collection, at: collection
        ) { $0.write(wanted.pairs) }
        guard let found = answer?.texts("o", atMost: ImportedItems.maximumCount) else {
            throw CLIError(.failure, "the service does not search its items")
        }
        var paths: [String] = []
        for path in found {
            guard let entry = try keyring.entry(path), entry.lookup.areSameItem(as: wanted) else {
                continue
            }
            paths.append(path)
        }
        return paths
    }

    private var conflictAction: ImportVerb.Action {
        if values.has(ExportHelp.replace) { return .replace }
        return values.has(ExportHelp.skipExisting) ? .keep : .conflict
    }

    private func value(of step: Step) throws(CLIError) -> SecretValue {
        if let value = try logins.value(of: step.item) { return value }
        guard step.item.valueByteCount == nil else {
            throw CLIError(
                .notFound, "\(quoted(step.label)) was removed during the export",
                hint: "export again")
        }
        return SecretValue(SecretBytes(byteCount: 0))
    }

    private func isStored(_ step: Step, at path: String) throws(CLIError) -> Bool {
        guard let secret = try keyring.secret(of: path) else { return false }
        return secret.value.isEqual(to: try value(of: step))
    }

    private func store(_ steps: [Step]) throws(CLIError) {
        let chosen = steps.filter { $0.action == .add || $0.action == .replace }
        let line = ProgressLine("storing", on: context.console)
        defer { line.end() }
        for (index, step) in chosen.enumerated() {
            line.show(index, of: chosen.count)
            do {
                try store(step)
            } catch {
                throw error.after(storing: index, of: chosen.count, again: "export")
            }
        }
    }

    private func store(_ step: Step) throws(CLIError) {
        let value = try value(of: step)
        let type = step.item.text(.generic) ?? DesktopItem.usualContentType
        var path = step.path
        if let path {
            _ = try keyring.call("SetSecret", of: Keyring.names.item, at: path) { call in
                write(value, type, to: call)
            }
            _ = try keyring.call("Set", of: Keyring.properties, at: path) { call in
                call.write(Keyring.names.item)
                call.write("Label")
                call.write(variant: "s") { call.write(step.label) }
            }
        } else {
            let answer = try keyring.call(
                "CreateItem", of: Keyring.names.collection, at: collection
            ) { call in
                call.write("a", of: "{sv}") {
                    write("Label", "s", to: call) { call.write(step.label) }
                    write("Attributes", "a{ss}", to: call) { call.write(step.lookup.pairs) }
                }
                write(value, type, to: call)
                call.write(false)
            }
            path = answer?.text("o")
        }
        guard let path, try isStored(step, at: path) else {
            throw CLIError(
                .failure, "the service has not stored \(quoted(step.label))")
        }
    }

    private func write(
        _ property: String, _ type: String, to call: borrowing BusMessage, _ body: () -> Void
    ) {
        call.write("e", of: "sv") {
            call.write(Keyring.names.item + "." + property)
            call.write(variant: type, body)
        }
    }

    private func write(_ value: SecretValue, _ type: String, to call: borrowing BusMessage) {
        call.setSensitive()
        call.write("r", of: "oayays") {
            call.write(keyring.session, as: "o")
            call.write([UInt8]().span)
            value.withBytes { call.write($0) }
            call.write(type)
        }
    }

    /// - Parameter isDone: Whether the items are stored. Otherwise shows what would become of them.
    private func show(_ steps: [Step], isDone: Bool) throws(CLIError) {
        let isDryRun = values.has(ExportHelp.dryRun)
        func count(_ action: ImportVerb.Action) -> Int { steps.count { $0.action == action } }
        if values.has(ItemOptions.json) {
            let isChange = isDone || isDryRun
            return try context.console.write(
                JSON.object([
                    "added": .number(isChange ? count(.add) : 0),
                    "replaced": .number(isChange ? count(.replace) : 0),
                    "kept": .number(count(.keep)), "same": .number(count(.same)),
                    "conflicts": .number(count(.conflict)), "dryRun": .flag(isDryRun),
                ]))
        }
        var text = ""
        for step in steps {
            text += "\(step.action.rawValue)  \(Escaping.printable(step.label))\n"
        }
        try context.console.write(text)
        let list = ImportVerb.countNames.filter { count($0.action) > 0 }
            .map { "\(count($0.action)) \($0.name)" }.joined(separator: ", ")
        let verb = isDone ? "export" : "would export"
        context.console.note("valet: \(verb): \(list.isEmpty ? "nothing found" : list)")
    }
}
