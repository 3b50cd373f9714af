// SPDX-License-Identifier: Apache-2.0

// `.env` files: the one reader and the one writer. `import`, `run --env-file` and `inject` read
// them, `export` and `inject` write them. docs/CLIENTS.md compares the dialects.

package import ValetSealing

package struct DotenvVariable: Sendable {
    /// Letters, digits, `_`, `.` and `-`: not always a name that a shell takes.
    package let name: String
    /// Never expanded; nil for a name alone, which stands for the caller's variable of that name.
    package let value: SecretValue?
    /// The number of its line, from 1.
    package let line: Int
    let origin: Origin

    /// How the file writes a value, which distinguishes references from data.
    enum Origin {
        /// Without quotes or in double quotes: it may be or contain a reference.
        case text
        /// In single quotes or backticks: data, whatever it looks like.
        case literal
        /// Marked as data by ``Dotenv/line(_:_:)``.
        case marked
    }
}

package enum Dotenv {
    /// What the writer appends to a value that looks like a reference and cannot be in single
    /// quotes.
    private static let mark = "# valet: data"

    /// The variables of a file, in order. Nothing is expanded.
    ///
    /// A value in single quotes or backticks is literal; in double quotes `\n`, `\r`, `\t`, `\\`,
    /// `\"`, `\$` and `` \` `` are escapes. Quoted values may have several lines, whose ends
    /// become newlines. Quoted parts that touch are one value, and between them a backslash makes
    /// the next byte literal: sh(1) quotes an apostrophe as `'\''`. A comment begins with a hash
    /// sign after a blank. A line ends with a newline or a carriage return, or with both.
    ///
    /// - Parameters:
    ///   - source: The file's name in errors.
    ///   - code: The code of errors, which name the line and never its text.
    package static func variables(
        in text: SecretValue, of source: String, failingWith code: ExitCode
    ) throws(CLIError) -> [DotenvVariable] {
        try text.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            if bytes.count > 1, bytes[0] ^ bytes[1] == 1, bytes[0] >= 0xFE {
                throw CLIError(
                    code, "\(source) is UTF-16",
                    hint: "convert it: iconv -f UTF-16 -t UTF-8 FILE")
            }
            var reader = DotenvReader(source: source, code: code)
            // A byte order mark.
            if bytes.count > 2, (bytes[0], bytes[1], bytes[2]) == (0xEF, 0xBB, 0xBF) {
                reader.position = 3
            }
            var variables: [DotenvVariable] = []
            while let variable = try reader.next(bytes) { variables.append(variable) }
            return variables
        }
    }

    /// The line that sets a variable. A value of letters, digits and some signs has no quotes:
    /// docker and kubectl would keep them. Any other one is in single quotes where it allows that,
    /// so that every other dialect reads the same bytes, and nothing in it is a reference.
    ///
    /// - Returns: The line, and whether node, python-dotenv, docker compose and shells all read
    ///   it as this program does.
    package static func line(
        _ name: String, _ value: SecretValue
    ) -> (text: SecretValue, isPortable: Bool) {
        value.withBytes { bytes in
            let form = ValueForm(bytes)
            let head = Array((name + "=").utf8)
            var text = SecretBytes(byteCount: head.count + 2 * bytes.count + mark.utf8.count + 4)
            var end = 0
            let quote = form.isPlain ? "" : form.isLiteral ? "'" : "\""
            let isMarked = !form.isLiteral && form.looksLikeReference
            let tail = Array((quote + (isMarked ? " \(mark)\n" : "\n")).utf8)
            text.withMutableBytes { text in
                for byte in head + Array(quote.utf8) { put(byte, &text, &end) }
                for index in bytes.indices {
                    let byte = bytes[index]
                    let isEscaped = !form.isLiteral && ValueForm.needsEscape(byte)
                    if isEscaped { put(UInt8(ascii: "\\"), &text, &end) }
                    put(isEscaped && byte == 0x0D ? UInt8(ascii: "r") : byte, &text, &end)
                }
                for byte in tail { put(byte, &text, &end) }
            }
            return (SecretValue(text, byteCount: end), form.isPortable)
        }
    }

    private static func put(_ byte: UInt8, _ text: inout MutableSpan<UInt8>, _ end: inout Int) {
        text[end] = byte
        end += 1
    }

    /// Whether a comment marks the value before it as data.
    fileprivate static func isMark(_ comment: Span<UInt8>) -> Bool {
        var end = comment.count
        while end > 0, DotenvReader.isBlank(comment[end - 1]) { end -= 1 }
        let mark = Array(mark.utf8)
        return end == mark.count && mark.indices.allSatisfy { comment[$0] == mark[$0] }
    }
}

