// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

enum MigrateCommand {
    static let declaration = CommandDeclaration(
        name: "migrate", abstract: "move all items of an application to another identifier",
        discussion: [
            "Moves the secrets of every valet of an application, and its other passwords, to the "
                + "place that the options beginning with --to choose: as when a program gets "
                + "another identifier, joins an access group, or gives its items another "
                + "accessibility. With --id, --accessibility, --cloud or --local only those move. "
                + "All of it in one step, or nothing. Names, labels, dates of creation and former "
                + "values stay.",
            "An item of that name at the destination is an error, unless --force replaces it: "
                + "'valet undo' brings its value back. --dry-run shows what would happen.",
            "What can be read only with the user's presence or a password of its own stays where "
                + "it is, and is named: the program that stored it can ask for that, and move it.",
        ],
        options: ItemOptions.all + [
            MoveOptions.toIdentifier, MoveOptions.toApplication, MoveOptions.toGroup,
            MoveOptions.toAccessibility, MoveOptions.toCloud, MoveOptions.toLocal,
            MoveOptions.dryRun, MoveOptions.force,
        ],
        schema: [
            ("moved", "how many items were moved, or would be"),
            ("unchanged", "how many are there already"),
            ("left", "the names of those that need the user, and stay"),
            ("dryRun", "true with --dry-run"),
        ],
        exitCodes: [(.notFound, "the application has no items")]
            + MoveOptions.exitCodes.filter { $0.code != .notFound },
        examples: [
            (
                "valet migrate --app mail --to-app com.example.mail --dry-run",
                "What would move after the program got an Info.plist."
            ),
            (
                "valet migrate --app com.example.mail --to-accessibility after-first-unlock",
                "For a service that runs while the keychain is locked."
            ),
        ])

    static func run(_ values: ParsedValues, in context: Context) throws(CLIError) -> ExitCode {
        let migration = try Migration(values, context)
        let done = try migration.move.source.repeating("what is moved") {
            () throws(CLIError) -> Migration? in
            var attempt = migration
            return try attempt.run() ? attempt : nil
        }
        let isDry = values.has(MoveOptions.dryRun)
        if !isDry { migration.move.source.noteFormerValues(leftAt: done.origins) }
        try context.console.report(ofEffect: !isDry, done.report)
        return .success
    }
}

private struct Migration {
    private let values: ParsedValues
    private let context: Context
    fileprivate let move: SecretMove
    /// The group that items leave, and the one that they go to.
    private let group: (old: AccessGroup, new: AccessGroup)

    private var transfer = ItemTransfer()
    private var names: [String] = []
    /// What found the items that move.
    fileprivate var origins: [ItemQuery] = []
    private var unchangedCount = 0
    private var replacedCount = 0
    private var left: [String] = []

    init(_ values: ParsedValues, _ context: Context) throws(CLIError) {
        (self.values, self.context) = (values, context)
        move = try SecretMove(values, context)
        group = (Self.group(move.from, move.source), Self.group(move.to, move.destination))
        let changes: [OptionDeclaration] = [
            MoveOptions.toIdentifier, MoveOptions.toApplication, MoveOptions.toGroup,
            MoveOptions.toAccessibility, MoveOptions.toCloud, MoveOptions.toLocal,
        ]
        guard changes.contains(where: { values.isGiven($0) || values.has($0) }) else {
            throw .usage(
                "expected where the items go",
                hint: "as in 'valet migrate --app OLD --to-app NEW --dry-run'")
        }
    }

    private static func group(_ scope: Scope, _ keychain: CommandKeychain) -> AccessGroup {
        scope.requester.group ?? AccessGroup(keychain.applicationIdentifier)
    }

    /// - Returns: false, with nothing moved, if another program has changed one of the items.
    mutating func run() throws(CLIError) -> Bool {
        let items = try Self.items(in: group.old, of: move.source)
        let isNarrow = values.isGiven(ItemOptions.identifier)
        let chosen = items.filter { move.from.chooses($0, narrow: isNarrow) }
        guard !chosen.isEmpty else {
            throw CLIError(
                .notFound, "nothing in group \(quoted(group.old.rawValue)) is chosen",
                hint: "'valet list --all' shows who has items")
        }
        let others =
            group.old == group.new ? items : try Self.items(in: group.new, of: move.destination)
        try plan(chosen, among: others)
        return try move.perform(transfer, replacing: replacedCount)
    }

