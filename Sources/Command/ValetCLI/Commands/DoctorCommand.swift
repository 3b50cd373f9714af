// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// `valet doctor`.
enum DoctorCommand {
    private static let discardsLog = OptionDeclaration(
        name: "discard-log", help: "first set a damaged log aside, with the changes it has lost")
    private static let repairsIndexes = OptionDeclaration(
        name: "repair-indexes", help: "first rebuild indexes and search entries from the items")
    private static let purgesDamaged = OptionDeclaration(
        name: "purge-damaged", help: "first delete the former values that are damaged")

    static let declaration = CommandDeclaration(
        name: "doctor", abstract: "check files, keys and every item",
        discussion: [
            "Writes one line for each check. An arrow marks what helps. Warnings do not change "
                + "the exit code. Only --discard-log, --repair-indexes and --purge-damaged "
                + "change anything. --discard-log and --purge-damaged ask first, or need --yes.",
            "The log, keychain.db-wal, holds the latest changes. If it is damaged, the keychain "
                + "refuses to work, because the next change would overwrite the rest of the log. "
                + "--discard-log keeps the log as keychain.db-wal.damaged, and continues without "
                + "the changes that it has lost.",
            "--repair-indexes rebuilds the database from its items: indexes, search entries and "
                + "the structure of the file. It needs the keychain unlocked, keeps every item "
                + "and former value, and changes nothing if it cannot; with --yes it goes on "
                + "without those that damaged pages have lost. Other programs cannot write while "
                + "it runs. If a damaged index hid an item and the item was stored again, the "
                + "older one becomes a former value.",
            "A damaged item becomes a damaged former value when a new item replaces it or the "
                + "keys change. It can no longer be opened. Until --purge-damaged deletes it, the "
                + "error for a missing item mentions it.",
        ],
        options: [
            ItemOptions.json, discardsLog, repairsIndexes, purgesDamaged, KeyOptions.yes,
        ],
        schema: schema,
        exitCodes: [
            (.success, "the keychain works"), (.failure, "the keychain does not work"),
            (.damaged, "stored data was changed or lost"),
        ],
        examples: [("valet doctor", "Run this when something seems wrong.")])

    static let schema: [(member: String, help: String)] = [
        ("findings", "an array of objects:"),
        ("  severity", "fine, warning, broken or damage"),
        ("  message", "the finding"), ("  path", "the file or folder, or null"),
        ("  hint", "what helps, or null"),
    ]

    static func run(
        _ values: ParsedValues, in context: Context
    ) throws(CLIError) -> ExitCode {
        let isAgreed = values.has(KeyOptions.yes)
        let changes = [discardsLog, repairsIndexes, purgesDamaged]
        guard !isAgreed || changes.contains(where: values.has) else {
            throw .usage(
                "'--yes' needs '--discard-log', '--repair-indexes' or '--purge-damaged'")
        }
        if values.has(discardsLog) { try discardLog(context, isAgreed: isAgreed) }
        if values.has(repairsIndexes) { try repairIndexes(context, isAgreed: isAgreed) }
        if values.has(purgesDamaged) { try purgeDamaged(context, isAgreed: isAgreed) }
        let findings = findings(context)
        let isChange = changes.contains { values.has($0) }
        try context.console.report(ofEffect: isChange) { () throws(CLIError) in
            try Finding.write(findings, asJSON: values.has(ItemOptions.json), context.console)
        }
        let severities = Set(findings.map(\.severity))
        if severities.contains(.damage) { return .damaged }
        return severities.contains(.broken) ? .failure : .success
    }

    private static func discardLog(_ context: Context, isAgreed: Bool) throws(CLIError) {
        let keychain = try requesting(context.own()).store.keychain
        try context.console.requireConsent(
            to: "Continue without the changes that a damaged log has lost?", isGiven: isAgreed)
        let path = try requesting(keychain.discardDamagedLog())
        context.console.note(
            path.map { "valet: the damaged log is kept as " + Escaping.printable($0) }
                ?? "valet: the log is not damaged, and nothing was discarded")
    }

    private static func repairIndexes(_ context: Context, isAgreed: Bool) throws(CLIError) {
        let store = try requesting(context.own()).store
        let repair = try context.unlocking(store, nil) { () throws(KeychainFailure) in
            try store.keychain.repairIndexes(acceptingLoss: isAgreed)
        }
        let rows = repair.rowCount == 1 ? "1 row" : "\(repair.rowCount) rows"
        context.console.note("valet: rebuilt the indexes from \(rows)")
        if repair.damagedCount > 0 {
            context.console.note(
                "valet: rows that do not open, kept as damaged items: \(repair.damagedCount)")
        }
        if repair.formerCount > 0 {
            context.console.note(
                "valet: rows whose name a later row has, kept as former values: "
                    + "\(repair.formerCount)")
        }
        if repair.mayLackRows {
            context.console.note("valet: warning: rows of damaged pages may be missing")
        }
    }

    private static func purgeDamaged(_ context: Context, isAgreed: Bool) throws(CLIError) {
        let store = try requesting(context.own()).store
        try context.console.requireConsent(
            to: "Delete the former values that are damaged, for good?", isGiven: isAgreed)
        let count = try context.unlocking(store, nil) { () throws(KeychainFailure) in
            try store.keychain.purgeDamaged()
        }
        context.console.note("valet: deleted \(FormerValue.counted(count)) that were damaged")
    }

    /// A keychain that cannot be opened is a finding, not an error.
    private static func findings(_ context: Context) -> [Finding] {
        do {
            let session = try context.own()
            let findings = session.store.keychain.diagnose()
            return findings + [Finding.grants(session)].compactMap(\.self)
        } catch {
            let isDamage = ExitCode(error.code) == .damaged
            return [Finding(isDamage ? .damage : .broken, "\(error)", hint: error.commandHint)]
        }
    }
}

extension Finding {
    static func write(
        _ findings: [Finding], asJSON isJSON: Bool, _ console: any Console
    ) throws(CLIError) {
        if isJSON {
            try console.write(.object(["findings": .array(findings.map(\.json))]))
        } else {
            try console.write(findings.map(\.text).joined())
        }
    }

    private var text: String {
        let place = path.map { " (\($0))" } ?? ""
        let line = "\(severity.rawValue): ".padded(to: 9) + Escaping.printable(message + place)
        let help = hint.map { "\n" + "".padded(to: 9) + "-> " + Escaping.printable($0) } ?? ""
        return line + help + "\n"
    }

    private var json: JSON {
        .object([
            "severity": .string(severity.rawValue), "message": .string(message),
            "path": .text(path), "hint": .text(hint),
        ])
    }
}
