// SPDX-License-Identifier: Apache-2.0

// The verbs `grants` and `grants remove`: which programs use what `valet serve` keeps without being
// asked for.

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// `valet grants`.
enum GrantsCommand {
    static let declaration = CommandDeclaration(
        name: "grants", abstract: "list the programs that you have allowed something always",
        discussion: [
            "Where the policy of 'valet serve' says 'ask', you are asked whether a program may use "
                + "a collection of the desktop's secrets. 'Always' is remembered in the keychain, "
                + "sealed, until you take it back with 'valet grants remove'. It is for the "
                + "program that you were shown: a Flatpak or snap by its name, any other one by "
                + "its file as it was then. Once that file has changed, by an update too, you are "
                + "asked again.",
            "A grant never opens what the policy denies. Backups and other devices do not get it.",
            "The columns are: the program, as its path, 'flatpak:ID' or 'snap:NAME'; the "
                + "collection; since when; and the last use, to within a day. Times are in UTC.",
        ],
        options: [ItemOptions.json],
        schema: [
            ("grants", "an array of objects, in the order of the table:"),
            ("  program", "a path, flatpak:ID or snap:NAME"),
            ("  collection", "the name of the collection on the bus, such as login"),
            ("  since", "ISO 8601, as 2001-01-01T00:00:00Z"),
            ("  lastUsed", "the same; null if it was not used yet"),
        ],
        exitCodes: [
            (.damaged, "some grants are damaged; the others were listed"),
            (.locked, "the keychain was not unlocked since it was last closed altogether"),
        ],
        examples: [
            ("valet grants", "Shows them."),
            ("valet grants remove /usr/bin/geary", "Asks for this program again from now on."),
        ])

    static func run(_ values: ParsedValues, in context: Context) throws(CLIError) -> ExitCode {
        let keychain = try context.keychain(for: Requester())
        let list = try requesting(keychain.attempt(keychain.session.grants()))
        let isJSON = values.has(ItemOptions.json)
        if isJSON {
            try context.console.write(.object(["grants": .array(list.grants.map(\.json))]))
        } else if !list.grants.isEmpty {
            try context.console.write(table(list.grants))
        } else if !list.hasDamage {
            context.console.hint("no program may use the desktop's secrets always")
        }
        guard list.hasDamage else { return .success }
        throw CLIError(
            .damaged, "the list is incomplete: a grant is damaged, and its program is asked for",
            hint: remedy)
    }

    fileprivate static let remedy = "'valet grants remove --all' takes all back, also damaged ones"

    private static func table(_ grants: [AccessGrant]) -> String {
        let rows =
            [["PROGRAM", "COLLECTION", "SINCE", "LAST USED"]]
            + grants.map { grant in
                [
                    Escaping.printable(grant.program.name), Escaping.printable(grant.collection),
                    grant.sinceText ?? "-", grant.lastUseText ?? "-",
                ]
            }
        let widths = (0..<3).map { column in rows.map { $0[column].width + 2 }.max() ?? 0 }
        return rows.map { row in
            zip(row, widths).map { $0.padded(to: $1) }.joined() + row[3] + "\n"
        }.joined()
    }
}

/// `valet grants remove`.
enum GrantsRemoveCommand {
    private static let program = ArgumentDeclaration(
        name: "PROGRAM", help: "the program, as 'valet grants' shows it", isRequired: false)
    private static let collection = ArgumentDeclaration(
        name: "COLLECTION", help: "this collection alone", isRequired: false)
    private static let everything = OptionDeclaration(
        name: "all", letter: "a", help: "of all programs")

    static let declaration = CommandDeclaration(
        name: "grants remove", abstract: "take back what a program was allowed always",
        aliases: ["rm"], synonyms: ["revoke"],
        discussion: [
            "Takes effect at once, also in a service that runs: the program is asked for again at "
                + "its next call."
        ],
        arguments: [program, collection], options: [everything],
        exitCodes: [
            (.notFound, "there is no such grant"),
            (.damaged, "a grant is damaged and could not be taken back: its program is asked for"),
        ],
        examples: [
            ("valet grants remove flatpak:org.gnome.Geary login", "One collection of a program."),
            ("valet grants remove --all", "Everything."),
        ])

    static func run(_ values: ParsedValues, in context: Context) throws(CLIError) -> ExitCode {
        let (name, isAll) = (values[program], values.has(everything))
        guard (name == nil) == isAll else {
            throw .usage(
                isAll ? "'--all' and PROGRAM exclude each other" : "name PROGRAM, or use '--all'",
                hint: "'valet grants' lists the programs")
        }
        let chosen = values[collection]
        let keychain = try context.keychain(for: Requester())
        let count = try requesting(
            keychain.attempt(keychain.session.takeBackGrants(of: name, chosen)))
        guard count > 0 || isAll else {
            let known = try requesting(keychain.attempt(keychain.session.grants()))
            guard !known.hasDamage else {
                throw CLIError(
                    .damaged, "a grant is damaged, perhaps that of \(quoted(name ?? ""))",
                    hint: GrantsCommand.remedy)
            }
            throw CLIError(
                .notFound, "\(quoted(name ?? "")) has no such grant",
                hint: "'valet grants' lists the programs")
        }
        context.console.note("valet: took back \(count == 1 ? "1 grant" : "\(count) grants")")
        return .success
    }
}

extension KeychainSession {
    /// - Parameter name: The program; nil for all.
    fileprivate func takeBackGrants(
        of name: String?, _ collection: String?
    ) throws(KeychainFailure) -> Int {
        guard let name else { return try removeAllGrants() }
        return try removeGrants(of: name, collection: collection)
    }
}

extension AccessGrant {
    fileprivate var sinceText: String? { Self.text(since) }
    fileprivate var lastUseText: String? { lastUse.flatMap(Self.text) }

    private static func text(_ seconds: UInt64) -> String? {
        // The seconds from 1970 to 2001.
        Timestamp.text(secondsSince2001: Double(seconds) - 978_307_200)
    }

    fileprivate var json: JSON {
        .object([
            "program": .string(program.name), "collection": .string(collection),
            "since": .text(sinceText), "lastUsed": .text(lastUseText),
        ])
    }
}

extension Finding {
    /// What `doctor` says of grants; nil if there are none, or if they cannot be read now.
    static func grants(_ session: KeychainSession) -> Finding? {
        guard let list = try? session.grants() else { return nil }
        guard !list.hasDamage else {
            return Finding(
                .warning, "a grant is damaged: its program is asked for again",
                hint: GrantsCommand.remedy)
        }
        let count = list.grants.count
        guard count > 0 else { return nil }
        return Finding(
            .fine,
            (count == 1 ? "1 grant lets a program" : "\(count) grants let programs")
                + " use the desktop's secrets without a question: 'valet grants'")
    }
}
