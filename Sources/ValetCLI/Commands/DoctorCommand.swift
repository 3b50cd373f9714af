// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import KeychainStore

/// `valet doctor`.
struct DoctorCommand: Command {
    private static let clearsQuarantine = OptionDeclaration(
        name: "clear-quarantine", help: "first remove damaged items that were set aside")

    static let declaration = CommandDeclaration(
        name: "doctor", abstract: "check files, keys and every item",
        discussion: [
            "Writes a line for everything that was checked, with what helps behind an arrow. "
                + "Warnings do not change the exit code. Changes nothing without "
                + "--clear-quarantine, which asks first, or takes --yes.",
            "Damaged items are set aside when something takes their place or the keys change. "
                + "They do not open any more; until they are removed, whoever does not find an "
                + "item is told of them.",
        ],
        options: [ItemOptions.json, clearsQuarantine, KeyOptions.yes],
        schema: [
            ("findings", "an array of objects:"),
            ("  severity", "fine, warning, broken or damage"),
            ("  message", "what was found"), ("  path", "the file or folder, or null"),
            ("  hint", "what helps, or null"),
        ],
        exitCodes: [
            (.success, "the keychain works"), (.failure, "something keeps it from working"),
            (.damaged, "something stored was changed or lost"),
        ],
        examples: [("valet doctor", "What to run when something is strange.")])

    private let writesJSON: Bool
    private let clears: Bool
    private let isAgreed: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        writesJSON = values.has(ItemOptions.json)
        clears = values.has(Self.clearsQuarantine)
        isAgreed = values.has(KeyOptions.yes)
        guard clears || !isAgreed else { throw .usage("'--yes' goes with '--clear-quarantine'") }
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        if clears { try clearQuarantine(context) }
        let findings = findings(context)
        if writesJSON {
            try context.console.write(.object(["findings": .array(findings.map(\.json))]))
        } else {
            try context.console.write(findings.map(\.text).joined())
        }
        let severities = Set(findings.map(\.severity))
        if severities.contains(.damage) { return .damaged }
        return severities.contains(.broken) ? .failure : .success
    }

    private func clearQuarantine(_ context: Context) throws(CLIError) {
        let keychain = try context.keychain(for: Requester())
        try context.console.requireConsent(
            to: "Remove the damaged items that were set aside, for good?", isGiven: isAgreed)
        let count = try asking { () throws(KeychainFailure) in try keychain.clearQuarantine() }
        let items = count == 1 ? "1 damaged item" : "\(count) damaged items"
        context.console.note("valet: removed \(items) that had been set aside")
    }

    /// A keychain that does not even open is a finding, not an error.
    private func findings(_ context: Context) -> [Finding] {
        do {
            return try context.open(Requester()).diagnose()
        } catch {
            let isDamage = ExitCode(error.code) == .damaged
            return [Finding(isDamage ? .damage : .broken, "\(error)", hint: error.hint)]
        }
    }
}

extension Finding {
    fileprivate var text: String {
        let place = path.map { " (\($0))" } ?? ""
        let line = "\(severity.rawValue): ".padded(to: 9) + Escaping.printable(message + place)
        let help = hint.map { "\n" + "".padded(to: 9) + "-> " + Escaping.printable($0) } ?? ""
        return line + help + "\n"
    }

    fileprivate var json: JSON {
        .object([
            "severity": .string(severity.rawValue), "message": .string(message),
            "path": .text(path), "hint": .text(hint),
        ])
    }
}