/// How a value has to be written.
private struct ValueForm {
    /// Whether single quotes hold it in every dialect: python-dotenv reads `\\` and `\'` there as
    /// escapes, and node drops carriage returns.
    private(set) var isLiteral = true
    /// Whether every dialect reads the same bytes.
    private(set) var isPortable = true
    private(set) var looksLikeReference = false
    /// Whether it needs no quotes: every dialect and sh(1) read it as it is.
    private(set) var isPlain = true

    init(_ bytes: Span<UInt8>) {
        isPlain = !bytes.isEmpty
        var before: UInt8 = 0
        var hasEscape = false
        for index in bytes.indices {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "'"), 0x0D: isLiteral = false
            case UInt8(ascii: "\\") where before == byte: isLiteral = false
            // python-dotenv expands `${NAME}` in every value.
            case UInt8(ascii: "{") where before == UInt8(ascii: "$"): isPortable = false
            default: break
            }
            if !Self.isPlain(byte) { isPlain = false }
            hasEscape = hasEscape || Self.needsEscape(byte)
            looksLikeReference =
                looksLikeReference || SecretReference.hasScheme(bytes, at: index)
            before = byte
        }
        if before == UInt8(ascii: "\\") { isLiteral = false }
        if !isLiteral, hasEscape { isPortable = false }
        if looksLikeReference { isPlain = false }
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "+")...UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "_"),
            UInt8(ascii: "="), UInt8(ascii: "%"):
            true
        default: false
        }
    }

    /// Whether a byte in double quotes needs a backslash.
    static func needsEscape(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "$"), UInt8(ascii: "`"), 0x0D:
            true
        default: false
        }
    }
}

private struct DotenvReader {
    /// What the file is called in errors, and their code.
    let source: String
    let code: ExitCode
    var position = 0
    private(set) var line = 1

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

    /// Whether a line ends with this byte. The first byte of two that end a line counts as a blank.
    private static func endsLine(_ bytes: Span<UInt8>, _ index: Int) -> Bool {
        switch bytes[index] {
        case 0x0A: true
        case 0x0D: index + 1 == bytes.count || bytes[index + 1] != 0x0A
        default: false
        }
    }

    private static func isInLine(_ bytes: Span<UInt8>, _ index: Int) -> Bool {
        !endsLine(bytes, index)
    }

    private static func isBlankInLine(_ bytes: Span<UInt8>, _ index: Int) -> Bool {
        isBlank(bytes[index]) && !endsLine(bytes, index)
    }

    /// The next variable; nil at the end.
    mutating func next(_ bytes: Span<UInt8>) throws(CLIError) -> DotenvVariable? {
        while position < bytes.count {
            skip(bytes) { Self.isBlank($0[$1]) || $0[$1] == 0x0A }
            guard position < bytes.count else { return nil }
            if isAt("#", bytes) {
                skip(bytes, while: Self.isInLine)
                continue
            }
            let start = line
            let name = try name(bytes)
            if name.isAlone {
                return DotenvVariable(name: name.text, value: nil, line: start, origin: .text)
            }
            let (value, origin) = try value(bytes)
            return DotenvVariable(name: name.text, value: value, line: start, origin: origin)
        }
        return nil
    }

