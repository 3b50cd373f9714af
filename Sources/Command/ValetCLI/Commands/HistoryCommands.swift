// SPDX-License-Identifier: Apache-2.0

// The former values of secrets: `history` lists them, `undo` puts one back.

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

/// `valet history [KEY]`.
enum HistoryCommand {
    static let discussion =
        "The last three values that a verb of 'valet' has replaced or removed are kept in the "
        + "keychain, encrypted like the present ones; 'valet settings history' changes how many. "
        + "Not kept is what programs replace or remove, or the verbs for git, docker and AWS. "
        + "'valet remove --purge' removes a secret with its former values. A secret that moves "
        + "takes along those that can be opened, and the command says how many stay."

    static let declaration = CommandDeclaration(
        name: "history", abstract: "list the former values of a secret, or the removed secrets",
        synonyms: ["versions", "log", "trash"],
        discussion: [
            "Writes one line for each former value, the last one first: its number, when it was "
                + "set, its size, and why it is not the present one: changed, removed, or damaged "
                + "and set aside. Never the value: 'valet get KEY --version N' writes it, 'valet "
                + "undo KEY' puts it back.",
            "Without KEY, lists the removed secrets: when they were removed, their names and "
                + "owners. 'valet undo KEY' or 'valet undo --matching PATTERN' brings them back.",
            discussion, ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.optionalKey], options: ItemOptions.ofOneSecret,
        schema: [
            ("name", "the key"), ("versions", "an array of objects, the last value first:"),
            ("  version", "the number for --version"),
            ("  set", "ISO 8601, when the value was stored; null if it is damaged"),
            ("  kept", "ISO 8601, when it was replaced or removed"),
            ("  reason", "changed, removed or damaged"),
            ("  byteCount", "the size of the value; null if it is damaged"),
            ("removed", "without KEY: an array of objects, the last removed first:"),
            ("  name", "the key"), ("  owner", "the valet's identifier, the service or server"),
            ("  kept", "ISO 8601, when it was removed"),
        ],
        exitCodes: [
            (.notFound, "no such secret, and no former value of one"),
            (.damaged, "without KEY: some removed secrets are damaged; the others were listed"),
        ],
        examples: [
            ("valet history github-token", "Its former values."),
            ("valet history", "What was removed."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        guard RemovedSecrets.isOne(values) else {
            let removed = try RemovedSecrets(values, context).found()
            try list(removed.items, values, context.console)
            if let damage = removed.damage { throw damage }
            return .success
        }
        let target = try ItemOptions.selection(values).existing(context, .withFormerValues)
        let found = try target.history().former
        if found.isEmpty, try !target.exists() {
            throw target.error(KeychainFailure(.itemNotFound, during: "list former values"))
        }
        guard values.has(ItemOptions.json) else {
            if found.isEmpty { context.console.note("valet: \(target.title) has no former values") }
            let lines = found.enumerated().map { (index, former) in
                StatusReport.Field(
                    "\(index + 1)", "\(index + 1)",
                    .text(former.item == nil ? former.keptTime : former.setTime),
                    [former.item?.valueByteCount.map { "\($0) bytes" }, "\(former.reason)"]
                        .compactMap(\.self).joined(separator: ", "))
            }
            try StatusReport(fields: lines).write(to: context.console, asJSON: false)
            return .success
        }
        let versions = found.enumerated().map { (index, former) in
            JSON.object([
                "version": .number(index + 1), "set": .text(former.setTime),
                "kept": .text(former.keptTime), "reason": .string("\(former.reason)"),
                "byteCount": .number(former.item?.valueByteCount),
            ])
        }
        try context.console.write(
            .object(["name": .string(target.name), "versions": .array(versions)]))
        return .success
    }

    private static func list(
        _ removed: [FormerItem], _ values: ParsedValues, _ console: any Console
    ) throws(CLIError) {
        guard !values.has(ItemOptions.json) else {
            let objects = removed.map { former in
                JSON.object([
                    "name": .text(former.item?.name), "owner": .text(former.item?.owner.name),
                    "kept": .text(former.keptTime),
                ])
            }
            return try console.write(.object(["removed": .array(objects)]))
        }
        if removed.isEmpty { console.note("valet: no removed secret is kept here") }
        try console.write(
            removed.map { former in
                let name = Escaping.printable(former.item?.name ?? "-")
                let owner = Escaping.printable(former.item?.owner.name ?? "-")
                return "\(former.keptTime ?? "-")  \(name)  \(owner)\n"
            }.joined())
    }
}

/// `valet undo KEY`.
enum UndoCommand {
    static let declaration = CommandDeclaration(
        name: "undo", abstract: "put a former value of a secret back",
        synonyms: ["revert", "undelete"],
        discussion: [
            "Gives a secret the value that it had before its last change, or brings a removed one "
                + "back. The value that it had until now becomes a former value, so that a second "
                + "'undo' takes the first one back. --version chooses an older value.",
            "--matching brings all removed secrets back whose name fits, in one step: all or none. "
                + "'valet history' lists them.",
            "A value that needs the user's presence or a password is not changed: where a program "
                + "has stored one under the name of a removed secret, the two change places.",
            HistoryCommand.discussion, ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.optionalKey],
        options: ItemOptions.ofOneSecret + [FormerValue.option, MoveOptions.matching],
        schema: [
            ("name", "the key"), ("set", "ISO 8601, when the restored value was first stored"),
            ("byteCount", "the size of the restored value"),
            ("names", "with --matching: the names of the restored secrets"),
        ],
        exitCodes: [
            (.notFound, "there is no such former value"),
            (.damaged, "the former value is damaged"),
            (.denied, "one of the two values requires the user; nothing was changed"),
        ],
        examples: [
            ("valet undo github-token", "Takes the last change back."),
            ("valet undo github-token --version 2", "The value before that."),
            ("valet undo --matching 'old/*'", "Brings removed secrets back."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        if let pattern = values[MoveOptions.matching] {
            try bringBack(NamePattern(pattern, isPart: false), values, context)
            return .success
        }
        let target = try ItemOptions.selection(values).existing(context, .withFormerValues)
        let former = try target.bringBack(FormerValue.number(values) ?? 1)
        if values.has(ItemOptions.json) {
            context.console.afterEffect { () throws(CLIError) in
                try context.console.write(
                    .object([
                        "name": .string(target.name), "set": .text(former.setTime),
                        "byteCount": .number(former.item?.valueByteCount),
                    ]))
            }
        } else {
            let time = former.setTime.map { " of \($0)" } ?? ""
            context.console.note("valet: \(target.title) has its value\(time) again")
        }
        return .success
    }

    private static func bringBack(
        _ pattern: NamePattern, _ values: ParsedValues, _ context: Context
    ) throws(CLIError) {
        guard !RemovedSecrets.isOne(values), !values.isGiven(FormerValue.option) else {
            throw .usage("'--matching' excludes KEY and '--version'")
        }
        let removed = try RemovedSecrets(values, context)
        let found = try removed.found()
        // Its name may fit, or it may be newer than a former value whose name fits.
        if let damage = found.damage { throw damage }
        let chosen = found.items.filter { pattern.matches($0.item?.name ?? "") }
        guard !chosen.isEmpty else {
            throw CLIError(
                .notFound, "no removed secret fits the pattern", hint: "'valet history' lists them")
        }
        let names = chosen.compactMap(\.item?.name).sorted()
        let session = removed.keychain.session
        try requesting(removed.keychain.attempt(session.restore(chosen)))
        guard !values.has(ItemOptions.json) else {
            return context.console.afterEffect { () throws(CLIError) in
                try context.console.write(.object(["names": .array(names.map(JSON.string))]))
            }
        }
        let what = names.count == 1 ? quoted(names[0]) : "\(names.count) secrets"
        context.console.note("valet: brought \(what) back")
    }
}

/// The removed secrets that the options choose, and that nothing has replaced.
private struct RemovedSecrets {
    let keychain: CommandKeychain
    private let queries: [ItemQuery]

    init(_ values: ParsedValues, _ context: Context) throws(CLIError) {
        let scope = try ItemOptions.scope(values)
        queries = try ListCommand.queries(values, scope) ?? []
        keychain = try context.keychain(for: scope.requester)
    }

    /// Whether the command line names one secret.
    static func isOne(_ values: ParsedValues) -> Bool {
        values[ItemOptions.optionalKey] != nil || values.isGiven(ItemOptions.keyDescriptor)
            || PasswordOptions.naming.contains { values.isGiven($0) }
            || values.isGiven(PasswordOptions.account)
    }

    /// The last former value of each name, the last removed first. An error if that of a name is
    /// damaged: then it is not known whose it is, and no older one takes its place.
    ///
    /// - Throws: Also if a present item is damaged: it may have one of the names.
    func found() throws(CLIError) -> (items: [FormerItem], damage: CLIError?) {
        let found = try requesting(
            keychain.attempt(keychain.session.find(queries, former: queries)))
        var known = Set(try requesting(found.items.items).map { SecretPlace($0) })
        var (items, damagedCount) = ([FormerItem](), 0)
        var names: Set<FormerName> = []
        for former in found.former {
            if let name = former.name, !names.insert(name).inserted { continue }
            guard let item = former.item else {
                damagedCount += former.hasItem ? 0 : 1
                continue
            }
            if !ListedItem(item).isCanary, known.insert(SecretPlace(item)).inserted {
                items.append(former)
            }
        }
        guard damagedCount > 0 else { return (items, nil) }
        let what =
            damagedCount == 1 ? "1 removed secret is" : "\(damagedCount) removed secrets are"
        return (
            items,
            CLIError(
                .damaged, "the list is incomplete: \(what) damaged",
                hint: "'valet doctor --purge-damaged' gives up what is damaged")
        )
    }
}

/// The option that names a former value.
enum FormerValue {
    static let option = OptionDeclaration(
        name: "version", valueName: "N",
        help: "the value before the last N changes: 1 for the last former value")

    /// "1 former value", "2 former values".
    static func counted(_ count: Int) -> String {
        count == 1 ? "1 former value" : "\(count) former values"
    }

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
    /// What ``queries`` find, and the former values, all of one moment.
    ///
    /// - Throws: ``ExitCode/usage`` if they are of several passwords.
    func history() throws(CLIError) -> Findings {
        let found = try requesting(
            keychain.attempt(session.find(queries, former: queries)))
        try checkThatOneMatches(found)
        return found
    }

    /// Refuses former values of several passwords, and those of one password beside another one.
    private func checkThatOneMatches(_ found: Findings) throws(CLIError) {
        guard case .password(let search) = form, !found.former.isEmpty else { return }
        let present: [StoredItem]
        do throws(KeychainFailure) {
            present = try search.found(in: found.each).items
        } catch {
            // A damaged item does not hide the former values of the name that the user gives.
            guard search.attributes[.account] != nil else { throw CLIError(error) }
            present = []
        }
        var known: Set<SecretPlace> = []
        let items = (present + found.former.compactMap(\.item)).filter {
            known.insert(SecretPlace($0)).inserted
        }
        let count = max(items.count, Set(found.former.compactMap(\.name)).count)
        guard count > 1 else { return }
        throw choosing(
            among: items, orRemoved: true, .usage("\(count) passwords match, or did"))
    }

    /// - Parameter number: 1 for the last former value.
    /// - Throws: ``ExitCode/notFound``, ``ExitCode/damaged``.
    private func formerItem(_ number: Int, in found: [FormerItem]) throws(CLIError) -> FormerItem {
        guard number <= found.count else {
            let count = found.isEmpty ? "no former value" : "\(found.count) former values"
            throw CLIError(
                .notFound, "\(title) in \(place) has \(count)",
                hint: found.isEmpty ? nil : "'valet history' lists them")
        }
        let former = found[number - 1]
        guard former.item != nil else {
            throw CLIError(
                .damaged, "former value \(number) of \(title) is damaged",
                hint: "'valet history' shows others, for --version")
        }
        return former
    }

    /// - Parameters:
    ///   - number: 1 for the last former value.
    ///   - field: A field that the secret had then; nil for the value.
    func formerValue(_ number: Int, _ field: FieldName?) throws(CLIError) -> SecretValue {
        let (former, found) = try keychain.repeating(title) {
            () throws(CLIError) -> (FormerItem, ItemValue?)? in
            let item = try formerItem(number, in: history().former)
            let value = try keychain.unlessChanged(session.formerValue(item))
            return value.map { (item, $0) }
        }
        if let field, let item = former.item {
            return try value(of: field, in: item, found?.fields ?? EntryFields())
        }
        guard let value = found?.value else {
            throw CLIError(.notFound, "\(title) in \(place) had no value then")
        }
        return value
    }

    /// Puts a former value back. Returns it.
    ///
    /// - Parameter number: 1 for the last former value.
    fileprivate func bringBack(_ number: Int) throws(CLIError) -> FormerItem {
        try keychain.repeating(title) { () throws(CLIError) -> FormerItem? in
            let found = try history()
            let former = try formerItem(number, in: found.former)
            let present = try present(for: former, in: found)
            let isDone: Void? = try keychain.unlessChanged(
                session.restore(former, over: present?.version))
            return isDone.map { former }
        }
    }

    /// The item that a former value goes to: it stays where it is now. nil if there is none.
    private func present(
        for former: FormerItem, in found: Findings
    ) throws(CLIError) -> StoredItem? {
        guard case .password = form, let item = former.item else {
            return try one(of: found.each)
        }
        return try requesting(keychain.items([item.asNew.nameQuery])).first
    }

    /// Removes the item and its former values in one step. Returns whether there was an item.
    func purge() throws(CLIError) -> Bool {
        let found = try requesting(
            keychain.attempt(
                session.purge(queries, former: queries) { found in
                    (try? purged(found)) ?? ([], [])
                }))
        let (items, former) = try purged(found)
        guard !items.isEmpty || !former.isEmpty else {
            throw error(KeychainFailure(.itemNotFound, during: "remove the item"))
        }
        return !items.isEmpty
    }

    /// What ``purge()`` removes of what was found.
    func purged(
        _ found: Findings
    ) throws(CLIError) -> (items: [StoredItem], former: [FormerItem]) {
        try checkThatOneMatches(found)
        guard let item = try one(of: found.each) else { return ([], found.former) }
        // Another group may have an item of that name.
        let former = found.former.filter { former in
            former.item.map { $0.accessGroup == item.accessGroup } ?? !former.hasItem
        }
        return ([item], former)
    }
}

extension CommandKeychain {
    /// Says how many former values stay under names that secrets have left, because they could not
    /// be opened: they are locked or damaged, or require the user.
    func noteFormerValues(of moves: [(old: NewItem, new: NewItem)]) {
        noteFormerValues(
            leftAt: moves.filter { $0.old.nameQuery != $0.new.nameQuery }.map(\.old.nameQuery))
    }

    /// ``noteFormerValues(of:)`` for names that no item has any more.
    func noteFormerValues(leftAt names: [ItemQuery]) {
        let count: Int
        do throws(KeychainFailure) {
            count = try session.formerItems(names).count
        } catch {
            // The move is done.
            return unlocking.console.note(
                "valet: warning: former values may stay under the old name: \(error.message)")
        }
        guard count > 0 else { return }
        unlocking.console.note(
            "valet: \(FormerValue.counted(count)) that could not be opened "
                + (count == 1 ? "stays" : "stay") + " under the old name")
    }
}

extension FormerItem {
    /// When the value was stored.
    fileprivate var setTime: String? { item?.modificationDate.flatMap(Timestamp.text) }

    /// When it was replaced or removed.
    fileprivate var keptTime: String? {
        Timestamp.text(secondsSince2001: Double(kept >> 16) / 1000 - 978_307_200)
    }
}
