// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel

/// `valet remove KEY` and `valet remove --all`.
struct RemoveCommand: Command {
    private static let all = OptionDeclaration(
        name: "all", help: "remove every secret of the valet")
    private static let ifExists = OptionDeclaration(
        name: "if-exists", help: "succeed when there is nothing to remove")
    private static let yes = OptionDeclaration(
        name: "yes", letter: "y", help: "do not ask before removing everything")

    static let declaration = CommandDeclaration(
        name: "remove", abstract: "remove a secret, or all of a valet",
        synonyms: ["rm", "delete"],
        discussion: [
            "With --all, says how many secrets were removed. Asks first when standard input is a "
                + "terminal. Only the one valet is emptied that --id, --app, --group, "
                + "--accessibility and --cloud choose."
        ],
        arguments: [ItemOptions.optionalKey], options: ItemOptions.all + [all, ifExists, yes],
        schema: [("removed", "how many secrets were removed")],
        exitCodes: [(.notFound, "there is no such secret; with --all or --if-exists never")],
        examples: [
            ("valet remove old-token --if-exists", "Makes sure that it is gone."),
            ("valet remove --all --id staging", "Empties a valet."),
        ])

    private enum Target {
        case key(String)
        case everything
    }

    private let scope: Scope
    private let target: Target
    private let isFineIfAbsent: Bool
    private let asksFirst: Bool
    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        scope = try ItemOptions.scope(values)
        switch (values[ItemOptions.optionalKey], values.has(Self.all)) {
        case (nil, true): target = .everything
        case (_?, false): target = .key(try ItemOptions.key(values))
        case (_?, true): throw .usage("a KEY does not go with '--all'")
        case (nil, false):
            throw .usage(
                "expected KEY, the name of the secret, or '--all'",
                hint: "usage: \(Self.declaration.usage)")
        }
        isFineIfAbsent = values.has(Self.ifExists)
        asksFirst = !values.has(Self.yes)
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let keychain = try context.keychain(for: scope.requester)
        let count =
            switch target {
            case .key(let key): try remove(key, from: keychain)
            case .everything: try removeEverything(from: keychain, context.console)
            }
        if writesJSON { try context.console.write(.object(["removed": .number(count)])) }
        return .success
    }

    private func remove(_ key: String, from keychain: any ItemAccess) throws(CLIError) -> Int {
        do {
            return try keychain.delete(scope.query(key: key))
        } catch {
            if error.code == .itemNotFound, isFineIfAbsent { return 0 }
            throw scope.error(error, about: key, in: keychain)
        }
    }

    private func removeEverything(
        from keychain: any ItemAccess, _ console: any Console
    ) throws(CLIError) -> Int {
        let items = try asking { () throws(KeychainFailure) in
            try keychain.list(scope.query()).items
        }
        let secretCount = items.count { !$0.isCanary }
        if asksFirst, console.isInputTerminal, secretCount > 0 {
            let question = "Remove \(Self.counted(secretCount)) from \(scope.name)?"
            guard try console.confirm(question) else {
                throw CLIError(.denied, "nothing was removed")
            }
        }
        // The canary goes with the rest, but nobody stored it.
        let count = try deleteAll(keychain) - (items.count - secretCount)
        if !writesJSON {
            console.note("valet: removed \(Self.counted(max(0, count))) from \(scope.name)")
        }
        return max(0, count)
    }

    private func deleteAll(_ keychain: any ItemAccess) throws(CLIError) -> Int {
        do {
            return try keychain.delete(scope.query())
        } catch {
            if error.code == .itemNotFound { return 0 }
            throw CLIError(error)
        }
    }

    private static func counted(_ count: Int) -> String {
        count == 1 ? "1 secret" : "\(count) secrets"
    }
}
