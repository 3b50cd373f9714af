// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSecretMemory

/// `valet get KEY`.
struct GetCommand: Command {
    private static let force = OptionDeclaration(
        name: "force", letter: "f", help: "write binary data even to a terminal")

    static let declaration = CommandDeclaration(
        name: "get", abstract: "write a secret to standard output",
        synonyms: ["show"],
        discussion: [
            "Writes the exact bytes of the secret. To a terminal it adds a newline, and refuses a "
                + "secret that is not text, because terminals act on control characters.",
            ItemOptions.keyDiscussion,
        ],
        arguments: [ItemOptions.key], options: ItemOptions.ofOneSecret + [force],
        schema: [
            ("name", "the key"), ("byteCount", "the size of the secret"),
            ("encoding", "\"utf-8\", or \"base64\" for a secret that is not UTF-8"),
            ("value", "the secret in that encoding"),
        ],
        exitCodes: [(.notFound, ExitCode.notFound.explanation)],
        examples: [
            ("valet get github-token", "Shows the token."),
            (
                "PGPASSWORD=\"$(valet get db-password)\" psql",
                "Passes a password to a program. The shell drops newlines at the end."
            ),
        ])

    private let scope: Scope
    private let key: ItemKey
    private let isForced: Bool
    private let writesJSON: Bool

    init(_ values: ParsedValues) throws(CLIError) {
        scope = try ItemOptions.scope(values)
        key = try ItemOptions.key(values)
        isForced = values.has(Self.force)
        writesJSON = values.has(ItemOptions.json)
    }

    func run(in context: Context) throws(CLIError) -> ExitCode {
        let key = try key.text()
        let value = try readValue(of: key, context)
        let console = context.console
        try value.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            if writesJSON {
                try SecretJSON(key: key).write(bytes, to: console)
            } else {
                try write(bytes, to: console)
            }
        }
        return .success
    }

    private func readValue(of key: String, _ context: Context) throws(CLIError) -> SecretValue {
        let keychain = try context.keychain(for: scope.requester)
        let value: SecretValue?
        do {
            value = try keychain.value(of: scope.name(key))
        } catch {
            throw scope.error(error, about: key, in: keychain)
        }
        guard let value else {
            throw CLIError(.notFound, "\(quoted(key)) in \(scope.description) has no value")
        }
        return value
    }

    private func write(_ bytes: Span<UInt8>, to console: any Console) throws(CLIError) {
        guard console.isOutputTerminal else { return try console.write(bytes) }
        guard isForced || TerminalText.isShowable(bytes) else {
            throw CLIError(
                .failure, "the secret is not text, and standard output is a terminal",
                hint: "redirect the output, or use '--force'")
        }
        try console.write(bytes)
        try console.write("\n")
    }
}

extension Scope {
    /// The error for a failed request about one key.
    func error(
        _ failure: KeychainFailure, about key: String, in keychain: any ItemAccess
    ) -> CLIError {
        guard failure.code == .itemNotFound else { return CLIError(failure) }
        let place = otherAccessibility(of: key, in: keychain).map {
            "it is stored with another accessibility: use '--accessibility \($0.word)'"
        }
        return CLIError(
            .notFound, "no \(quoted(key)) in \(description)",
            hint: place ?? failure.hint.map(Escaping.printable)
                ?? "'valet list' shows the names of the stored secrets")
    }

    /// The other accessibility under which the valet has `key`.
    private func otherAccessibility(
        of key: String, in keychain: any ItemAccess
    ) -> ProtectionClass? {
        ProtectionClass.offered.first { accessibility in
            guard accessibility != self.accessibility else { return false }
            var other = self
            other.accessibility = accessibility
            // An error, as for a locked class, counts as "not found".
            return (try? keychain.contains(other.name(key))) == true
        }
    }
}
