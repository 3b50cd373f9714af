// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// Secrets and passwords on their way from one place to another.
struct SecretMove {
    let values: ParsedValues
    let context: Context
    let source: CommandKeychain
    let destination: CommandKeychain
    let from: Scope
    let to: Scope
    /// The options for passwords that no valet stored.
    private let password: PasswordOptions?

    init(_ values: ParsedValues, _ context: Context) throws(CLIError) {
        (self.values, self.context) = (values, context)
        from = try ItemOptions.scope(values)
        password = try PasswordOptions(values)
        to = try Self.destination(from, values)
        source = try context.keychain(for: from.requester)
        destination = try context.keychain(for: to.requester)
    }

    private static func destination(
        _ from: Scope, _ values: ParsedValues
    ) throws(CLIError) -> Scope {
        var to = from
        if let application = values[MoveOptions.toApplication] {
            to.requester = Requester(application: application)
            to.identifier = from.identifier ?? Scope.ofCommand.identifier
        }
        if let group = values[MoveOptions.toGroup] {
            to.requester.group = try ItemOptions.group(group, of: MoveOptions.toGroup)
            to.identifier = nil
        }
        if let identifier = values[MoveOptions.toIdentifier] { to.identifier = identifier }
        if let word = values[MoveOptions.toAccessibility].flatMap(ProtectionClass.init(word:)) {
            (to.accessibility, to.isAccessibilityChosen) = (word, true)
        }
        let (isCloud, isLocal) = (
            values.has(MoveOptions.toCloud), values.has(MoveOptions.toLocal)
        )
        guard !isCloud || !isLocal else {
            throw .usage("'--to-cloud' and '--to-local' exclude each other")
        }
        if isCloud || isLocal { (to.isCloud, to.isCloudChosen) = (isCloud, true) }
        if isCloud, to.isAccessibilityChosen, to.accessibility.isThisDeviceOnly {
            throw .usage(
                "'--to-cloud' and the accessibility \(to.accessibility.word) exclude each other",
                hint: "an iCloud valet stores no secrets for this device only")
        }
        return to
    }

    func run(keepingSource keepsSource: Bool, to newKey: String?) throws(CLIError) -> ExitCode {
        let choice = try choice()
        let moves = try source.repeating("what is moved") { () throws(CLIError) -> [Move]? in
            let moving = try moving(choice, to: newKey)
            guard newKey == nil || moving.count == 1 else {
                throw .usage("one name cannot be that of \(moving.count) secrets")
            }
            var transfer = ItemTransfer()
            var moves: [Move] = []
            for item in moving {
                let move = Move(old: item, new: try moved(item, to: newKey))
                // Of several items, some may be there already.
                if moving.count > 1, !keepsSource, move.new == item.asNew { continue }
                try add(move, keepingSource: keepsSource, &transfer)
                moves.append(move)
            }
            guard !moves.isEmpty else {
                throw .usage(
                    "all \(moving.count) are there already", hint: "say where to move them")
            }
            try checkThatPlacesDiffer(moves)
            return try perform(transfer, replacing: transfer.deletions.count) ? moves : nil
        }
        let isDry = values.has(MoveOptions.dryRun)
        if !isDry, !keepsSource {
            source.noteFormerValues(of: moves.map { ($0.old.asNew, $0.new) })
        }
        try context.console.report(ofEffect: !isDry) { () throws(CLIError) in
            try report(moves, keepingSource: keepsSource)
            if case .fitting(let pattern) = choice, password == nil, leavesLogins {
                source.noteLogins(
                    staying: from, pattern, "'--to-id' is for the secrets of a valet alone")
            }
        }
        return .success
    }

    private static let loginPlaces =
        "'--to-app', '--to-group', '--to-cloud', '--to-local' or '--to-accessibility' moves it"

    /// An item and what becomes of it.
    private struct Move {
        let old: StoredItem
        let new: NewItem

        var isLogin: Bool { !old.owner.isValet }
        var newName: String { ListedItem.text(new.attributes[.account]) }
    }

    /// Refuses two items that would have one name: one shared, say, and one on this device alone.
    private func checkThatPlacesDiffer(_ moves: [Move]) throws(CLIError) {
        var known: [SecretPlace: StoredItem] = [:]
        for move in moves {
            let group = move.new.accessGroup ?? AccessGroup("")
            let other = known.updateValue(move.old, forKey: SecretPlace(move.new, in: group))
            guard let other else { continue }
            let target = ItemTarget(scope: from, key: nil, form: .secret, keychain: source)
            throw target.choosing(
                among: [other, move.old],
                .usage(
                    "two of the items would both be \(newTitle(move)) in \(place(of: move)): "
                        + "nothing was moved"))
        }
    }

    private func newTitle(_ move: Move) -> String {
        move.isLogin
            ? "\(quoted(move.newName)) of \(quoted(move.old.owner.name))" : quoted(move.newName)
    }

    /// Whether logins have no place at the destination.
    private var leavesLogins: Bool { values.isGiven(MoveOptions.toIdentifier) }