    private func isAt(_ character: Unicode.Scalar, _ bytes: Span<UInt8>) -> Bool {
        position < bytes.count && bytes[position] == UInt8(ascii: character)
    }

    private func isAtEndOfLine(_ bytes: Span<UInt8>) -> Bool {
        position == bytes.count || Self.endsLine(bytes, position)
    }

    @discardableResult
    private mutating func skip(
        _ bytes: Span<UInt8>, while condition: (Span<UInt8>, Int) -> Bool
    ) -> Range<Int> {
        let start = position
        while position < bytes.count, condition(bytes, position) {
            if Self.endsLine(bytes, position) { line += 1 }
            position += 1
        }
        return start..<position
    }

    /// Reads a name, and the equals sign unless the name is alone on its line.
    private mutating func name(
        _ bytes: Span<UInt8>
    ) throws(CLIError) -> (text: String, isAlone: Bool) {
        var name = word(bytes)
        let blanks = skip(bytes, while: Self.isBlankInLine)
        if name == "export", !blanks.isEmpty {
            name = word(bytes)
            skip(bytes, while: Self.isBlankInLine)
        }
        let isAlone = isAtEndOfLine(bytes) || isAt("#", bytes)
        guard !name.isEmpty, isAlone || isAt("=", bytes) else { throw flaw("is not NAME=VALUE") }
        if isAlone { skip(bytes, while: Self.isInLine) } else { position += 1 }
        return (name, isAlone)
    }

    private mutating func word(_ bytes: Span<UInt8>) -> String {
        let range = skip(bytes) { bytes, index in
            let byte = bytes[index]
            return VariableName.isPart(byte) || byte == UInt8(ascii: ".")
                || byte == UInt8(ascii: "-")
        }
        return String(decoding: range.map { bytes[$0] }, as: UTF8.self)
    }

    private mutating func value(
        _ bytes: Span<UInt8>
    ) throws(CLIError) -> (SecretValue, DotenvVariable.Origin) {
        skip(bytes, while: Self.isBlankInLine)
        guard position < bytes.count else { return (Self.literal(bytes, 0..<0), .text) }
        let quote = bytes[position]
        let before = self
        if Self.isQuote(quote) {
            guard let end = end(of: quote, bytes) else {
                throw before.flaw("opens a quote that is never closed")
            }
            let range = before.position + 1..<end
            let touches = isAt("'", bytes) || isAt("\"", bytes) || isAt("\\", bytes)
            if touches {
                self = before
                return (try parts(bytes), .literal)
            }
            let isLiteral = quote == UInt8(ascii: "'")
            guard let found = quoted(bytes, range, isLiteral: isLiteral) else {
                throw flaw("has text after a quote")
            }
            return found
        }
        // Some dialects know no backticks: they are quotes only if they enclose the value.
        if quote == UInt8(ascii: "`"), let end = end(of: quote, bytes),
            let found = quoted(bytes, before.position + 1..<end, isLiteral: true)
        {
            return found
        }
        self = before
        return (plain(bytes), .text)
    }

