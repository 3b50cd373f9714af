// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetSealing

/// Reads JSON with secrets (RFC 8259, without null bytes) from its start to its end, and copies
/// only the strings that are asked for. So a document of any shape takes no more memory than its
/// text.
///
/// A function that reads a value expects the position before it, and leaves the position behind it.
struct JSONReader {
    /// The kind of a value.
    enum Kind {
        case object, array, string, number, literal
    }

    private let text: SecretValue
    /// What the document is called in errors: "the input".
    private let name: String
    private var position = 0
    private var depth = 0

    private static let maximumDepth = 200
    /// The most members of an object whose names must be unique.
    private static let maximumNameCount = 10_000

    /// - Throws: ``ExitCode/damaged`` for bytes that are not UTF-8.
    init(_ text: SecretValue, called name: String) throws(CLIError) {
        self.text = text
        self.name = name
        guard text.isUTF8 else {
            throw CLIError(.damaged, "\(name) is not JSON: it is not UTF-8")
        }
        skipBlanks()
    }

    /// What the next value is.
    var kind: Kind {
        switch next {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case let byte? where byte == UInt8(ascii: "-") || 0x30...0x39 ~= byte: .number
        default: .literal
        }
    }

    /// Reads a whole document. `body` gets each member of an object, also members that share a
    /// name. A document of another kind has no members.
    mutating func document(
        _ body: (String, inout JSONReader) throws(CLIError) -> Void
    ) throws(CLIError) {
        if kind == .object { try object(isUnique: false, body) } else { try skip() }
        try checkEnd()
    }

    /// Checks that nothing follows the value that was read.
    func checkEnd() throws(CLIError) {
        guard next == nil else { throw malformed("there is more after its end") }
    }

    // MARK: Values

    /// Reads an object. `body` gets each member's name and the reader at its value, which it may
    /// leave unread.
    ///
    /// - Parameter isUnique: Whether no two members may have the same name.
    mutating func object(
        isUnique: Bool = true, _ body: (String, inout JSONReader) throws(CLIError) -> Void
    ) throws(CLIError) {
        var names: Set<String> = []
        try group("{", "}") { (reader) throws(CLIError) in
            guard let name = try reader.string().publicText else {
                throw reader.malformed("a name is not text")
            }
            if isUnique {
                guard names.count < Self.maximumNameCount, names.insert(name).inserted else {
                    throw reader.malformed("an object has two members of one name, or too many")
                }
            }
            try reader.take(":")
            try reader.value { (reader) throws(CLIError) in try body(name, &reader) }
        }
    }

    /// Reads an array. `body` gets the reader at each element, which it may leave unread.
    mutating func array(
        _ body: (inout JSONReader) throws(CLIError) -> Void
    ) throws(CLIError) {
        try group("[", "]") { (reader) throws(CLIError) in try reader.value(body) }
    }

    mutating func string() throws(CLIError) -> SecretValue {
        let (range, hasEscapes) = try takeString()
        return hasEscapes ? try unescaped(range) : text.part(range)
    }

    /// Reads a string; nil for an empty one.
    mutating func content() throws(CLIError) -> SecretValue? {
        let value = try string()
        return value.byteCount > 0 ? value : nil
    }

    /// Reads a string that is not secret; nil for an empty one.
    mutating func publicText() throws(CLIError) -> String? { try content()?.publicText }

    /// Calls `body` at each element of the array that an object has under `name`. Passes over
    /// another value.
    mutating func each(
        of name: String, _ body: (inout JSONReader) throws(CLIError) -> Void
    ) throws(CLIError) {
        guard kind == .object else { return }
        try object { (member, reader) throws(CLIError) in
            if member == name, reader.kind == .array { try reader.array(body) }
        }
    }

    /// Reads a number or literal, and returns its text.
    mutating func word() throws(CLIError) -> String {
        let start = position
        while let next, Self.isWordByte(next) { position += 1 }
        let word = text.part(start..<position).publicText ?? ""
        guard ["true", "false", "null"].contains(word) || Self.isNumber(Array(word.utf8)) else {
            throw malformed("an unknown word")
        }
        skipBlanks()
        return word
    }

    /// Passes over a value. Returns false for a value without information: null, false, 0, an empty
    /// string, or an object or array that has no other values than these.
    @discardableResult
    mutating func skip() throws(CLIError) -> Bool {
        var hasContent = false
        switch kind {
        case .object:
            try object(isUnique: false) { (_, reader) throws(CLIError) in
                if try reader.skip() { hasContent = true }
            }
        case .array:
            try array { (reader) throws(CLIError) in
                if try reader.skip() { hasContent = true }
            }
        case .string:
            let (range, hasEscapes) = try takeString()
            if hasEscapes { _ = try unescaped(range) }
            hasContent = !range.isEmpty
        case .number, .literal: hasContent = !["null", "false", "0"].contains(try word())
        }
        return hasContent
    }

    // MARK: Parts

    private mutating func value(
        _ body: (inout JSONReader) throws(CLIError) -> Void
    ) throws(CLIError) {
        let start = position
        try body(&self)
        if position == start { try skip() }
    }

    private mutating func group(
        _ first: Unicode.Scalar, _ last: Unicode.Scalar,
        _ part: (inout JSONReader) throws(CLIError) -> Void
    ) throws(CLIError) {
        depth += 1
        guard depth <= Self.maximumDepth else { throw malformed("it is nested too deep") }
        try take(first)
        if next != UInt8(ascii: last) {
            try part(&self)
            while next == UInt8(ascii: ",") {
                try take(",")
                try part(&self)
            }
        }
        try take(last)
        depth -= 1
    }

