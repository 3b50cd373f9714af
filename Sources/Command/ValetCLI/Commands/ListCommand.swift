// SPDX-License-Identifier: Apache-2.0

// The verbs `list` and `search`.

internal import ValetKeychainModel

/// `valet list [PATTERN]`.
enum ListCommand {
    fileprivate static let pattern = ArgumentDeclaration(
        name: "PATTERN", help: "part of a name or owner, or a pattern with * and ?",
        isRequired: false)
    private static let everyone = OptionDeclaration(
        name: "all", letter: "a", help: "list the secrets of every application")
    private static let names = OptionDeclaration(
        name: "names", help: "write names alone, one a line, with control characters escaped")
    private static let null = OptionDeclaration(
        name: "null", letter: "0",
        help: "write exact names, each ended by a zero byte, for 'xargs -0'")
    private static let tree = OptionDeclaration(
        name: "tree", help: "write names as a tree: a slash in a name separates its parts")
    private static let sort = OptionDeclaration(
        name: "sort", valueName: "KEY", help: "sort by that", defaultValue: "owner",
        choices: ListOrder.Key.allCases.map(\.rawValue))
    private static let reverse = OptionDeclaration(
        name: "reverse", letter: "r", help: "sort in the opposite order")

    fileprivate static let outputOptions = [names, null, tree, sort, reverse]

