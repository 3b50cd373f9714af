// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// `valet list`.
struct ListCommand: Command {
    static let declaration = CommandDeclaration(
        name: "list", abstract: "list secrets by name, never their values",
        synonyms: ["ls"],
        discussion: [
            "Lists all secrets of the application. With --id, --accessibility or --cloud, lists "
                + "only the one valet that these options choose; with --group, only that group.",
            "The columns are: the name; the owner, which is the valet's identifier, the service "
                + "or the server; the kind; when the secret can be read; its size in bytes; and "
                + "its last change, in UTC. The kind is valet, cloud-valet or enclave-valet, or "
                + "generic or internet for a password that no valet stored. Control characters "
                + "are escaped.",
        ],
        options: ItemOptions.all,
        schema: ListedItem.schema,
        exitCodes: [
            (.success, "success, also if there is nothing to list"),
            (.damaged, "some items are damaged; the others were listed"),
            (
                .locked,
                "some items are locked, and nothing was listed: '--id ID --accessibility "
                    + "after-first-unlock' lists the unlocked ones of one valet"
            ),
        ],
        examples: [
            ("valet list", "All secrets that the command stored."),
            ("valet list --app com.example.server --json", "For another program, for scripts."),
        ])

    private let scope: Scope
    private let listsOneValet: Bool
    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        scope = try ItemOptions.scope(values)
        listsOneValet =
            values.isGiven(ItemOptions.identifier) || values.isGiven(ItemOptions.accessibility)
            || values.has(ItemOptions.cloud)
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let keychain = try context.keychain(for: scope.requester)
        var omission: KeychainFailure?
        var output = ListOutput(console: context.console, writesJSON: writesJSON)
        try output.write { (body) throws(CLIError) in
            for query in queries {
                let left = try requesting(read(query, of: keychain, body))
                omission = omission ?? left
            }
        }
        guard let omission else { return .success }
        let error = CLIError(omission)
        throw CLIError(
            error.code, "the list is incomplete: " + error.message,
            hint: error.hint ?? "'valet doctor' shows the damage")
    }

    /// Passes the items that `query` finds to `body`, without canaries. Returns why items are
    /// missing.
    private func read(
        _ query: ItemQuery, of keychain: any ItemAccess, _ body: (ListedItem) -> Void
    ) throws(KeychainFailure) -> KeychainFailure? {
        var listing = try keychain.list(query)
        while !listing.isAtEnd {
            for item in try listing.next() where !item.isCanary { body(item) }
        }
        return listing.omission
    }

    private var queries: [ItemQuery] {
        if listsOneValet { return [scope.service.query] }
        return ItemClass.allCases.map {
            ItemQuery($0, accessGroup: scope.requester.group, synchronizable: .any)
        }
    }
}