    private mutating func take(_ character: Unicode.Scalar) throws(CLIError) {
        guard next == UInt8(ascii: character) else { throw malformed("expected '\(character)'") }
        position += 1
        skipBlanks()
    }

    private mutating func skipBlanks() {
        position = text.withBytes { bytes in
            var place = position
            while place < bytes.count, " \t\r\n".utf8.contains(bytes[place]) { place += 1 }
            return place
        }
    }

    private var next: UInt8? { text.withBytes { position < $0.count ? $0[position] : nil } }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "E"):
            true
        default: false
        }
    }

    /// Whether the bytes are a number (RFC 8259 §6).
    private static func isNumber(_ word: [UInt8]) -> Bool {
        func digits(_ rest: inout ArraySlice<UInt8>) -> Bool {
            let count = rest.count
            rest = rest.drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            return rest.count < count
        }
        var rest = word[...]
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        let isZero = rest.first == UInt8(ascii: "0")
        let count = rest.count
        guard digits(&rest), !isZero || count - rest.count == 1 else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            guard digits(&rest) else { return false }
        }
        if let exponent = rest.first, "eE".utf8.contains(exponent) {
            rest.removeFirst()
            if let sign = rest.first, "+-".utf8.contains(sign) { rest.removeFirst() }
            guard digits(&rest) else { return false }
        }
        return rest.isEmpty
    }

    // MARK: Strings

    /// Passes over a string. Returns the range between its quotation marks, and whether it has
    /// escapes.
    private mutating func takeString() throws(CLIError) -> (range: Range<Int>, hasEscapes: Bool) {
        guard next == UInt8(ascii: "\"") else { throw malformed("expected a string") }
        let start = position + 1
        let (end, hasEscapes) = text.withBytes { bytes in
            var (place, hasEscapes) = (start, false)
            while place < bytes.count, bytes[place] != UInt8(ascii: "\""), bytes[place] >= 0x20 {
                if bytes[place] == UInt8(ascii: "\\") {
                    hasEscapes = true
                    place += 1
                }
                place += 1
            }
            return (place, hasEscapes)
        }
        position = min(end, text.byteCount)
        guard next == UInt8(ascii: "\"") else {
            throw malformed("a string has no end, or has a control character")
        }
        position += 1
        skipBlanks()
        return (start..<end, hasEscapes)
    }

    private func unescaped(_ range: Range<Int>) throws(CLIError) -> SecretValue {
        // Escapes are longer than the characters that they stand for.
        var string = SecretText(capacity: range.count)
        try text.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
            var place = range.lowerBound
            while place < range.upperBound {
                let start = place
                while place < range.upperBound, bytes[place] != UInt8(ascii: "\\") { place += 1 }
                string.append(bytes.extracting(start..<place))
                guard place < range.upperBound else { return }
                try appendEscape(bytes.extracting(place..<range.upperBound), &place, &string)
            }
        }
        return string.value()
    }

    /// Appends the character of the escape at the start of `bytes`, and moves `place` behind it.
    private func appendEscape(
        _ bytes: Span<UInt8>, _ place: inout Int, _ string: inout SecretText
    ) throws(CLIError) {
        let letter = bytes.count > 1 ? bytes[1] : 0
        if let byte = Self.escapes[letter] {
            string.append(byte)
            place += 2
            return
        }
        guard letter == UInt8(ascii: "u"), var code = Self.codeUnit(bytes, at: 2) else {
            throw malformed("an unknown escape")
        }
        var count = 6
        if 0xD800..<0xDC00 ~= code, bytes.count > 7, bytes[6] == UInt8(ascii: "\\"),
            bytes[7] == UInt8(ascii: "u"), let low = Self.codeUnit(bytes, at: 8),
            0xDC00..<0xE000 ~= low
        {
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            count = 12
        }
        guard code > 0 else { throw malformed("a string has a null byte") }
        guard let scalar = Unicode.Scalar(code) else {
            throw malformed("a string has half of a surrogate pair")
        }
        string.append(String(Character(scalar)))
        place += count
    }

    private static let escapes: [UInt8: UInt8] = [
        UInt8(ascii: "\""): 0x22, UInt8(ascii: "\\"): 0x5C, UInt8(ascii: "/"): 0x2F,
        UInt8(ascii: "b"): 0x08, UInt8(ascii: "f"): 0x0C, UInt8(ascii: "n"): 0x0A,
        UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
    ]

    /// Four hexadecimal digits; nil for other bytes.
    private static func codeUnit(_ bytes: Span<UInt8>, at place: Int) -> UInt32? {
        guard place + 4 <= bytes.count else { return nil }
        var code: UInt32 = 0
        for index in place..<place + 4 {
            guard let digit = bytes[index].hexadecimalValue else { return nil }
            code = code << 4 | UInt32(digit)
        }
        return code
    }

    /// The error for the position. It shows nothing of the text.
    private func malformed(_ reason: String) -> CLIError {
        let line = text.withBytes { bytes in
            1 + bytes.indices.prefix(position).count { bytes[$0] == UInt8(ascii: "\n") }
        }
        return CLIError(.damaged, "\(name) is not JSON, line \(line): \(reason)")
    }
}
