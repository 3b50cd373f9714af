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
        let keys = try keys()
        guard newKey == nil || keys.count == 1 else {
            throw .usage("one name cannot be that of \(keys.count) secrets")
        }
        var (transfer, names, origins) = (ItemTransfer(), [String](), [PasswordName]())
        for key in keys {
            let name = newKey ?? key
            let place = try add(key, to: name, keepingSource: keepsSource, &transfer)
            if !keepsSource { origins.append(place) }
            names.append(name)
        }
        try perform(transfer, replacing: transfer.deletions.count)
        let isDry = values.has(MoveOptions.dryRun)
        if !isDry { source.noteFormerValues(leftAt: origins) }
        try context.console.report(ofEffect: !isDry) { () throws(CLIError) in
            try report(names, keepingSource: keepsSource)
        }
        return .success
    }

    /// Moves items, with the access groups of both places. Says so if replaced ones are not kept.
    /// Does nothing in a dry run.
    func perform(_ transfer: ItemTransfer, replacing count: Int) throws(CLIError) {
        guard !values.has(MoveOptions.dryRun) else { return }
        var session = source.session
        session.caller = Caller(
            applicationIdentifier: session.caller.applicationIdentifier,
            accessGroups: session.caller.accessGroups + destination.session.caller.accessGroups)
        session.caller.keepsHistory = true
        let keptCount = try requesting(source.attempt(session.perform(transfer)))
        guard count > 0, keptCount < transfer.deletions.count else { return }
        context.console.note(
            "valet: what was replaced is gone: 'valet settings history' says how many former "
                + "values are kept")
    }

    /// The names of the secrets to move.
    private func keys() throws(CLIError) -> [String] {
        let hasKey =
            values[ItemOptions.optionalKey] != nil || values.isGiven(ItemOptions.keyDescriptor)
        let pattern = values[MoveOptions.matching]
        guard [hasKey, pattern != nil, values.has(MoveOptions.every)].filter(\.self).count == 1
        else { throw .usage("expected KEY, '--matching PATTERN' or '--all'") }
        if hasKey { return [try ItemOptions.key(values).text()] }
        let fitting = pattern.map { NamePattern($0, isPart: false) }
        var names: [String] = []
        for service in from.chosenServices {
            let omission = try requesting(
                source.forEachItem(service.query) { item in
                    if fitting?.matches(item.name) != false { names.append(item.name) }
                    return true
                })
            if let omission { throw CLIError(omission) }
        }
        guard !names.isEmpty else {
            throw CLIError(.notFound, "no secret in \(from.place(of: source)) is chosen")
        }
        return names.sorted()
    }

    /// - Returns: Where the secret is now.
    private func add(
        _ key: String, to name: String, keepingSource keepsSource: Bool,
        _ transfer: inout ItemTransfer
    ) throws(CLIError) -> PasswordName {
        let old = ItemTarget(scope: from, key: key, form: .secret, keychain: source)
        guard let place = try old.located() else {
            throw old.error(KeychainFailure(.itemNotFound, during: "move an item"))
        }
        let item = try old.details()
        if let requirement = item.accessControl?.requirement {
            throw CLIError(
                .denied, "reading \(old.title) requires \(requirement): nothing was moved",
                hint: "the program that stored it can move it")
        }
        let existing = try existing(name)
        if let existing, existing.reference != item.reference {
            try replace(name, existing, &transfer)
        }
        let service = to.destination(from: place.service)
        if existing?.reference == item.reference, service == place.service {
            throw .usage("\(old.title) is there already", hint: "say where to move it: '--to-id'")
        }
        var moved = service.item(name)
        moved.accessGroup = moved.accessGroup ?? destination.session.caller.accessGroups.first
        guard keepsSource, existing?.reference != item.reference else {
            transfer.changes.append(.init(item.version, to: moved, value: nil))
            return place
        }
        // A copy also has the attributes that programs have added.
        let own = Set(item.itemClass.primaryKeyAttributes)
            .union([.creationDate, .modificationDate, .accessControl])
        moved.attributes = item.attributes.filter { !own.contains($0.key) }
            .overwritten(by: moved.attributes)
        transfer.additions.append(Addition(moved, value: try old.value()))
        return place
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
