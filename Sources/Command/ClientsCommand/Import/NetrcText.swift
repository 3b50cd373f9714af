// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// The passwords of `~/.netrc`, which ftp, curl and git read. Where they read a word differently,
/// this is curl's reading.
enum NetrcText {
    /// The items: each machine becomes an internet password.
    static func items(in input: SecretValue) throws(CLIError) -> ImportedItems {
        var found = ImportedItems()
        var reader = TextReader(input)
        var entry: Entry?
        while let token = try keyword(&reader) {
            try found.checkCount()
            let line = reader.line
            let word = token.publicText?.lowercased() ?? ""
            switch word {
            case "machine":
                try entry?.add(to: &found)
                entry = Entry(machine: try text(&reader, after: word), line: line)
            case "default":
                try entry?.add(to: &found)
                entry = Entry(machine: nil, line: line)
            case "macdef": skipMacro(&reader, &found)
            case "login", "user", "account", "password", "passwd", "port", "protocol":
                guard entry != nil else {
                    throw .malformed("the .netrc file", line: line, "'\(word)' without a machine")
                }
                try entry?.read(word, &reader)
            default:
                // The word may be a password in a wrong place: it is not shown.
                throw .malformed("the .netrc file", line: line, "an unknown word")
            }
        }
        try entry?.add(to: &found)
        return found
    }

    /// A macro ends with an empty line.
    private static func skipMacro(_ reader: inout TextReader, _ found: inout ImportedItems) {
        let source = "a macro (line \(reader.line))"
        var hasMachine = false
        while reader.next != nil {
            let line = reader.part(reader.advance { $0 != 0x0A })
            if line.withBytes({ $0.isEmpty || $0.equals("\r") }) { break }
            hasMachine = hasMachine || line.withBytes { $0.startsWith("machine") }
            reader.advance()
        }
        found.skip(
            source,
            hasMachine
                ? "no empty line ends it, so that the machines after it are part of it"
                : "macros are not imported")
    }

    private struct Entry {
        /// nil for the entry that stands for all other machines.
        let machine: String?
        let line: Int
        private var login = ""
        private var password: SecretValue?
        private var losses: [String] = []
        private var scheme = "https"
        /// nil for a word that is neither a number nor a protocol.
        private var port: String? = ""

        init(machine: String?, line: Int) {
            self.machine = machine
            self.line = line
        }

        /// Reads the argument of a word.
        mutating func read(_ word: String, _ reader: inout TextReader) throws(CLIError) {
            switch word {
            case "login", "user": login = try NetrcText.text(&reader, after: word)
            case "port", "protocol": setPort(try NetrcText.text(&reader, after: word))
            case "account":
                _ = try NetrcText.text(&reader, after: word)
                losses.append("its account is not imported")
            default:
                guard let value = try NetrcText.token(&reader) else {
                    throw .malformed(
                        "the .netrc file", line: reader.line, "nothing after '\(word)'")
                }
                if password != nil { losses.append("it has two passwords: the last is imported") }
                password = value
            }
        }

        /// Sets the port or the protocol: for other programs either may follow `port` as well as
        /// `protocol`.
        private mutating func setPort(_ text: String) {
            if let number = UInt16(text), number > 0 {
                port = ":\(number)"
            } else if text.utf8.allSatisfy({ 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 }),
                !text.utf8.allSatisfy({ 0x30...0x39 ~= $0 })
            {
                scheme = text
            } else {
                port = nil
            }
        }

        func add(to found: inout ImportedItems) throws(CLIError) {
            let source = "\(machine ?? "default") (line \(line))"
            guard let machine else { return found.skip(source, "it names no machine") }
            guard let password else { return found.skip(source, "it has no password") }
            guard let port else { return found.skip(source, "its port is not possible") }
            let isBareIPv6 =
                machine.utf8.count { $0 == UInt8(ascii: ":") } > 1
                && !machine.utf8.contains(UInt8(ascii: "["))
            let host = isBareIPv6 ? "[\(machine)]" : machine
            guard let address = LoginAddress("\(scheme)://\(host)\(port)"),
                address.rest.isEmpty, !address.hasUser,
                let place = LoginPlace(scheme: scheme, host: address.host, path: "")
            else { return found.skip(source, "its machine is not the name of a server") }
            for loss in losses { found.skip(source, loss) }
            try found.add(
                ImportedItem(
                    place, account: login, kind: .standard, password, from: source))
        }
    }

    private static func text(
        _ reader: inout TextReader, after word: String
    ) throws(CLIError) -> String {
        guard let text = try token(&reader)?.publicText, !text.isEmpty || word == "login" else {
            throw .malformed("the .netrc file", line: reader.line, "no text after '\(word)'")
        }
        return text
    }

    private static let isSpace: @Sendable (UInt8) -> Bool = {
        $0 == 0x20 || (0x09...0x0D).contains($0)
    }

    /// The next word at a place where no value can be. Skips comments: at other places a hash sign
    /// begins a password.
    private static func keyword(_ reader: inout TextReader) throws(CLIError) -> SecretValue? {
        reader.advance(while: isSpace)
        while reader.isAt("#") {
            reader.advance { $0 != 0x0A }
            reader.advance(while: isSpace)
        }
        return try token(&reader)
    }

    private static let escapes: [UInt8: UInt8] = [
        UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
    ]

    /// The next word, which may be in quotation marks; nil at the end.
    private static func token(_ reader: inout TextReader) throws(CLIError) -> SecretValue? {
        reader.advance(while: isSpace)
        guard reader.next != nil else { return nil }
        guard reader.isAt("\"") else {
            return reader.part(reader.advance { !isSpace($0) })
        }
        let line = reader.line
        var word = SecretText(capacity: 64)
        reader.advance()
        while let byte = reader.next {
            reader.advance()
            if byte == UInt8(ascii: "\"") { return word.value() }
            if byte == UInt8(ascii: "\\"), let escaped = reader.next {
                word.append(escapes[escaped, default: escaped])
                reader.advance()
            } else {
                word.append(byte)
            }
        }
        throw .malformed("the .netrc file", line: line, "a quotation mark is never closed")
    }
}
