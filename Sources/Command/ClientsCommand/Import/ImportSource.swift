// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLI
internal import ValetSealing
internal import ValetSystem

/// Reads the source that `valet import --from` names, with the reader for its format. Sources are
/// never changed.
struct ImportSource {
    private let values: ParsedValues
    private let scope: Scope
    private let context: Context

    /// The largest input. ``ExportVerb`` warns of a larger export.
    static let maximumByteCount = 1 << 30

    init(_ values: ParsedValues, _ scope: Scope, _ context: Context) {
        self.values = values
        self.scope = scope
        self.context = context
    }

    func read() throws(CLIError) -> ImportedItems {
        switch values[ImportHelp.from] {
        case "secret-service":
            return try Keyring.read(skipsLocked: values.has(ImportHelp.skipUnreadable))
        case "pass":
            let store = try PassStore(
                folder: values[ImportHelp.file],
                skipsUnreadable: values.has(ImportHelp.skipUnreadable), scope)
            return try store.read(context.console)
        case "netrc": return try NetrcText.items(in: try input(defaultFile: ".netrc"))
        case "dotenv": return try DotenvText.items(in: try input(), scope)
        case "json": return try JSONExport.items(in: try input(), scope)
        case "csv": return try LoginTable.items(in: try input(), scope)
        case "macos-dump": return try KeychainDump.items(in: try input())
        case "git-credentials": return try gitPasswords()
        case "docker-config":
            let folder = Environment.ofProcess.text("DOCKER_CONFIG")
            return try DockerConfig.items(
                in: try input(
                    defaultFile: ".docker/config.json", instead: folder.map { $0 + "/config.json" })
            )
        case "aws-credentials":
            let file = Environment.ofProcess.text("AWS_SHARED_CREDENTIALS_FILE")
            return try AWSProfiles.items(
                in: try input(defaultFile: ".aws/credentials", instead: file))
        case "aws-csv": return try AWSProfiles.items(inCSV: try input(), scope)
        default:
            throw .usage(
                "expected '--from SOURCE'", hint: "'valet import --help' lists the sources")
        }
    }

    /// The passwords in the files that git's helper `store` reads, or in FILE alone.
    private func gitPasswords() throws(CLIError) -> ImportedItems {
        var found = ImportedItems()
        do {
            try GitStore.add(try input(defaultFile: ".git-credentials"), to: &found)
        } catch {
            guard values[ImportHelp.file] == nil, error.code == .notFound else { throw error }
            try GitStore.add(try otherGitFile(), to: &found)
            return found
        }
        guard values[ImportHelp.file] == nil else { return found }
        do {
            try GitStore.add(try otherGitFile(), to: &found)
        } catch {
            guard error.code == .notFound else { throw error }
        }
        return found
    }

    private func otherGitFile() throws(CLIError) -> SecretValue {
        let folder = Environment.ofProcess.text("XDG_CONFIG_HOME")
        return try input(
            defaultFile: ".config/git/credentials", instead: folder.map { $0 + "/git/credentials" })
    }

    /// The text of the file that the argument names, of the source's own file, or of standard
    /// input: UTF-8 without a byte order mark.
    ///
    /// - Parameter defaultFile: The source's own file in the home folder. With it, standard input
    ///   is read for "-" only, because a script's standard input is often empty.
    /// - Parameter other: The file that a variable names in its place.
    private func input(
        defaultFile: String? = nil, instead other: String? = nil
    ) throws(CLIError) -> SecretValue {
        if let path = values[ImportHelp.file], path != "-" {
            return try InputText.decoded(read(path), quoted(path))
        }
        if values[ImportHelp.file] == nil, let defaultFile {
            if let other {
                return try InputText.decoded(read(other), quoted(other))
            }
            guard let home = Environment.ofProcess.text("HOME") else {
                throw .usage("expected FILE: there is no home folder with \(defaultFile)")
            }
            return try InputText.decoded(read("\(home)/\(defaultFile)"), "~/\(defaultFile)")
        }
        guard !context.console.isInputTerminal else {
            throw .usage("expected FILE, or a pipe to standard input")
        }
        let input = try context.console.readInput(atMost: Self.maximumByteCount)
        guard input.byteCount > 0 else {
            throw .usage("standard input is empty", hint: "name the file after the options")
        }
        return try InputText.decoded(input, "the input")
    }

