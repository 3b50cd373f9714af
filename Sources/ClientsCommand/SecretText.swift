// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory
internal import ValetUserPresence

/// Text with secrets that is put together in guarded memory. Helpers write their answers, and the
/// values that they store, with it.
struct SecretText: ~Copyable {
    private var bytes: SecretBytes
    private var count = 0

    init(capacity: Int = 256) {
        bytes = SecretBytes(byteCount: capacity)
    }

    /// Appends bytes.
    mutating func append(_ piece: Span<UInt8>) {
        makeRoom(for: piece.count)
        bytes.write(piece, at: count)
        count += piece.count
    }

    /// Appends text that is not secret.
    mutating func append(_ text: String) {
        append(Array(text.utf8).span)
    }

    /// Appends one byte.
    mutating func append(_ byte: UInt8) {
        makeRoom(for: 1)
        let end = count
        bytes.withMutableBytes { $0[end] = byte }
        count += 1
    }

    /// Appends a JSON string with its quotation marks. Nothing in it acts on a terminal.
    mutating func appendJSONString(_ text: Span<UInt8>) {
        append(UInt8(ascii: "\""))
        var index = 0
        while index < text.count {
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case 0..<0x20, 0x7F: appendEscape(UInt16(byte))
            case 0x20..<0x7F: append(byte)
            default:
                let (scalar, count) = text.scalar(at: index)
                if let scalar, scalar.isActive {
                    for unit in String(scalar).utf16 { appendEscape(unit) }
                } else {
                    append(text.extracting(index..<(index + count)))
                }
                index += count - 1
            }
            index += 1
        }
        append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(_ unit: UInt16) {
        append("\\u")
        for shift in [12, 8, 4, 0] { append(Self.digits[Int(unit >> UInt16(shift)) & 15]) }
    }

    /// Appends a JSON string that is not secret.
    mutating func appendJSONString(_ text: String) {
        appendJSONString(Array(text.utf8).span)
    }

    /// Lends what was appended.
    borrowing func withBytes<R: ~Copyable, E>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        let count = count
        return try bytes.withBytes { (span: Span<UInt8>) throws(E) -> R in
            try body(span.extracting(first: count))
        }
    }

    /// What was appended, as a value.
    consuming func value() -> SecretValue {
        let count = count
        return SecretValue(bytes, byteCount: count)
    }

    private mutating func makeRoom(for more: Int) {
        guard count + more > bytes.byteCount else { return }
        var larger = SecretBytes(byteCount: max(count + more, bytes.byteCount * 2))
        bytes.withBytes { larger.write($0, at: 0) }
        bytes = larger
    }

    private static let digits = Array("0123456789abcdef".utf8)
}

extension SecretValue {
    /// Whether the bytes are UTF-8.
    var isUTF8: Bool { withBytes { (try? UTF8Span(validating: $0)) != nil } }

    /// A copy as text, for parts that are not secret; nil if the bytes are not UTF-8.
    var publicText: String? { withBytes { $0.text } }

    /// A copy of a part.
    func part(_ range: Range<Int>) -> SecretValue {
        withBytes { SecretValue(copying: $0.extracting(range)) }
    }
}

extension Span<UInt8> {
    /// A copy as text, for bytes that are not secret; nil if they are not UTF-8.
    var text: String? {
        guard (try? UTF8Span(validating: self)) != nil else { return nil }
        return String(decoding: indices.map { self[$0] }, as: UTF8.self)
    }

    /// Whether these are the bytes of `text`.
    func equals(_ text: String) -> Bool {
        count == text.utf8.count && zip(indices, text.utf8).allSatisfy { self[$0] == $1 }
    }

    /// The ranges of the lines, without their newlines. An end without a newline is a line, too,
    /// unless it is empty.
    var lines: [Range<Int>] {
        var lines: [Range<Int>] = []
        var start = 0
        for index in indices where self[index] == UInt8(ascii: "\n") {
            lines.append(start..<index)
            start = index + 1
        }
        if start < count { lines.append(start..<count) }
        return lines
    }

    /// The scalar that begins at a place, and how many bytes it has; nil and 1 for bytes that are
    /// not UTF-8.
    func scalar(at index: Int) -> (scalar: Unicode.Scalar?, count: Int) {
        var decoder = Unicode.UTF8()
        var bytes = (index..<Swift.min(index + 4, count)).map { self[$0] }.makeIterator()
        guard case .scalarValue(let scalar) = decoder.decode(&bytes) else { return (nil, 1) }
        return (scalar, UTF8.width(scalar))
    }

    /// The first place of a byte.
    func firstIndex(of byte: UInt8) -> Int? { indices.first { self[$0] == byte } }
}
