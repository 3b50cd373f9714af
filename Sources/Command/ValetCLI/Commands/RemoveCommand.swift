// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// `valet remove KEY …`, `valet remove --matching PATTERN` and `valet remove --all`.
enum RemoveCommand {
    private static let keys = ArgumentDeclaration(
        name: "KEY", help: "the names of secrets", isRequired: false, isRepeatable: true,
        alternative: ItemOptions.keyDescriptor)
    static let all = OptionDeclaration(
        name: "all", help: "remove every secret of the valet")
    static let dryRun = OptionDeclaration(
        name: "dry-run", help: "only show what would be removed")
    static let ifExists = OptionDeclaration(
        name: "if-exists", help: "succeed if there is nothing to remove")
    static let purge = OptionDeclaration(
        name: "purge", help: "remove the former values as well: nothing brings the secret back")

    static let declaration = CommandDeclaration(
        name: "remove", abstract: "remove secrets",
        aliases: ["rm"], synonyms: ["delete", "del", "unset", "erase"],
        discussion: [
            "The command asks first, or needs --yes, unless there is nothing to remove. 'valet "
                + "undo' brings a removed secret back, unless it is removed with --purge, or "
                + "'valet settings history' is 0. 'valet history' lists the removed ones.",
            "Several secrets, named or chosen by --matching, are removed in one step: all, or "
                + "none if one of the names is missing. --dry-run shows which.",
            "--all empties the valet that --id, --app and --group choose, or of it what "
                + "--accessibility, --cloud and --local choose, and reports how many secrets were "
                + "removed. With --service, --server or --label it removes all passwords that "
                + "match. A shared secret is removed on all devices.",
            "--all removes all or none, unless more than 1,000 secrets have the same "
                + "accessibility. These are removed in batches, so that other programs can write "
                + "in between. If a later batch fails, the error says how many secrets were "
                + "removed; run the same command again for the rest.",
            "--field removes one field of a secret, and nothing else.",
            ItemOptions.placeDiscussion, ItemOptions.passwordDiscussion,
            ItemOptions.keyDiscussion,
        ],
        arguments: [keys],
        options: ItemOptions.ofOneSecret + [
            FieldName.option, MoveOptions.matching, all, dryRun, ifExists, purge, KeyOptions.yes,
        ],
        schema: [
            ("removed", "how many secrets were removed, or would be with --dry-run"),
            ("names", "their names; only with --dry-run"),
        ],
        exitCodes: [
            (.notFound, "no such secret, and none was removed; never with --all or --if-exists"),
            KeyOptions.noConsent,
        ],
        examples: [
            ("valet remove old-token", "Asks, and removes it."),
            ("valet remove old-token --if-exists --yes", "Makes sure that it does not exist."),
            ("valet remove --matching 'old/*' --dry-run", "What the pattern chooses."),
            ("valet remove github --field otp", "One field of a secret."),
            ("valet remove --all --id staging", "Empties a valet."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        if values.isGiven(FieldName.option) {
            guard let field = try FieldName.given(values) else {
                throw .usage(
                    "the value of a secret is no field of it",
                    hint: "without '--field' the secret is removed")
            }
            return try remove(field, values, context)
        }
        if values.list(keys).count > 1 || values.isGiven(MoveOptions.matching)
            || values.has(dryRun)
        {
            try SecretRemoval(values, context).run(keys: values.list(keys))
            return .success
        }
        let count = try remove(values, context)
        if values.has(ItemOptions.json) {
            context.console.afterEffect { () throws(CLIError) in
                try context.console.write(.object(["removed": .number(count)]))
            }
        }
        return .success
    }

    private static func remove(
        _ field: FieldName, _ values: ParsedValues, _ context: Context
    ) throws(CLIError) -> ExitCode {
        let others = [MoveOptions.matching, all, dryRun, purge].first(where: values.isChosen)
        if let others { throw .usage("'--field' and '\(others.spelling)' exclude each other") }
        guard values.list(keys).count < 2 else {
            throw .usage("'--field' is for one secret at a time")
        }
        let target = try ItemOptions.selection(values).existing(context)
        let mayLack = values.has(ifExists)
        var isThere = true
        if mayLack { isThere = try target.contains() }
        if isThere { isThere = try target.has(field) }
        if isThere {
            try context.console.requireConsent(
                to: "Remove the field \(quoted(field.text)) of \(target.fullTitle)?",
                isGiven: values.has(KeyOptions.yes), because: reason(values))
        } else if !mayLack {
            _ = try target.value(of: field)
        }
        let isRemoved = isThere ? try target.remove(field) : false
        let count = isRemoved ? 1 : 0
        if values.has(ItemOptions.json) {
            context.console.afterEffect { () throws(CLIError) in
                try context.console.write(.object(["removed": .number(count)]))
            }
        }
        return .success
    }

    private static func remove(
        _ values: ParsedValues, _ context: Context
    ) throws(CLIError) -> Int {
        let naming = PasswordOptions.naming.contains { values.isGiven($0) }
        let hasKey =
            values[ItemOptions.optionalKey] != nil || values.isGiven(ItemOptions.keyDescriptor)
            || values.isGiven(PasswordOptions.account)
        switch (hasKey, values.has(all)) {
        case (false, true):
            let selection = ItemSelection(
                scope: try ItemOptions.scope(values), key: nil,
                password: try PasswordOptions(values))
            return try removeEverything(selection, values, context)
        case (true, true): throw .usage("KEY and '--all' exclude each other")
        case (false, false) where !naming:
            throw .usage(
                "expected KEY, the name of the secret, '--matching PATTERN' or '--all'",
                hint: "usage: \(declaration.usage)")
        case (_, false):
            let target = try ItemOptions.selection(values).target(context)
            return try remove(try intended(target, values), values, context)
        }
    }

    /// The item that KEY means. Without a question it is a name, because a script that runs twice
    /// must not remove something else the second time.
    ///
    /// - Throws: ``ExitCode/notFound``, with the words that choose it, for a login that only a
    ///   person can agree to remove.
    static func intended(
        _ target: ItemTarget, _ values: ParsedValues
    ) throws(CLIError) -> ItemTarget {
        guard !values.has(ifExists) else { return target }
        let found = try target.orLogin(values.has(purge) ? .presentOrRemoved : .present)
        guard let alias = found.alias, values.has(KeyOptions.yes) || values.has(dryRun) else {
            return found
        }
        let error = CLIError(
            .notFound, "no \(target.title) in \(target.place), but \(found.title): \(alias)")
        let purges = values.has(purge)
        var item = try found.detailsIfAny()
        if item == nil, purges { item = try found.history().former.first?.item }
        guard let item else { throw error }
        throw found.choosing(among: [item], orRemoved: purges, error)
    }

    private static func remove(
        _ target: ItemTarget, _ values: ParsedValues, _ context: Context
    ) throws(CLIError) -> Int {
        let (isAgreed, isFineIfAbsent) = (values.has(KeyOptions.yes), values.has(ifExists))
        let purges = values.has(purge)
        var isThere = true
        if !isAgreed || isFineIfAbsent {
            isThere = try target.exists()
            if purges, !isThere { isThere = try !target.history().former.isEmpty }
        }
        if !isThere, isFineIfAbsent { return 0 }
        if isThere, !isAgreed {
            let isShared = try target.isShared()
            try context.console.requireConsent(
                to: "Remove \(target.fullTitle) from \(target.place)"
                    + (isShared ? ", on all your devices?" : "?"), isGiven: false,
                because: reason(values))
        }
        do {
            return purges ? (try target.purge() ? 1 : 0) : try target.delete()
        } catch {
            // Another program may have removed it just now.
            if error.code == .notFound, isFineIfAbsent { return 0 }
            guard error.code == .notFound, target.name.contains("*") else { throw error }
            throw CLIError(
                .notFound, error.message, hint: "'--matching' removes what fits a pattern")
        }
    }

    private static func removeEverything(
        _ selection: ItemSelection, _ values: ParsedValues, _ context: Context
    ) throws(CLIError) -> Int {
        let (console, scope) = (context.console, selection.scope)
        let keychain = try context.keychain(for: scope.requester)
        let place =
            selection.password == nil
            ? scope.place(of: keychain)
            : "application \(quoted(keychain.applicationIdentifier))"
        if !values.has(KeyOptions.yes) {
            let found = try requesting(secrets(in: selection.queries, keychain))
            // Damaged secrets are not listed, but are removed with the others.
            if found.count > 0 || found.isPartial {
                try console.requireConsent(
                    to: "Remove \(counted(found.count, shared: found.sharedCount)) from "
                        + "\(place)?", isGiven: false, because: reason(values))
            }
        }
        // The canary is removed with the rest, but does not count as a secret.
        let canaries = try requesting(
            keychain.attempt(
                keychain.session.services(
                    having: ServiceName.canaryAccount,
                    among: selection.password == nil ? scope.chosenServices : [])))
        let deleted = try requesting(
            keychain.attempt(
                keychain.session.delete(selection.queries, purging: values.has(purge))))
        let count = max(0, deleted - canaries.count)
        if !values.has(ItemOptions.json) {
            console.note("valet: removed \(counted(count)) from \(place)")
        }
        if selection.password == nil {
            keychain.noteLogins(staying: scope, nil, ItemOptions.hintAtLogins)
        }
        return count
    }

    /// Why consent is needed.
    static func reason(_ values: ParsedValues) -> String {
        values.has(purge) ? "this cannot be undone" : "this removes secrets"
    }

    /// How many secrets the queries find, how many of them are shared, and whether some are left
    /// out.
    private static func secrets(
        in queries: [ItemQuery], _ keychain: CommandKeychain
    ) throws(KeychainFailure) -> (count: Int, sharedCount: Int, isPartial: Bool) {
        var (count, sharedCount) = (0, 0)
        let omission = try keychain.forEachItem(queries) { item in
            count += 1
            if item.isCloud { sharedCount += 1 }
            return true
        }
        return (count, sharedCount, omission != nil)
    }

    static func counted(_ count: Int, shared sharedCount: Int = 0) -> String {
        let items = count == 1 ? "1 secret" : "\(count) secrets"
        return switch sharedCount {
        case 0: items
        case count: "\(items) that your devices share"
        default: "\(items), \(sharedCount) of which your devices share,"
        }
    }
}
