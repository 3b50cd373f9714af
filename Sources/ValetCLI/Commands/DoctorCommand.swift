// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import KeychainStore

/// `valet doctor`.
struct DoctorCommand: Command {
    static let declaration = CommandDeclaration(
        name: "doctor", abstract: "check files, keys and every item; change nothing",
        discussion: [
            "Writes a line for everything that was checked, with what helps behind an arrow. "
                + "Warnings do not change the exit code."
        ],
        options: [ItemOptions.json],
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

    init(_ values: ParsedValues) throws(CLIError) {
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
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
