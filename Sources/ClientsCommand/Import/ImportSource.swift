// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI
internal import ValetSecretMemory
internal import ValetSystem
internal import ValetUserPresence

/// Chooses the reader for what the options of `valet import` name, and gets its input. Sources are
/// read, never changed.
struct ImportSource {
    private let values: ParsedValues
    private let scope: Scope
    private let context: Context

    /// Larger than any export.
    static let maximumByteCount = 64 << 20

    init(_ values: ParsedValues, _ scope: Scope, _ context: Context) {
        self.values = values
        self.scope = scope
        self.context = context
    }

    /// All that the source offers.
    func read() throws(CLIError) -> ImportedItems {
        switch values[ImportHelp.from] {
        case "secret-service": return try SecretService.read(scope)
        case "pass":
            return try PassStore(folder: values[ImportHelp.file], scope).read(context.console)
        case "netrc": return try NetrcText.items(in: try input(defaultFile: ".netrc"))
        case "dotenv": return try DotenvText.items(in: try input(), scope)
        case "json": return try JSONExport.items(in: try input(), scope)
        case "csv": return try LoginTable.items(in: try input(), scope)
        case "macos-dump": return try KeychainDump.items(in: try input())
        default:
            throw .usage(
                "expected '--from SOURCE'", hint: "'valet import --help' lists the sources")
        }
    }

    /// The bytes of the file that the argument names, or of standard input.
    private func input(defaultFile: String? = nil) throws(CLIError) -> SecretValue {
        var path = values[ImportHelp.file]
        if path == nil, context.console.isInputTerminal, let defaultFile {
            path = Environment.ofProcess.value("HOME").map { "\($0)/\(defaultFile)" }
        }
        guard let path, path != "-" else {
            guard !context.console.isInputTerminal else {
                throw .usage("expected FILE, or a pipe to standard input")
            }
            return try context.console.readInput(atMost: Self.maximumByteCount)
        }
        var input = SecretInput(capacity: 64 << 10)
        do {
            let file = try NamedFile.open(path)
            while input.byteCount <= Self.maximumByteCount, try input.read(from: file.number) > 0 {}
        } catch let error as SystemError where error.systemError == ENOENT {
            throw CLIError(.notFound, "there is no file \(quoted(path))")
        } catch {
            throw CLIError(.failure, "could not read \(quoted(path)): \(error)")
        }
        let count = input.byteCount
        guard count <= Self.maximumByteCount else {
            throw .usage("\(quoted(path)) is larger than \(Self.maximumByteCount >> 20) MiB")
        }
        return input.value(byteCount: count)
    }
}

extension CLIError {
    /// The error for text that a source cannot have.
    static func malformed(_ what: String, line: Int, _ reason: String) -> CLIError {
        CLIError(.damaged, "\(what), line \(line): \(reason)")
    }
}