    /// Moves items, with the access groups of both places. Says so if replaced ones are not kept.
    /// Does nothing in a dry run.
    ///
    /// - Returns: false, with nothing moved, if another program has changed one of the items.
    func perform(_ transfer: ItemTransfer, replacing count: Int) throws(CLIError) -> Bool {
        guard !values.has(MoveOptions.dryRun) else { return true }
        var session = source.session
        session.caller = Caller(
            applicationIdentifier: session.caller.applicationIdentifier,
            accessGroups: session.caller.accessGroups + destination.session.caller.accessGroups)
        session.caller.keepsHistory = true
        let moving = session
        let done: Int?
        do {
            done = try source.unlessChanged(moving.perform(transfer))
        } catch {
            guard error.code == .alreadyThere else { throw error }
            throw CLIError(
                .alreadyThere, "another program has just stored a secret of that name",
                hint: "nothing was moved: try again")
        }
        guard let keptCount = done else { return false }
        if count > 0, keptCount < transfer.deletions.count {
            context.console.note(
                "valet: what was replaced is gone: 'valet settings history' says how many former "
                    + "values are kept")
        }
        return true
    }

    /// What the command line chooses.
    private enum Choice {
        case one(ItemTarget)
        /// nil for everything.
        case fitting(NamePattern?)
    }

    private func choice() throws(CLIError) -> Choice {
        let pattern = values[MoveOptions.matching]
        let isSeveral = pattern != nil || values.has(MoveOptions.every)
        let hasKey =
            values[ItemOptions.optionalKey] != nil || values.isGiven(ItemOptions.keyDescriptor)
            || values.isGiven(PasswordOptions.account)
            || !isSeveral && PasswordOptions.naming.contains { values.isGiven($0) }
        guard [hasKey, pattern != nil, values.has(MoveOptions.every)].filter(\.self).count == 1
        else { throw .usage("expected KEY, '--matching PATTERN' or '--all'") }
        guard hasKey else {
            return .fitting(pattern.map { NamePattern($0, isPart: false) })
        }
        return .one(try ItemOptions.selection(values).target(in: source))
    }

    /// The items that are chosen now, by their names.
    private func moving(_ choice: Choice, to newKey: String?) throws(CLIError) -> [StoredItem] {
        switch choice {
        case .one(let named):
            let target = try named.orLogin()
            let item = try target.details()
            if let alias = target.alias, let newKey {
                throw .usage(
                    "no secret is called \(quoted(named.name)), and \(target.title) is known by "
                        + "its account: \(alias)",
                    hint: "'valet move --to-key \(ShellLine.quoted(Escaping.printable(newKey))) "
                        + "\(target.words(for: item))' gives it another account")
            }
            return [item]
        case .fitting(let pattern):
            let secrets = try requesting(source.items(selected))
                .filter { !ListedItem($0).isCanary && pattern?.matches($0.name) != false }
            let takesLogins = password == nil && !leavesLogins
            let items = secrets + (takesLogins ? try source.logins(from, pattern) : [])
            guard !items.isEmpty else {
                throw CLIError(.notFound, "no secret in \(from.place(of: source)) is chosen")
            }
            let named = password == nil ? secrets.sorted { $0.name < $1.name } : []
            for (one, next) in zip(named, named.dropFirst()) where one.name == next.name {
                // An error: two secrets would have one name.
                _ = try ItemTarget(scope: from, key: one.name, form: .secret, keychain: source)
                    .details()
            }
            return items.sorted { $0.name < $1.name }
        }
    }

    /// The searches that the options choose.
    private var selected: [ItemQuery] {
        ItemSelection(scope: from, key: nil, password: password).queries
    }

    private func add(
        _ move: Move, keepingSource keepsSource: Bool, _ transfer: inout ItemTransfer
    ) throws(CLIError) {
        let item = move.old
        if let requirement = item.accessControl?.requirement {
            throw CLIError(
                .denied, "reading \(item.title) requires \(requirement): nothing was moved",
                hint: "the program that stored it can move it")
        }
        let existing = try existing(move)
        let others = existing.filter { $0.reference != item.reference }
        if !others.isEmpty { try replace(move, others, &transfer) }
        let isHere = existing.count > others.count
        if isHere, move.new == item.asNew {
            throw .usage(
                "\(item.title) is there already",
                hint: move.isLogin
                    ? Self.loginPlaces : "say where to move it: '--to-id', for example")
        }
        guard keepsSource else {
            return transfer.changes.append(.init(item.version, to: move.new, value: nil))
        }
        guard !isHere else {
            throw .usage(
                "\(item.title) cannot be in two places of one valet: one name is one secret",
                hint: "'valet move' changes its accessibility, and whether devices share it")
        }
        // A copy also has the attributes that programs have added.
        let own = Set(item.itemClass.primaryKeyAttributes)
            .union([.creationDate, .modificationDate, .accessControl])
        var copy = move.new
        copy.attributes = item.attributes.filter { !own.contains($0.key) }
            .overwritten(by: copy.attributes)
        let value = try requesting(
            source.attempt(source.session.value(of: ItemQuery(item.reference))))
        transfer.additions.append(Addition(copy, value: value, fieldsOf: item.version))
    }

