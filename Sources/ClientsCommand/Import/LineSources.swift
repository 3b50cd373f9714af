// SPDX-License-Identifier: Apache-2.0

// What `valet import` reads `.env` files and `~/.netrc` with, and the former.

internal import ValetCLI
internal import ValetSecretMemory

/// A text that is read byte by byte, in guarded memory.
struct TextReader {
    private let text: SecretValue
    private(set) var position = 0
    /// The line of the position, from 1.
    private(set) var line = 1

    init(_ text: SecretValue) {
        self.text = text
    }

    /// The next byte; nil at the end.
    var next: UInt8? { text.withBytes { position < $0.count ? $0[position] : nil } }

    /// Whether the next byte is this one.
    func isAt(_ character: Unicode.Scalar) -> Bool { next == UInt8(ascii: character) }

    /// Whether the next byte is a space or a tab.
    var isAtBlank: Bool { isAt(" ") || isAt("\t") }

    /// Goes on by one byte.
    mutating func advance() {
        if isAt("\n") { line += 1 }
        position += 1
    }

    /// Goes on while `condition` holds, and returns where.
    @discardableResult
    mutating func advance(while condition: (UInt8) -> Bool) -> Range<Int> {
        let start = position
        while let next, condition(next) { advance() }
        return start..<position
    }

    /// A copy of a part.
    func part(_ range: Range<Int>) -> SecretValue { text.part(range) }
}

/// The variables of a `.env` file: `NAME=value`, with shell-like quotes, and `#` for comments.
enum DotenvText {
    /// The items: each variable becomes a secret with its name.
    static func items(in text: SecretValue, _ scope: Scope) throws(CLIError) -> ImportedItems {
        var found = ImportedItems()
        var reader = TextReader(text)
        while reader.next != nil {
            reader.advance { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
            if reader.isAt("#") { reader.advance { $0 != 0x0A } }
            guard reader.next != nil, !reader.isAt("\n") else { continue }
            let line = reader.line
            let name = try name(&reader)
            let value = try value(&reader)
            try found.add(ImportedItem(name, value, in: scope, from: "\(name) (line \(line))"))
        }
        return found
    }

    private static func name(_ reader: inout TextReader) throws(CLIError) -> String {
        var name = word(&reader)
        if name == "export", reader.isAtBlank {
            reader.advance { $0 == 0x20 || $0 == 0x09 }
            name = word(&reader)
        }
        reader.advance { $0 == 0x20 || $0 == 0x09 }
        guard isName(name), reader.isAt("=") else {
            throw .malformed("the .env file", line: reader.line, "expected NAME=VALUE")
        }
        reader.advance()
        reader.advance { $0 == 0x20 || $0 == 0x09 }
        return name
    }

    /// Whether a shell takes the text for the name of a variable.
    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(UInt8(ascii: "0")...0x39).contains(first) else {
            return false
        }
        return text.utf8.allSatisfy(isWordByte)
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func word(_ reader: inout TextReader) -> String {
        reader.part(reader.advance(while: isWordByte)).publicText ?? ""
    }

    private static func value(_ reader: inout TextReader) throws(CLIError) -> SecretValue {
        let value: SecretValue
        if reader.isAt("'") || reader.isAt("\"") {
            value = try quotedValue(&reader)
            reader.advance { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            if reader.isAt("#") { reader.advance { $0 != 0x0A } }
            guard reader.next == nil || reader.isAt("\n") else {
                throw .malformed("the .env file", line: reader.line, "text after a quote")
            }
            return value
        }
        // A comment begins with a space and a hash sign.
        let start = reader.position
        var end = start
        var isAfterBlank = true
        while let byte = reader.next, byte != 0x0A {
            if byte == UInt8(ascii: "#"), isAfterBlank { break }
            isAfterBlank = byte == 0x20 || byte == 0x09 || byte == 0x0D
            reader.advance()
            if !isAfterBlank { end = reader.position }
        }
        reader.advance { $0 != 0x0A }
        return reader.part(start..<end)
    }

    private static func quotedValue(_ reader: inout TextReader) throws(CLIError) -> SecretValue {
        let isLiteral = reader.isAt("'")
        let quote = UInt8(ascii: isLiteral ? "'" : "\"")
        let line = reader.line
        var value = SecretText(capacity: 64)
        reader.advance()
        while let byte = reader.next {
            reader.advance()
            if byte == quote { return value.value() }
            guard byte == UInt8(ascii: "\\"), !isLiteral, let escaped = reader.next else {
                value.append(byte)
                continue
            }
            reader.advance()
            switch escaped {
            case UInt8(ascii: "n"): value.append(0x0A)
            case UInt8(ascii: "r"): value.append(0x0D)
            case UInt8(ascii: "t"): value.append(0x09)
            case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "$"), UInt8(ascii: "`"):
                value.append(escaped)
            default:
                value.append(byte)
                value.append(escaped)
            }
        }
        throw .malformed("the .env file", line: line, "a quote is never closed")
    }
}