    private func read(_ path: String) throws(CLIError) -> SecretValue {
        let input: SecretValue
        do {
            let file = try PathAndFile.open(path)
            input = try SecretValue.read(from: file.number, atMost: Self.maximumByteCount)
        } catch  where error.systemError == ENOENT {
            throw CLIError(.notFound, "there is no file \(quoted(path))")
        } catch  where error.systemError == EISDIR {
            throw .usage("\(quoted(path)) is a folder", hint: "name a file in it")
        } catch {
            throw CLIError(.failure, "could not read \(quoted(path)): \(error)")
        }
        guard input.byteCount <= Self.maximumByteCount else {
            throw .usage("\(quoted(path)) is larger than \(Self.maximumByteCount >> 20) MiB")
        }
        return input
    }
}

enum InputText {
    /// The text without its byte order mark. UTF-16 with a mark is converted to UTF-8. Other bytes
    /// stay as they are: the readers of the formats check them.
    ///
    /// - Throws: ``ExitCode/damaged`` for UTF-32, for UTF-16 that is not valid, and for UTF-16 or
    ///   UTF-32 without a mark, which has a zero byte among the first two.
    static func decoded(_ input: SecretValue, _ name: String) throws(CLIError) -> SecretValue {
        let head = input.withBytes { bytes in bytes.indices.prefix(4).map { bytes[$0] } }
        if head.starts(with: [0xEF, 0xBB, 0xBF]) { return input.part(3..<input.byteCount) }
        if head == [0xFF, 0xFE, 0, 0] || head == [0, 0, 0xFE, 0xFF] {
            throw failure(name, "is UTF-32")
        }
        if head.starts(with: [0xFF, 0xFE]) || head.starts(with: [0xFE, 0xFF]) {
            return try utf8(input, isLittleEndian: head[0] == 0xFF, name)
        }
        if head.prefix(2).contains(0) { throw failure(name, "is UTF-16 without a mark, or binary") }
        return input
    }

    private static func utf8(
        _ input: SecretValue, isLittleEndian: Bool, _ name: String
    ) throws(CLIError) -> SecretValue {
        var text = SecretText(capacity: input.byteCount)
        try input.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            guard bytes.count % 2 == 0 else { throw failure(name, "is not UTF-16") }
            var high: UInt32?
            for place in stride(from: 2, to: bytes.count, by: 2) {
                let pair = (UInt32(bytes[place]), UInt32(bytes[place + 1]))
                let unit = isLittleEndian ? pair.1 << 8 | pair.0 : pair.0 << 8 | pair.1
                var code: UInt32? = unit
                if let first = high {
                    code =
                        0xDC00..<0xE000 ~= unit
                        ? 0x10000 + (first - 0xD800) << 10 + (unit - 0xDC00) : nil
                    high = nil
                } else if 0xD800..<0xDC00 ~= unit {
                    high = unit
                    continue
                }
                guard let scalar = code.flatMap(Unicode.Scalar.init) else {
                    throw failure(name, "is not UTF-16")
                }
                for byte in Unicode.UTF8.encode(scalar) ?? .init() { text.append(byte) }
            }
            guard high == nil else { throw failure(name, "is not UTF-16") }
        }
        return text.value()
    }

    private static func failure(_ name: String, _ reason: String) -> CLIError {
        CLIError(.damaged, "\(name) \(reason)", hint: "save it again as UTF-8")
    }
}

extension CLIError {
    /// The error for text that the format of a source does not allow.
    static func malformed(_ what: String, line: Int, _ reason: String) -> CLIError {
        CLIError(.damaged, "\(what), line \(line): \(reason)")
    }
}
