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
        var former: [FormerItem] = []
        let items = try chosen(keys, &former)
        let isDry = values.has(RemoveCommand.dryRun)
        if !isDry { try remove(items, former) }
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
        let count = RemoveCommand.counted(items.count)
        context.console.note("valet: \(isDry ? "would have removed" : "removed") \(count)")
        if isDry {
            try context.console.write(
                items.map { Escaping.printable($0.name) + "\n" }.joined())
        }
    }

    /// The items that the names, or the pattern, choose.
    ///
    /// - Parameter former: Receives the former values of names without an item, for a purge.
    private func chosen(
        _ keys: [String], _ former: inout [FormerItem]
    ) throws(CLIError) -> [StoredItem] {
        let pattern = values[MoveOptions.matching]
        let isAll = values.has(RemoveCommand.all)
        let hasKey =
            !keys.isEmpty || values.isGiven(ItemOptions.keyDescriptor)
            || values.isGiven(PasswordOptions.account)
        guard [hasKey, pattern != nil, isAll].filter(\.self).count == 1 else {
            throw .usage("expected KEY, '--matching PATTERN' or '--all'")
        }
        guard hasKey else { return try fitting(pattern.map { NamePattern($0, isPart: false) }) }
        guard keys.count > 1 else {
            return try item(try ItemOptions.selection(values).target(in: keychain), &former)
        }
        guard !values.isGiven(ItemOptions.keyDescriptor), !values.isGiven(PasswordOptions.account)
        else { throw .usage("several KEYs exclude '--key-fd' and '--account'") }
        // By their bytes: two names that look alike are two secrets.
        var known: Set<[UInt8]> = []
        var items: [StoredItem] = []
        for key in keys where known.insert(Array(key.utf8)).inserted {
            guard !key.isEmpty else { throw .usage("a key is empty") }
            let selection = ItemSelection(scope: scope, key: .argument(key), password: password)
            items += try item(try selection.target(in: keychain), &former)
        }
        return items
    }

    private func item(
        _ target: ItemTarget, _ former: inout [FormerItem]
    ) throws(CLIError) -> [StoredItem] {
        if let item = try target.detailsIfAny() { return [item] }
        let removed = values.has(RemoveCommand.purge) ? try target.formerItems() : []
        former += removed
        guard removed.isEmpty else { return [] }
        guard values.has(RemoveCommand.ifExists) else {
            let error = target.error(
                KeychainFailure(.itemNotFound, during: "remove items"))
            throw CLIError(
                error.code, "\(error.message): nothing was removed",
                hint: target.name.contains("*")
                    ? "'--matching' removes what fits a pattern" : error.hint)
        }
        return []
    }

    private func fitting(_ pattern: NamePattern?) throws(CLIError) -> [StoredItem] {
        let selection = ItemSelection(scope: scope, key: nil, password: password)
        let items = try requesting(keychain.items(selection.queries)).filter { item in
            !ListedItem(item).isCanary && pattern?.matches(item.name) != false
        }
        guard !items.isEmpty || pattern == nil || values.has(RemoveCommand.ifExists) else {
            throw CLIError(
                .notFound, "nothing fits the pattern", hint: "'valet list' shows the names")
        }
        return items
    }

    private func remove(_ items: [StoredItem], _ former: [FormerItem]) throws(CLIError) {
        guard !items.isEmpty || !former.isEmpty else { return }
        let shared = items.count(where: \.isSynchronizable)
        if !values.has(KeyOptions.yes) {
            let names = items.prefix(Self.shownCount).map { quoted($0.name) }
                .joined(separator: ", ")
            let rest = items.count > Self.shownCount ? " …" : ""
            let title =
                items.isEmpty
                ? FormerValue.counted(former.count)
                : "\(RemoveCommand.counted(items.count, shared: shared)): \(names)\(rest)"
            try context.console.requireConsent(
                to: "Remove \(title)?",
                isGiven: false, because: RemoveCommand.reason(values))
        }
        guard values.has(RemoveCommand.purge) else {
            return try requesting(keychain.attempt(keychain.session.delete(items)))
        }
        try requesting(keychain.attempt(keychain.session.purge(items, former)))
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