    private static func isQuote(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"")
    }

    /// The value of quoted parts that touch, as sh(1) reads it.
    private mutating func parts(_ bytes: Span<UInt8>) throws(CLIError) -> SecretValue {
        var text = SecretText()
        while position < bytes.count, !Self.endsLine(bytes, position) {
            let byte = bytes[position]
            let before = self
            if Self.isQuote(byte) {
                guard let end = end(of: byte, bytes) else {
                    throw before.flaw("opens a quote that is never closed")
                }
                let range = before.position + 1..<end
                let isLiteral = byte == UInt8(ascii: "'")
                let part = isLiteral ? Self.literal(bytes, range) : Self.unescaped(bytes, range)
                part.withBytes { text.append($0) }
            } else if byte == UInt8(ascii: "\\"), position + 1 < bytes.count {
                text.append(bytes[position + 1])
                position += 2
            } else {
                break
            }
        }
        guard skipsToEnd(bytes) else { throw flaw("has text after a quote") }
        return text.value()
    }

    /// Moves past blanks and a comment. Returns whether the line ends there.
    private mutating func skipsToEnd(_ bytes: Span<UInt8>) -> Bool {
        skip(bytes, while: Self.isBlankInLine)
        if isAt("#", bytes) { skip(bytes, while: Self.isInLine) }
        return isAtEndOfLine(bytes)
    }

    private func flaw(_ reason: String) -> CLIError {
        CLIError(
            code, "line \(line) of \(source) \(reason)",
            hint: "expected NAME=VALUE; single quotes hold blanks, '#' and double quotes")
    }

    /// Moves past the closing quote, and returns the quote's position; nil if no quote closes.
    private mutating func end(of quote: UInt8, _ bytes: Span<UInt8>) -> Int? {
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            if byte == 0x0A { line += 1 }
            position += 1
            if byte == quote { return position - 1 }
            if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\""), position < bytes.count {
                if bytes[position] == 0x0A { line += 1 }
                position += 1
            }
        }
        return nil
    }

    /// The value between quotes; nil if more than a comment follows on its line.
    private mutating func quoted(
        _ bytes: Span<UInt8>, _ range: Range<Int>, isLiteral: Bool
    ) -> (SecretValue, DotenvVariable.Origin)? {
        skip(bytes, while: Self.isBlankInLine)
        var isMarked = false
        if isAt("#", bytes) {
            isMarked = Dotenv.isMark(bytes.extracting(skip(bytes, while: Self.isInLine)))
        }
        guard isAtEndOfLine(bytes) else { return nil }
        if isLiteral { return (Self.literal(bytes, range), .literal) }
        return (Self.unescaped(bytes, range), isMarked ? .marked : .text)
    }

    /// The value without quotes: up to a comment or the end of the line, without blanks around it.
    private mutating func plain(_ bytes: Span<UInt8>) -> SecretValue {
        let start = position
        var end = start
        var isAfterBlank = start > 0 && Self.isBlank(bytes[start - 1])
        while !isAtEndOfLine(bytes) {
            if isAt("#", bytes), isAfterBlank { break }
            isAfterBlank = Self.isBlank(bytes[position])
            position += 1
            if !isAfterBlank { end = position }
        }
        skip(bytes, while: Self.isInLine)
        return Self.literal(bytes, start..<end)
    }

    private static func literal(_ bytes: Span<UInt8>, _ range: Range<Int>) -> SecretValue {
        copy(bytes, range) { _ in nil }
    }

    private static func unescaped(_ bytes: Span<UInt8>, _ range: Range<Int>) -> SecretValue {
        copy(bytes, range) { byte in
            switch byte {
            case UInt8(ascii: "n"): 0x0A
            case UInt8(ascii: "r"): 0x0D
            case UInt8(ascii: "t"): 0x09
            case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "$"), UInt8(ascii: "`"): byte
            default: nil
            }
        }
    }

    /// Copies a value. The end of a line becomes a newline.
    ///
    /// - Parameter meaning: The meaning of a byte after a backslash; nil if both stay.
    private static func copy(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ meaning: (UInt8) -> UInt8?
    ) -> SecretValue {
        var value = SecretBytes(byteCount: range.count)
        var (count, index) = (0, range.lowerBound)
        value.withMutableBytes { value in
            while index < range.upperBound {
                let next = index + 1 < range.upperBound ? bytes[index + 1] : nil
                var byte = bytes[index]
                if byte == UInt8(ascii: "\\"), let next, let meant = meaning(next) {
                    byte = meant
                    index += 1
                } else if byte == 0x0D, next == 0x0A {
                    byte = 0x0A
                    index += 1
                }
                value[count] = byte
                (count, index) = (count + 1, index + 1)
            }
        }
        return SecretValue(value, byteCount: count)
    }
}
