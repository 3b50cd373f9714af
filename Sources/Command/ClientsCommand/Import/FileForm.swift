// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// The form of a file, which its content tells.
enum FileForm: Equatable {
    case export, bitwarden, onePassword, object
    /// A table of logins, with the program that writes such columns, if one is known.
    case table(String?)
    /// An archive, which may be an export of 1Password.
    case archive
    case awsTable, awsProfiles, docker, netrc, variables, dump, gitPasswords

    /// What a person is told.
    var title: String {
        switch self {
        case .export: "JSON of 'valet export'"
        case .bitwarden: "JSON of Bitwarden"
        case .onePassword: "an export of 1Password"
        case .archive: "a ZIP archive"
        case .object: "a JSON object with names and secrets"
        case .table(let program): "a table of logins" + (program.map { " of \($0)" } ?? "")
        case .awsTable: "a table of the console of AWS"
        case .awsProfiles: "profiles of AWS"
        case .docker: "a configuration of docker"
        case .netrc: "a netrc file"
        case .variables: "a .env file"
        case .dump: "the output of 'security dump-keychain'"
        case .gitPasswords: "passwords of git's helper 'store'"
        }
    }

    /// How files begin whose form is not read: what they are, and what helps.
    private static let foreign: [(start: [UInt8], what: String, hint: String)] = [
        ([0x03, 0xD9, 0xA2, 0x9A], "an encrypted database of KeePass", keePass),
        (Array("SQLite format 3\0".utf8), "a database of another program", asCSV),
        (Array("-----BEGIN PGP".utf8), "encrypted with gpg", piped("gpg --decrypt")),
        (Array("age-encryption.org/".utf8), "encrypted with age", piped("age --decrypt")),
        (Array("-----BEGIN AGE".utf8), "encrypted with age", piped("age --decrypt")),
        (Array("Salted__".utf8), "encrypted with openssl", piped("openssl enc -d")),
        (Array("<".utf8), "XML or a page of the web", asCSV), ([0x1F, 0x8B], "packed", unpack),
        (Array("BZh".utf8), "packed", unpack), (Array("7z".utf8) + [0xBC, 0xAF], "packed", unpack),
        ([0xFD, 0x37, 0x7A, 0x58], "packed", unpack), (Array("%PDF".utf8), "a PDF", asCSV),
        (
            Array("-----BEGIN ".utf8), "a key or a certificate",
            "store it with 'valet set KEY < FILE'"
        ),
    ]
    static let asCSV = "export the passwords as CSV in that program"
    private static let keePass =
        "export CSV in KeePassXC, or with 'keepassxc-cli export --format csv'"
    private static let unpack = "unpack it, and import the file in it"
    private static func piped(_ command: String) -> String {
        "'\(command) FILE | valet import -' imports what is in it"
    }

    /// - Parameter name: What the input is called in errors.
    /// - Throws: ``ExitCode/damaged`` for a form that is not read; ``ExitCode/usage`` if the
    ///   content does not tell the form.
    init(of input: SecretValue, called name: String) throws(CLIError) {
        guard input.byteCount > 0 else { throw .usage("\(name) is empty") }
        if input.starts(with: Array("PK\u{3}\u{4}".utf8)) {
            self = .archive
            return
        }
        if let known = Self.foreign.first(where: { input.starts(with: $0.start) }) {
            throw CLIError(
                .damaged, "\(name) is \(known.what), which is not read", hint: known.hint)
        }
        let text = try InputText.decoded(input, name)
        var known = try Self.json(text)
        if known == nil { known = Self.table(text) }
        guard let known = known ?? Self.lines(text) else {
            throw .usage(
                "cannot tell what \(name) is",
                hint: "name its form: '--from SOURCE'; 'valet import --help' lists them")
        }
        self = known
    }

    private static func json(_ text: SecretValue) throws(CLIError) -> FileForm? {
        let isJSON = text.withBytes { bytes in
            var marks: [UInt8] = []
            for place in bytes.indices where !" \t\r\n".utf8.contains(bytes[place]) {
                marks.append(bytes[place])
                if marks.count == 2 { break }
            }
            // "[name]" begins a profile of AWS.
            return marks.first == UInt8(ascii: "{")
                || marks == [UInt8(ascii: "["), UInt8(ascii: "{")] || marks == Array("[]".utf8)
        }
        return isJSON ? try JSONExport.form(text) : nil
    }

    private static func table(_ text: SecretValue) -> FileForm? {
        guard text.isUTF8, var rows = try? SeparatedRows(text), let row = try? rows.next() else {
            return nil
        }
        let names = row.map { (rows.value($0).publicText ?? "").lowercased() }
        let isOfAWS = names.contains { $0 == "access key id" || $0.hasPrefix("console ") }
        guard !isOfAWS else { return .awsTable }
        return (try? LoginHeader(names)).map { .table($0.program) }
    }

    /// The form that the first line with content tells.
    private static func lines(_ text: SecretValue) -> FileForm? {
        text.withBytes { bytes in
            var start = 0
            while start < bytes.count {
                var end = start
                while end < bytes.count, bytes[end] != UInt8(ascii: "\n") { end += 1 }
                let whole = bytes.extracting(start..<end)
                let line = whole.extracting(whole.trimmedRange)
                if !line.isEmpty, line[0] != UInt8(ascii: "#") { return form(ofLine: line) }
                start = end + 1
            }
            return nil
        }
    }

    private static func form(ofLine line: Span<UInt8>) -> FileForm? {
        if line.startsWith("keychain: \"") { return .dump }
        if line[0] == UInt8(ascii: "[") { return .awsProfiles }
        if line.startsWith("AWSAccessKeyId=") { return .awsTable }
        let word = line.extracting(0..<(line.indices.first { line[$0].isBlank } ?? line.count))
        if ["machine", "default", "macdef"].contains(word.text) { return .netrc }
        if line.startsWith("https://") || line.startsWith("http://") {
            return line.firstIndex(of: UInt8(ascii: "@")) == nil ? nil : .gitPasswords
        }
        guard let mark = line.firstIndex(of: UInt8(ascii: "=")), mark > 0 else { return nil }
        let start = line.startsWith("export ") ? "export ".utf8.count : 0
        let isName = (start..<mark).allSatisfy { place in
            switch line[place] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isName && start < mark ? .variables : nil
    }
}

extension SecretValue {
    fileprivate func starts(with start: [UInt8]) -> Bool {
        withBytes { bytes in
            bytes.count >= start.count && start.indices.allSatisfy { bytes[$0] == start[$0] }
        }
    }
}