    static let declaration = CommandDeclaration(
        name: "list", abstract: "list secrets by name, never their values",
        aliases: ["ls"],
        discussion: [
            "Lists all secrets of the application. With --id, lists only those of that valet; with "
                + "--accessibility, --cloud or --local, only those that are kept so; with --group, "
                + "only that group; with --service, --server or --label, only the passwords that "
                + "match. --all lists those of every application.",
            "PATTERN chooses by name or owner, and does not tell small letters from capitals. "
                + "With * (any text) or ? (any character) it must match the whole name or owner; "
                + "quote it, so that the shell does not replace it. It also finds what programs "
                + "of the desktop store by its label.",
            "The columns are: the name; the owner, which is the valet's identifier, the "
                + "service or the server, with its port and path; the label, if an item has one "
                + "that says more; with --all the application, or the group that "
                + "applications share; the kind; when the secret can be read; its size in "
                + "bytes; and its last change, in UTC. What a program of the desktop stored "
                + "('valet serve') has a random name, in brackets after the label that the "
                + "program chose. The kind is valet, cloud-valet or enclave-valet, or generic "
                + "or internet for a password that no valet stored, with its protocol and use in "
                + "brackets; with 'cloud-' before it if devices share it. Control characters "
                + "are escaped. At a terminal, a line fits its width: long names are shortened, "
                + "and columns left out. Shared secrets "
                + "are in colour, unless NO_COLOR is set.",
            "--names and --null write what the column NAME has: the KEY of a secret in any valet, "
                + "and the account of a password. Verbs with the same --id, --service or --server "
                + "take it as KEY; without options that is '--id default'. The member id in --json "
                + "chooses any item: 'valet get --item ID'.",
        ],
        arguments: [pattern],
        options: [everyone] + outputOptions + ItemOptions.all + PasswordOptions.all,
        schema: ListedItem.schema,
        exitCodes: [
            (.success, "success, also if there is nothing to list"),
            (.damaged, "some items are damaged; the others were listed"),
            (
                .locked,
                "some items are locked, and nothing was listed: '--accessibility "
                    + "after-first-unlock' lists those that are not"
            ),
        ],
        examples: [
            ("valet list", "All secrets that the command stored."),
            ("valet list --all --sort modified", "Everything, what changed last at the end."),
            ("valet list --app com.example.server --json", "For another program, for scripts."),
            ("valet list --names 'db-*'", "The names that start with db-."),
            (
                "valet list --null --id default | xargs -0 -n 1 valet get",
                "The values of the secrets that KEY alone chooses."
            ),
            ("valet list --tree 'servers/*'", "Those that start with servers/, as a tree."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let scope = try ItemOptions.scope(values)
        let queries = try queries(values, scope)
        let pattern = values[pattern].map(NamePattern.init)
        let format = try format(values, showingApplications: values.has(everyone))
        let keychain = try context.keychain(for: scope.requester)
        let count = try keychain.write(queries, format, context.console) { item in
            pattern?.matches(item) ?? true
        }
        guard count == 0, [.table, .tree].contains(format.form) else { return .success }
        if !values.has(everyone) {
            try hint(keychain, context.console)
        } else if pattern == nil {
            context.console.hint(isEmpty)
        }
        return .success
    }

    /// The searches to make; nil for the items of every application.
    static func queries(
        _ values: ParsedValues, _ scope: Scope
    ) throws(CLIError) -> [ItemQuery]? {
        let password = try PasswordOptions(values)
        if values.has(everyone) {
            let narrow = (ItemOptions.all + PasswordOptions.all).first {
                $0 != ItemOptions.json && (values.isGiven($0) || values.has($0))
            }
            guard let narrow else { return nil }
            throw .usage("'--all' and '\(narrow.spelling)' exclude each other")
        }
        if values.isGiven(ItemOptions.identifier) || password != nil {
            let selection = ItemSelection(scope: scope, key: nil, password: password)
            return selection.queries.map { query in
                var query = query
                if let account = values[PasswordOptions.account] {
                    query.attributes[.account] = .text(account)
                }
                return query
            }
        }
        return ItemClass.allCases.map {
            var query = ItemQuery(
                $0, accessGroup: scope.requester.group, synchronizable: scope.synchronizable)
            if scope.isAccessibilityChosen { query.protectionClass = scope.accessibility }
            return query
        }
    }

    /// What the options say about the output.
    fileprivate static func format(
        _ values: ParsedValues, showingApplications: Bool
    ) throws(CLIError) -> ListFormat {
        var format = ListFormat(showsApplications: showingApplications)
        format.order.key = values[sort].flatMap(ListOrder.Key.init) ?? .owner
        format.order.isReversed = values.has(reverse)
        if values.has(tree) {
            let other = [names, null, ItemOptions.json].first(where: values.has)
            guard let excluded = other ?? (values.isGiven(sort) ? sort : nil) else {
                format.form = .tree
                format.order.key = showingApplications ? .app : .owner
                return format
            }
            throw .usage("'--tree' and '\(excluded.spelling)' exclude each other")
        }
        let chosen = [names, null, ItemOptions.json].filter(values.has)
        if chosen.contains(ItemOptions.json) { format.form = .json }
        if chosen.contains(names) { format.form = .names(areExact: false) }
        if chosen.contains(null) { format.form = .names(areExact: true) }
        if chosen.count > 1, chosen.contains(ItemOptions.json) {
            throw .usage("'\(chosen[0].spelling)' and '--json' exclude each other")
        }
        return format
    }

    /// Says where secrets are if this list has none.
    private static func hint(
        _ keychain: CommandKeychain, _ console: any Console
    ) throws(CLIError) {
        var isThere = false
        let omission = try requesting(
            keychain.forEachItem(nil) { _ in
                isThere = true
                return false
            })
        let place = "application \(quoted(keychain.applicationIdentifier))"
        console.hint(
            isThere || omission != nil
                ? "nothing of \(place) matches; 'valet list --all' shows what other applications "
                    + "and valets have stored"
                : isEmpty)
    }

    private static let isEmpty = "the keychain is empty: 'valet set KEY' stores a secret"
}

/// `valet search PATTERN`.
enum SearchCommand {
    private static let pattern = ArgumentDeclaration(
        name: "PATTERN", help: "part of a name, owner, application or label, or a pattern")

    static let declaration = CommandDeclaration(
        name: "search", abstract: "find secrets of every application by name",
        aliases: ["find"], synonyms: ["grep"],
        discussion: [
            "Looks through the names, owners, applications and labels of all items, never through "
                + "their values. PATTERN is as in 'valet list'. Exits with 44 if nothing matches."
        ],
        arguments: [pattern], options: ListCommand.outputOptions + [ItemOptions.json],
        schema: ListedItem.schema,
        exitCodes: [
            (.notFound, "nothing matches"),
            (.damaged, "some items are damaged; the others were listed"),
            (.locked, "some items are locked, and nothing was listed"),
        ],
        examples: [
            ("valet search mail", "Everything with 'mail' in a name."),
            ("valet search '*.example.com' --names", "Names alone, for scripts."),
        ])

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let pattern = NamePattern(values[pattern] ?? "")
        let format = try ListCommand.format(values, showingApplications: true)
        let keychain = try context.keychain(for: Requester())
        let count = try keychain.write(nil, format, context.console) { item in
            pattern.matches(item) || pattern.matches(item.group) || pattern.matches(item.label)
        }
        return count == 0 ? .notFound : .success
    }
}

extension CommandKeychain {
    /// Writes the items that `queries` find and `isShown` accepts; without queries, those of every
    /// application. Returns how many were written.
    ///
    /// - Throws: ``ExitCode/damaged`` after the sound items were written.
    fileprivate func write(
        _ queries: [ItemQuery]?, _ format: ListFormat, _ console: any Console,
        _ isShown: (ListedItem) -> Bool
    ) throws(CLIError) -> Int {
        var omission: KeychainFailure?
        var output = ListOutput(console: console, format: format)
        try output.write { (body) throws(CLIError) in
            let found = try requesting(
                forEachItem(queries) { item in
                    if isShown(item) { body(item) }
                    return true
                })
            omission = found ?? omission
        }
        guard let omission else { return output.count }
        let error = CLIError(omission)
        throw CLIError(
            error.code, "the list is incomplete: " + error.message,
            hint: error.hint ?? "'valet doctor' shows the damage")
    }
}
