// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// Secrets on their way from one valet to another.
struct SecretMove {
    let values: ParsedValues
    let context: Context
    let source: CommandKeychain
    let destination: CommandKeychain
    let from: Scope
    let to: Scope

    init(_ values: ParsedValues, _ context: Context) throws(CLIError) {
        (self.values, self.context) = (values, context)
        from = try ItemOptions.scope(values)
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
        let (names, origins) = try source.repeating("what is moved") {
            () throws(CLIError) -> (names: [String], origins: [PasswordName])? in
            let moving = try moving(choice)
            guard newKey == nil || moving.count == 1 else {
                throw .usage("one name cannot be that of \(moving.count) secrets")
            }
            var (transfer, names) = (ItemTransfer(), [String]())
            for secret in moving {
                let name = newKey ?? secret.key
                try add(secret, to: name, keepingSource: keepsSource, &transfer)
                names.append(name)
            }
            let isDone = try perform(transfer, replacing: transfer.deletions.count)
            let origins = moving.map { PasswordName($0.key, in: $0.service) }
            return isDone ? (names, keepsSource ? [] : origins) : nil
        }
        let isDry = values.has(MoveOptions.dryRun)
        if !isDry { source.noteFormerValues(leftAt: origins.map(\.query)) }
        try context.console.report(ofEffect: !isDry) { () throws(CLIError) in
            try report(names, keepingSource: keepsSource)
        }
        return .success
    }

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
        case key(String)
        /// nil for everything.
        case fitting(NamePattern?)
    }

    private func choice() throws(CLIError) -> Choice {
        let hasKey =
            values[ItemOptions.optionalKey] != nil || values.isGiven(ItemOptions.keyDescriptor)
        let pattern = values[MoveOptions.matching]
        guard [hasKey, pattern != nil, values.has(MoveOptions.every)].filter(\.self).count == 1
        else { throw .usage("expected KEY, '--matching PATTERN' or '--all'") }
        if hasKey { return .key(try ItemOptions.key(values).text()) }
        return .fitting(pattern.map { NamePattern($0, isPart: false) })
    }

    /// A secret to move, and where it is now.
    private struct Moving {
        let key: String
        let service: PasswordService
        let item: StoredItem
    }

    /// The secrets that are chosen now, by their names.
    private func moving(_ choice: Choice) throws(CLIError) -> [Moving] {
        switch choice {
        case .key(let key):
            let target = target(key)
            let found = try requesting(source.find(target.queries))
            guard let (service, _) = try target.oneService(in: found),
                let item = try target.one(of: found)
            else { throw target.error(KeychainFailure(.itemNotFound, during: "move an item")) }
            return [Moving(key: key, service: service, item: item)]
        case .fitting(let pattern):
            let found = try requesting(source.find(from.chosenServices.map(\.query)))
            var moving: [Moving] = []
            for (service, items) in zip(from.chosenServices, found) {
                moving += try requesting(items.items)
                    .filter { item in
                        !ListedItem(item).isCanary && pattern?.matches(item.name) != false
                    }
                    .map { Moving(key: $0.name, service: service, item: $0) }
            }
            guard !moving.isEmpty else {
                throw CLIError(.notFound, "no secret in \(from.place(of: source)) is chosen")
            }
            moving.sort { $0.key < $1.key }
            for (one, next) in zip(moving, moving.dropFirst()) where one.key == next.key {
                // An error: two secrets would have one name.
                _ = try target(one.key).details()
            }
            return moving
        }
    }

    private func target(_ key: String) -> ItemTarget {
        ItemTarget(scope: from, key: key, form: .secret, keychain: source)
    }

    private func add(
        _ moving: Moving, to name: String, keepingSource keepsSource: Bool,
        _ transfer: inout ItemTransfer
    ) throws(CLIError) {
        let (item, title) = (moving.item, quoted(moving.key))
        if let requirement = item.accessControl?.requirement {
            throw CLIError(
                .denied, "reading \(title) requires \(requirement): nothing was moved",
                hint: "the program that stored it can move it")
        }
        let existing = try existing(name)
        if let existing, existing.reference != item.reference {
            try replace(name, existing, &transfer)
        }
        let service = to.destination(from: moving.service)
        if existing?.reference == item.reference, service == moving.service {
            throw .usage("\(title) is there already", hint: "say where to move it: '--to-id'")
        }
        var moved = service.item(name)
        moved.accessGroup = moved.accessGroup ?? destination.session.caller.accessGroups.first
        guard keepsSource else {
            return transfer.changes.append(.init(item.version, to: moved, value: nil))
        }
        guard existing?.reference != item.reference else {
            throw .usage(
                "\(title) cannot be in two places of one valet: one name is one secret",
                hint: "'valet move' changes its accessibility, and whether devices share it")
        }
        // A copy also has the attributes that programs have added.
        let own = Set(item.itemClass.primaryKeyAttributes)
            .union([.creationDate, .modificationDate, .accessControl])
        moved.attributes = item.attributes.filter { !own.contains($0.key) }
            .overwritten(by: moved.attributes)
        let value = try requesting(
            source.attempt(source.session.value(of: ItemQuery(item.reference))))
        transfer.additions.append(Addition(moved, value: value))
    }

    /// The secret at the destination that has this name already, whatever its accessibility.
    private func existing(_ name: String) throws(CLIError) -> StoredItem? {
        var scope = to
        (scope.isAccessibilityChosen, scope.isCloudChosen) = (false, false)
        return try ItemTarget(scope: scope, key: name, form: .secret, keychain: destination)
            .detailsIfAny()
    }

    private func replace(
        _ name: String, _ existing: StoredItem, _ transfer: inout ItemTransfer
    ) throws(CLIError) {
        let title = "\(quoted(name)) in \(to.place(of: destination))"
        guard values.has(MoveOptions.force) else {
            throw CLIError(
                .alreadyThere, "\(title) exists already",
                hint: "'--force' replaces it; nothing was moved")
        }
        transfer.deletions.append(existing.version)
        if values.has(MoveOptions.dryRun) { context.console.note("valet: would replace \(title)") }
    }

    private func report(_ names: [String], keepingSource keepsSource: Bool) throws(CLIError) {
        let isDry = values.has(MoveOptions.dryRun)
        guard !values.has(ItemOptions.json) else {
            return try context.console.write(
                .object([
                    "moved": .number(names.count), "names": .array(names.map(JSON.string)),
                    "dryRun": .flag(isDry),
                ]))
        }
        let what = names.count == 1 ? quoted(names[0]) : "\(names.count) secrets"
        let verb = keepsSource ? "copied" : "moved"
        context.console.note(
            "valet: \(isDry ? "would have \(verb)" : verb) \(what) to "
                + to.place(of: destination))
        if isDry, names.count > 1 {
            try context.console.write(
                names.map { Escaping.printable($0) + "\n" }.joined())
        }
    }
}
