// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// The rows of a text of separated values (RFC 4180). The separator is a comma, a semicolon or a
/// tab: the one that a line `sep=;` names, otherwise the one that occurs most in the first line.
/// Lines end in CRLF, LF or CR.
struct SeparatedRows {
    /// A field, which ``value(_:)`` copies.
    struct Field {
        /// Without quotation marks around it.
        fileprivate let range: Range<Int>
        /// Whether a quotation mark or a backslash escapes characters in it.
        fileprivate let hasEscapes: Bool

        var isEmpty: Bool { range.isEmpty }
    }

    private let text: SecretValue
    private var position = 0
    private var line = 1
    private let separator: UInt8
    /// Whether a backslash stands in front of quotation marks and backslashes in quoted fields, as
    /// KeePass 1 writes them.
    var usesBackslashes = false
    /// The line that the last row began in, from 1.
    private(set) var rowLine = 1

    private static let maximumFieldCount = 1_000

    /// - Throws: ``ExitCode/damaged`` for bytes that are not UTF-8.
    init(_ text: SecretValue) throws(CLIError) {
        self.text = text
        guard text.isUTF8 else {
            throw CLIError(
                .damaged, "the CSV is neither UTF-8 nor UTF-16", hint: "save it again as UTF-8")
        }
        let first = text.withBytes { bytes in
            bytes.extracting(
                first: bytes.indices.first { Self.isLineEnd(bytes[$0]) } ?? bytes.count
            )
            .text ?? ""
        }
        let named = first.hasPrefix("\"") ? first.dropFirst().dropLast() : first[...]
        if named.lowercased().hasPrefix("sep="), let mark = named.utf8.dropFirst(4).first {
            separator = mark
            position = first.utf8.count
            takeLineEnd()
        } else {
            separator = Self.commonest(in: first)
        }
    }

    private static func commonest(in line: String) -> UInt8 {
        var counts: [UInt8: Int] = [:]
        var isQuoted = false
        for byte in line.utf8 {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if !isQuoted { counts[byte, default: 0] += 1 }
        }
        let candidates = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t")]
        return candidates.max { counts[$0, default: 0] < counts[$1, default: 0] } ?? candidates[0]
    }

    /// A copy of a field.
    func value(_ field: Field) -> SecretValue {
        guard field.hasEscapes else { return text.part(field.range) }
        var value = SecretText(capacity: field.range.count)
        text.withBytes { bytes in
            let bytes = bytes.extracting(field.range)
            var start = 0
            for place in bytes.indices where place >= start && isPair(bytes, at: place) {
                value.append(bytes.extracting(start..<place))
                value.append(bytes[place + 1])
                start = place + 2
            }
            value.append(bytes.extracting(start..<bytes.count))
        }
        return value.value()
    }

    /// Whether the byte at `place` escapes the one after it.
    private func isPair(_ bytes: Span<UInt8>, at place: Int) -> Bool {
        let mark = UInt8(ascii: "\"")
        let escape = usesBackslashes ? UInt8(ascii: "\\") : mark
        guard bytes[place] == escape, place + 1 < bytes.count else { return false }
        return bytes[place + 1] == mark || bytes[place + 1] == escape
    }

    /// The fields of the next row; nil at the end.
    ///
    /// - Throws: ``ExitCode/damaged`` for quotation marks in wrong places.
    mutating func next() throws(CLIError) -> [Field]? {
        guard position < text.byteCount else { return nil }
        rowLine = line
        var fields: [Field] = []
        while true {
            guard fields.count < Self.maximumFieldCount else {
                throw .malformed("the CSV", line: rowLine, "too many fields")
            }
            fields.append(isAt(UInt8(ascii: "\"")) ? try quotedField() : try plainField())
            guard isAt(separator) else {
                takeLineEnd()
                return fields
            }
            position += 1
        }
    }

    private mutating func plainField() throws(CLIError) -> Field {
        let (start, separator) = (position, separator)
        var hasMark = false
        position = text.withBytes { bytes in
            var end = start
            while end < bytes.count, bytes[end] != separator, !Self.isLineEnd(bytes[end]) {
                if bytes[end] == UInt8(ascii: "\"") { hasMark = true }
                end += 1
            }
            return end
        }
        guard !hasMark else {
            throw .malformed("the CSV", line: rowLine, "a quotation mark inside a field")
        }
        return Field(range: start..<position, hasEscapes: false)
    }

    private mutating func quotedField() throws(CLIError) -> Field {
        let start = position + 1
        var (hasEscapes, isClosed, lineCount) = (false, false, 0)
        position = text.withBytes { bytes in
            var end = start
            while end < bytes.count {
                if isPair(bytes, at: end) {
                    hasEscapes = true
                    end += 1
                } else if bytes[end] == UInt8(ascii: "\"") {
                    isClosed = true
                    return end
                } else if bytes[end] == UInt8(ascii: "\n") {
                    lineCount += 1
                }
                end += 1
            }
            return end
        }
        guard isClosed else {
            throw .malformed("the CSV", line: rowLine, "a quotation mark is never closed")
        }
        let field = Field(range: start..<position, hasEscapes: hasEscapes)
        position += 1
        line += lineCount
        guard position == text.byteCount || isAt(separator) || isAt(0x0A) || isAt(0x0D) else {
            throw .malformed("the CSV", line: rowLine, "text after a quotation mark")
        }
        return field
    }

    private mutating func takeLineEnd() {
        guard position < text.byteCount else { return }
        if isAt(0x0D) {
            position += 1
            if !isAt(0x0A) {
                line += 1
                return
            }
        }
        position += 1
        line += 1
    }

    private func isAt(_ byte: UInt8) -> Bool {
        text.withBytes { position < $0.count && $0[position] == byte }
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }
}