    /// The item at its destination.
    private func moved(_ item: StoredItem, to newKey: String?) throws(CLIError) -> NewItem {
        let kept = to.keeping(item.protectionClass, isCloud: item.isSynchronizable)
        var new = item.asNew
        if let newKey { new.attributes[.account] = .text(newKey) }
        let usualGroup = destination.session.caller.accessGroups.first
        if item.owner.isValet {
            let service = place(of: item).service(kept.accessibility, isCloud: kept.isCloud)
            new.attributes[.service] = .text(service.service)
            new.accessGroup = service.accessGroup ?? usualGroup
        } else if leavesLogins {
            throw .usage(
                "\(item.title) is a password of no valet: '--to-id' has no place for it",
                hint: Self.loginPlaces)
        } else if to.requester != from.requester {
            new.accessGroup = to.requester.group ?? usualGroup
        }
        (new.protectionClass, new.isSynchronizable) = (kept.accessibility, kept.isCloud)
        return new
    }

    /// The valet that a secret moves to. Options for passwords name no valet: a secret that they
    /// choose stays in its own, unless the command line names another one.
    private func place(of secret: StoredItem) -> Scope {
        let namesValet = [MoveOptions.toIdentifier, MoveOptions.toGroup].contains {
            values.isGiven($0)
        }
        guard password != nil, !namesValet else { return to }
        var place = to
        place.identifier = secret.owner.name.isEmpty ? nil : secret.owner.name
        return place
    }

    /// What has the name of an item at its destination already, however it is kept.
    private func existing(_ move: Move) throws(CLIError) -> [StoredItem] {
        guard !move.isLogin else {
            var query = move.new.nameQuery
            // One that keeps its name and kind takes nobody's place.
            guard query != move.old.asNew.nameQuery else { return [move.old] }
            query.synchronizable = .any
            return try requesting(destination.items([query]))
        }
        var scope = place(of: move.old)
        (scope.isAccessibilityChosen, scope.isCloudChosen) = (false, false)
        let item = try ItemTarget(
            scope: scope, key: move.newName, form: .secret, keychain: destination
        ).detailsIfAny()
        return item.map { [$0] } ?? []
    }

    private func replace(
        _ move: Move, _ existing: [StoredItem], _ transfer: inout ItemTransfer
    ) throws(CLIError) {
        let title =
            (move.isLogin ? existing[0].title : quoted(move.newName))
            + " in \(place(of: move))"
        guard values.has(MoveOptions.force) else {
            throw CLIError(
                .alreadyThere, "\(title) exists already",
                hint: "'--force' replaces it; nothing was moved")
        }
        guard existing.count == 1 else {
            throw CLIError(
                .alreadyThere, "\(title) exists twice, shared and on this device alone",
                hint: "remove one of them first: '--cloud' or '--local'; nothing was moved")
        }
        transfer.deletions += existing.map(\.version)
        if values.has(MoveOptions.dryRun) { context.console.note("valet: would replace \(title)") }
    }

    private func place(of move: Move) -> String {
        guard move.isLogin else { return place(of: move.old).place(of: destination) }
        return to.requester.group.map { "group \(quoted($0.rawValue))" }
            ?? "application \(quoted(destination.applicationIdentifier))"
    }

    private func report(_ moves: [Move], keepingSource keepsSource: Bool) throws(CLIError) {
        let isDry = values.has(MoveOptions.dryRun)
        let names = moves.map(\.newName)
        guard !values.has(ItemOptions.json) else {
            return try context.console.write(
                .object([
                    "moved": .number(moves.count), "names": .array(names.map(JSON.string)),
                    "dryRun": .flag(isDry),
                ]))
        }
        let verb = (isDry ? "would have " : "") + (keepsSource ? "copied" : "moved")
        let (logins, secrets) = (moves.filter(\.isLogin), moves.filter { !$0.isLogin })
        if let first = secrets.first {
            let what = secrets.count == 1 ? quoted(first.newName) : "\(secrets.count) secrets"
            context.console.note("valet: \(verb) \(what) to \(place(of: first))")
        }
        if let first = logins.first {
            let titles = CommandKeychain.titles(logins.map(\.old))
            let isRenamed = first.newName != first.old.name
            let what = logins.count == 1 ? titles : "\(logins.count) passwords (\(titles))"
            let name = isRenamed ? "\(quoted(first.newName)) in " : ""
            let keeping = Set(logins.map(\.new.keeping)).sorted().joined(separator: "; ")
            context.console.note(
                "valet: \(verb) \(what) to \(name)\(place(of: first)): \(keeping)")
        }
        if isDry, moves.count > 1 {
            try context.console.write(
                names.map { Escaping.printable($0) + "\n" }.joined())
        }
    }
}
