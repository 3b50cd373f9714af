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

    /// The programs whose exports are read, whatever their form.
    static let makers = [
        "bitwarden", "1password", "keepassxc", "chrome", "firefox", "safari", "lastpass",
        "dashlane", "proton", "nordpass", "enpass", "keeper",
    ]

    func read() throws(CLIError) -> ImportedItems {
        let source = values[ImportHelp.from]
        guard !values.has(ImportHelp.whole) || isStoreOfPass else {
            throw .usage("'--whole' needs '--from pass'")
        }
        if let source, Self.makers.contains(source) { return try exported(from: source) }
        switch source {
        case "secret-service":
            return try Keyring.read(skipsLocked: values.has(ImportHelp.skipUnreadable))
        case "pass", "gopass": return try PassStore(values, scope).read(context.console)
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
        default: return try guessed()
        }
    }

    /// Whether the source is a store of pass, as far as its name or its kind tells.
    private var isStoreOfPass: Bool {
        guard let source = values[ImportHelp.from] else {
            return values[ImportHelp.file].map { PathAndFile.entries(of: $0) != nil } == true
        }
        return source == "pass" || source == "gopass"
    }

    // MARK: Files whose content tells their form

    /// The items of a file that no option describes. Says what it is taken for.
    private func guessed() throws(CLIError) -> ImportedItems {
        guard let file = values[ImportHelp.file] else {
            throw .usage(
                "expected FILE, or '--from SOURCE'", hint: "'valet import --help' lists the sources"
            )
        }
        if PathAndFile.entries(of: file) != nil {
            guard FileIdentity(of: file + "/.gpg-id") != nil else {
                throw .usage(
                    "\(quoted(file)) is a folder", hint: "name a file in it, or a store of pass")
            }
            context.console.note("valet: \(quoted(file)) is read as a store of pass")
            return try PassStore(values, scope).read(context.console)
        }
        let (input, name) = try rawInput()
        let form = try FileForm(of: input, called: name)
        context.console.note("valet: \(name) is read as \(form.title)")
        return try items(in: input, name, form)
    }

    /// The items of an export of a program.
    private func exported(from maker: String) throws(CLIError) -> ImportedItems {
        let (input, name) = try rawInput()
        let form: FileForm
        do {
            form = try FileForm(of: input, called: name)
        } catch {
            // A table without the names of its columns.
            guard maker == "keeper", error.code == .usage else { throw error }
            return try LoginTable.items(
                in: InputText.decoded(input, name), scope, under: LoginHeader.ofKeeper)
        }
        switch form {
        case .table, .archive, .bitwarden, .onePassword: return try items(in: input, name, form)
        default:
            throw CLIError(
                .damaged, "\(name) is no export of a password manager, but \(form.title)",
                hint: "without '--from', 'valet import FILE' reads it as that")
        }
    }

    private func items(
        in input: SecretValue, _ name: String, _ form: FileForm
    ) throws(CLIError) -> ImportedItems {
        if form == .archive {
            guard let file = values[ImportHelp.file], file != "-" else {
                throw .usage("a ZIP archive is read from a file only", hint: "name it")
            }
            return try JSONExport.items(in: OnePasswordArchive.document(in: file), scope)
        }
        let text = try InputText.decoded(input, name)
        switch form {
        case .archive, .export, .bitwarden, .onePassword, .object, .docker:
            return try JSONExport.items(in: text, scope)
        case .table: return try LoginTable.items(in: text, scope)
        case .awsTable: return try AWSProfiles.items(inCSV: text, scope)
        case .awsProfiles: return try AWSProfiles.items(in: text)
        case .netrc: return try NetrcText.items(in: text)
        case .variables: return try DotenvText.items(in: text, scope)
        case .dump: return try KeychainDump.items(in: text)
        case .gitPasswords:
            var found = ImportedItems()
            try GitStore.add(text, to: &found)
            return found
        }
    }

    /// The bytes of FILE or of standard input, and what they are called in messages.
    private func rawInput() throws(CLIError) -> (SecretValue, name: String) {
        if let path = values[ImportHelp.file], path != "-" { return (try read(path), quoted(path)) }
        return (try standardInput(), "the input")
    }

    // MARK: Files

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
        return try InputText.decoded(standardInput(), "the input")
    }

    private func standardInput() throws(CLIError) -> SecretValue {
        guard !context.console.isInputTerminal else {
            throw .usage("expected FILE, or a pipe to standard input")
        }
        let input = try context.console.readInput(atMost: Self.maximumByteCount)
        guard input.byteCount > 0 else {
            throw .usage("standard input is empty", hint: "name the file after the options")
        }
        return input
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
