// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// `valet remove KEY` and `valet remove --all`.
struct RemoveCommand: Command {
    private static let all = OptionDeclaration(
        name: "all", help: "remove every secret of the valet")
    private static let ifExists = OptionDeclaration(
        name: "if-exists", help: "succeed if there is nothing to remove")

    static let declaration = CommandDeclaration(
        name: "remove", abstract: "remove a secret, or all of a valet",
        synonyms: ["rm", "delete"],
        discussion: [
            "A removed secret cannot be recovered. The command asks first, or needs --yes, unless "
                + "there is nothing to remove.",
            "--all empties the one valet that --id, --app, --group, --accessibility and --cloud "
                + "choose, and reports how many secrets were removed.",
            "Up to 1,000 secrets are removed in one transaction: all or none. More are removed in "
                + "batches, so that other programs can write in between. If a later batch fails, "
                + "the error says how many secrets were removed; run the same command again for "
                + "the rest.",
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.optionalKey],
        options: ItemOptions.ofOneSecret + [all, ifExists, KeyOptions.yes],
        schema: [("removed", "how many secrets were removed")],
        exitCodes: [
            (.notFound, "no such secret; never with --all or --if-exists"),
            KeyOptions.noConsent,
        ],
        examples: [
            ("valet remove old-token", "Asks, and removes it."),
            ("valet remove old-token --if-exists --yes", "Makes sure that it does not exist."),
            ("valet remove --all --id staging", "Empties a valet."),
        ])

    private enum Target {
        case key(ItemKey)
        case everything
    }

    private let scope: Scope
    private let target: Target
    private let isFineIfAbsent: Bool
    private let isAgreed: Bool
    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        scope = try ItemOptions.scope(values)
        let hasKey =
            values[ItemOptions.optionalKey] != nil || values.isGiven(ItemOptions.keyDescriptor)
        switch (hasKey, values.has(Self.all)) {
        case (false, true): target = .everything
        case (true, false): target = .key(try ItemOptions.key(values))
        case (true, true): throw .usage("KEY and '--all' exclude each other")
        case (false, false):
            throw .usage(
                "expected KEY, the name of the secret, or '--all'",
                hint: "usage: \(Self.declaration.usage)")
        }
        isFineIfAbsent = values.has(Self.ifExists)
        isAgreed = values.has(KeyOptions.yes)
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let keychain = try context.keychain(for: scope.requester)
        let count =
            switch target {
            case .key(let key): try remove(key.text(), from: keychain, context.console)
            case .everything: try removeEverything(from: keychain, context.console)
            }
        if writesJSON { try context.console.write(.object(["removed": .number(count)])) }
        return .success
    }

    private func remove(
        _ key: String, from keychain: any ItemAccess, _ console: any Console
    ) throws(CLIError) -> Int {
        if !isAgreed {
            let isThere = try requesting(keychain.containsAnything(scope.name(key)))
            if isThere {
                try console.requireConsent(
                    to: "Remove \(quoted(key)) from \(scope.description)?", isGiven: false)
            }
        }
        do {
            return try keychain.delete(scope.name(key).query)
        } catch {
            if error.code == .itemNotFound, isFineIfAbsent { return 0 }
            throw scope.error(error, about: key, in: keychain)
        }
    }

    private func removeEverything(
        from keychain: any ItemAccess, _ console: any Console
    ) throws(CLIError) -> Int {
        if !isAgreed {
            let found = try requesting(secrets(in: keychain.list(scope.service.query)))
            // Damaged secrets are not listed, but are removed with the others.
            if found.count > 0 || found.isPartial {
                try console.requireConsent(
                    to: "Remove \(Self.counted(found.count)) from \(scope.description)?",
                    isGiven: false)
            }
        }
        // The canary is removed with the rest, but is no secret.
        let hasCanary = try requesting(
            keychain.containsAnything(scope.name(ServiceName.canaryAccount)))
        let count = max(0, try deleteAll(keychain) - (hasCanary ? 1 : 0))
        if !writesJSON {
            console.note("valet: removed \(Self.counted(count)) from \(scope.description)")
        }
        return count
    }

    /// How many secrets a listing has, and whether some are missing in it.
    private func secrets(
        in listing: any Listing
    ) throws(KeychainFailure) -> (count: Int, isPartial: Bool) {
        var (listing, count) = (listing, 0)
        while !listing.isAtEnd { count += try listing.next().count { !$0.isCanary } }
        return (count, listing.omission != nil)
    }

    private func deleteAll(_ keychain: any ItemAccess) throws(CLIError) -> Int {
        do {
            return try keychain.delete(scope.service.query)
        } catch {
            if error.code == .itemNotFound { return 0 }
            throw CLIError(error)
        }
    }

    private static func counted(_ count: Int) -> String {
        count == 1 ? "1 secret" : "\(count) secrets"
    }
}