    /// All items of a group, canaries among them.
    private static func items(
        in group: AccessGroup, of keychain: CommandKeychain
    ) throws(CLIError) -> [StoredItem] {
        try requesting(
            keychain.items(
                ItemClass.allCases.map {
                    ItemQuery($0, accessGroup: group, synchronizable: .any)
                }))
    }

    // MARK: - Plan

    private mutating func plan(
        _ chosen: [StoredItem], among others: [StoredItem]
    ) throws(CLIError) {
        var taken: [SecretPlace: StoredItem] = [:]
        let leaving = Set(chosen.map(\.reference))
        for item in others where !leaving.contains(item.reference) {
            taken[SecretPlace(item.asNew, in: group.new)] = item
        }
        for item in chosen where item.accessControl?.requirement != nil {
            taken[SecretPlace(item.asNew, in: group.old)] = item
        }
        var arriving: Set<SecretPlace> = []
        for item in chosen {
            let new = moved(item)
            let isCanary = item.owner.isValet && ServiceName.isCanary(item.name)
            if item.accessControl?.requirement != nil {
                if !isCanary { left.append(item.name) }
                continue
            }
            guard !isCanary else {
                // The valet at the destination makes its own canary.
                if new != item.asNew { transfer.deletions.append(item.version) }
                continue
            }
            let place = SecretPlace(new, in: group.new)
            guard arriving.insert(place).inserted else {
                throw CLIError(
                    .alreadyThere, "two items would be called \(quoted(item.name))",
                    hint: "'valet rename' gives one of them another name; nothing was moved")
            }
            if let existing = taken[place] { try replace(existing) }
            guard new != item.asNew else {
                unchangedCount += 1
                continue
            }
            transfer.changes.append(.init(item.version, to: new, value: nil))
            names.append(item.name)
            origins.append(item.asNew.nameQuery)
        }
    }

    private mutating func replace(_ existing: StoredItem) throws(CLIError) {
        let title = "\(quoted(existing.name)) in group \(quoted(group.new.rawValue))"
        guard values.has(MoveOptions.force), existing.accessControl?.requirement == nil else {
            throw CLIError(
                .alreadyThere, "\(title) exists already",
                hint: "'--force' replaces what can be read without the user; nothing was moved")
        }
        transfer.deletions.append(existing.version)
        replacedCount += 1
        if values.has(MoveOptions.dryRun) { context.console.note("valet: would replace \(title)") }
    }

    /// The item at the destination.
    private func moved(_ item: StoredItem) -> NewItem {
        var (scope, new) = (move.to, item.asNew)
        let owner = item.owner
        if owner.isValet {
            let usual = scope.requester.group == nil ? Scope.ofCommand.identifier : nil
            scope.identifier =
                values[MoveOptions.toIdentifier] ?? (owner.name.isEmpty ? usual : owner.name)
        }
        let old = PasswordService(
            service: "", accessGroup: item.accessGroup, isSynchronizable: item.isSynchronizable,
            protectionClass: item.protectionClass)
        let service = scope.destination(from: old)
        // Items of enclave valets stay, because reading them needs the user.
        if owner.isValet { new.attributes[.service] = .text(service.service) }
        new.accessGroup = group.new
        new.isSynchronizable = service.isSynchronizable
        new.protectionClass = service.protectionClass
        return new
    }

    fileprivate func report() throws(CLIError) {
        let (console, isDry) = (context.console, values.has(MoveOptions.dryRun))
        guard !values.has(ItemOptions.json) else {
            return try console.write(
                .object([
                    "moved": .number(names.count), "unchanged": .number(unchangedCount),
                    "left": .array(left.map(JSON.string)), "dryRun": .flag(isDry),
                ]))
        }
        let what = names.count == 1 ? quoted(names[0]) : "\(names.count) items"
        console.note(
            "valet: \(isDry ? "would have moved" : "moved") \(what) to group "
                + quoted(group.new.rawValue)
                + (unchangedCount > 0 ? "; \(unchangedCount) are there already" : ""))
        if !left.isEmpty {
            console.note(
                "valet: warning: \(left.count) stay, because reading them needs the user: "
                    + left.map(quoted).joined(separator: ", "))
        }
        if isDry { try console.write(names.map { Escaping.printable($0) + "\n" }.joined()) }
    }
}
