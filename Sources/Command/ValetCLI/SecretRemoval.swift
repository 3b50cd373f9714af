// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// Several secrets that are removed in one step.
struct SecretRemoval {
    private let values: ParsedValues
    private let context: Context
    private let scope: Scope
    private let password: PasswordOptions?
    private let keychain: CommandKeychain

    /// How many names a question shows.
    private static let shownCount = 10

    init(_ values: ParsedValues, _ context: Context) throws(CLIError) {
        (self.values, self.context) = (values, context)
        scope = try ItemOptions.scope(values)
        password = try PasswordOptions(values)
        keychain = try context.keychain(for: scope.requester)
    }

    func run(keys: [String]) throws(CLIError) {
        let choice = try choice(keys)
        let isDry = values.has(RemoveCommand.dryRun)
        var agreed: [String]?
        let items = try keychain.repeating("these secrets") {
            () throws(CLIError) -> [StoredItem]? in
            let (items, former) = try chosen(choice)
            guard !isDry, !items.isEmpty || !former.isEmpty else { return items }
            let names = items.map(\.name)
            if agreed != names { try ask(items, former) }
            agreed = names
            return try remove(items, former) ? items : nil
        }
        try context.console.report(ofEffect: !isDry) { () throws(CLIError) in
            try report(items, isDry: isDry)
        }
    }

    private func report(_ items: [StoredItem], isDry: Bool) throws(CLIError) {
        guard !values.has(ItemOptions.json) else {
            var members = [JSON.Member(name: "removed", value: .number(items.count))]
            if isDry {
                members.append(
                    JSON.Member(name: "names", value: .array(items.map { .string($0.name) })))
            }
            return try context.console.write(.object(members))
        }
        let logins = items.filter { !$0.owner.isValet }
        let count =
            RemoveCommand.counted(items.count)
            + (logins.isEmpty || password != nil ? "" : ": " + CommandKeychain.titles(logins))
        context.console.note("valet: \(isDry ? "would have removed" : "removed") \(count)")
        if isDry {
            try context.console.write(
                items.map { Escaping.printable($0.name) + "\n" }.joined())
        }
    }

    /// What the command line chooses.
    private enum Choice {
        case named([ItemTarget])
        /// nil for everything.
        case fitting(NamePattern?)
    }

    private func choice(_ keys: [String]) throws(CLIError) -> Choice {
        let pattern = values[MoveOptions.matching]
        let isAll = values.has(RemoveCommand.all)
        let hasKey =
            !keys.isEmpty || values.isGiven(ItemOptions.keyDescriptor)
            || values.isGiven(PasswordOptions.account)
        guard [hasKey, pattern != nil, isAll].filter(\.self).count == 1 else {
            throw .usage("expected KEY, '--matching PATTERN' or '--all'")
        }
        guard hasKey else { return .fitting(pattern.map { NamePattern($0, isPart: false) }) }
        guard keys.count > 1 else {
            return .named([try ItemOptions.selection(values).target(in: keychain)])
        }
        guard !values.isGiven(ItemOptions.keyDescriptor), !values.isGiven(PasswordOptions.account)
        else { throw .usage("several KEYs exclude '--key-fd' and '--account'") }
        // By their bytes: two names that look alike are two secrets.
        var known: Set<[UInt8]> = []
        var targets: [ItemTarget] = []
        for key in keys where known.insert(Array(key.utf8)).inserted {
            guard !key.isEmpty else { throw .usage("a key is empty") }
            let selection = ItemSelection(scope: scope, key: .argument(key), password: password)
            targets.append(try selection.target(in: keychain))
        }
        return .named(targets)
    }

    /// The items that are chosen now, and for a purge the former values of names without one.
    private func chosen(
        _ choice: Choice
    ) throws(CLIError) -> (items: [StoredItem], former: [FormerItem]) {
        switch choice {
        case .fitting(let pattern): return (try fitting(pattern), [])
        case .named(let targets):
            var (items, former) = ([StoredItem](), [FormerItem]())
            for target in targets {
                let found = try chosen(RemoveCommand.intended(target, values))
                items += found.items
                former += found.former
            }
            // A name and a label may lead to one item.
            var (known, kept) = (Set<PersistentReference>(), Set<Int64>())
            return (
                items.filter { known.insert($0.reference).inserted },
                former.filter { kept.insert($0.kept).inserted }
            )
        }
    }

    private func chosen(
        _ target: ItemTarget
    ) throws(CLIError) -> (items: [StoredItem], former: [FormerItem]) {
        if values.has(RemoveCommand.purge) {
            let found = try target.purged(
                requesting(
                    keychain.attempt(
                        keychain.session.find(target.queries, former: target.queries))))
            if !found.items.isEmpty || !found.former.isEmpty { return found }
        } else if let item = try target.detailsIfAny() {
            return ([item], [])
        }
        guard values.has(RemoveCommand.ifExists) else {
            let error = target.error(
                KeychainFailure(.itemNotFound, during: "remove items"))
            throw CLIError(
                error.code, "\(error.message): nothing was removed",
                hint: target.name.contains("*")
                    ? "'--matching' removes what fits a pattern" : error.hint)
        }
        return ([], [])
    }

    private func fitting(_ pattern: NamePattern?) throws(CLIError) -> [StoredItem] {
        let selection = ItemSelection(scope: scope, key: nil, password: password)
        let items = try requesting(keychain.items(selection.queries)).filter { item in
            !ListedItem(item).isCanary && pattern?.matches(item.name) != false
        }
        if password == nil {
            keychain.noteLogins(staying: scope, pattern, ItemOptions.hintAtLogins)
        }
        guard !items.isEmpty || pattern == nil || values.has(RemoveCommand.ifExists) else {
            throw CLIError(
                .notFound, "nothing fits the pattern", hint: "'valet list' shows the names")
        }
        return items
    }

    private func ask(_ items: [StoredItem], _ former: [FormerItem]) throws(CLIError) {
        guard !values.has(KeyOptions.yes) else { return }
        let shared = items.count(where: \.isSynchronizable)
        let names = items.prefix(Self.shownCount).map(\.title).joined(separator: ", ")
        let rest = items.count > Self.shownCount ? " …" : ""
        let title =
            items.isEmpty
            ? FormerValue.counted(former.count)
            : "\(RemoveCommand.counted(items.count, shared: shared)): \(names)\(rest)"
        try context.console.requireConsent(
            to: "Remove \(title)?", isGiven: false, because: RemoveCommand.reason(values))
    }

    /// - Returns: Whether it was done: nothing is, if another program has changed one of the items.
    private func remove(
        _ items: [StoredItem], _ former: [FormerItem]
    ) throws(CLIError) -> Bool {
        guard values.has(RemoveCommand.purge) else {
            return try keychain.unlessChanged(keychain.session.delete(items)) != nil
        }
        return try keychain.unlessChanged(keychain.session.purge(items, former)) != nil
    }
}

extension KeychainSession {
    /// Deletes items, whose values become former ones: all or none.
    fileprivate func delete(_ items: [StoredItem]) throws(KeychainFailure) {
        do {
            try perform(ItemTransfer(deletions: items.map(\.version)))
        } catch {
            guard error.code == .diskFull else { throw error }
            throw KeychainFailure(
                error, hint: "keeping removed values needs room: `valet remove --purge` does not")
        }
    }
}
