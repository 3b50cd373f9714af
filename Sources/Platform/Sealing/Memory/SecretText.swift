// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// Text with secrets that is put together in guarded memory. Writers of JSON, and the credential
/// helpers of git and others, use it.
package struct SecretText: ~Copyable {
    private var bytes: SecretBytes
    private var count = 0

    package init(capacity: Int = 256) {
        bytes = SecretBytes(byteCount: capacity)
    }

    package mutating func append(_ piece: Span<UInt8>) {
        makeRoom(for: piece.count)
        bytes.write(piece, at: count)
        count += piece.count
    }

    /// Appends text that is not secret.
    package mutating func append(_ text: String) {
        append(Array(text.utf8).span)
    }

    package mutating func append(_ byte: UInt8) {
        makeRoom(for: 1)
        let end = count
        bytes.withMutableBytes { $0[end] = byte }
        count += 1
    }

    /// Appends a JSON string with its quotation marks.
    package mutating func appendJSONString(_ text: Span<UInt8>) {
        append(UInt8(ascii: "\""))
        appendJSON(text)
        append(UInt8(ascii: "\""))
    }

    /// Appends a JSON string that is not secret.
    package mutating func appendJSONString(_ text: String) {
        appendJSONString(Array(text.utf8).span)
    }

    /// Appends a part of a JSON string. Escapes characters that would act on a terminal.
    package mutating func appendJSON(_ text: Span<UInt8>) {
        var index = 0
        while index < text.count {
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case UInt8(ascii: "\n"): append("\\n")
            case UInt8(ascii: "\t"): append("\\t")
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
    }

    private mutating func appendEscape(_ unit: UInt16) {
        append("\\u" + Hexadecimal.text([UInt8(unit >> 8), UInt8(truncatingIfNeeded: unit)]))
    }

    package borrowing func withBytes<R: ~Copyable, E>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        let count = count
        return try bytes.withBytes { (span: Span<UInt8>) throws(E) -> R in
            try body(span.extracting(first: count))
        }
    }

    /// A copy as text, for text that is not secret.
    package borrowing func publicText() -> String { withBytes { $0.text ?? "" } }

    /// The appended bytes, as a value.
    package consuming func value() -> SecretValue {
        let count = count
        return SecretValue(bytes, byteCount: count)
    }

    private mutating func makeRoom(for more: Int) {
        guard count + more > bytes.byteCount else { return }
        var larger = SecretBytes(byteCount: max(count + more, bytes.byteCount * 2))
        bytes.withBytes { larger.write($0, at: 0) }
        bytes = larger
    }
}

extension Span<UInt8> {
    /// A copy as text, for bytes that are not secret; nil if they are not UTF-8.
    package var text: String? {
        guard (try? UTF8Span(validating: self)) != nil else { return nil }
        return String(decoding: indices.map { self[$0] }, as: UTF8.self)
    }

    /// The scalar that begins at a place, and how many bytes it has; nil and 1 for bytes that are
    /// not UTF-8.
    package func scalar(at index: Int) -> (scalar: Unicode.Scalar?, count: Int) {
        // No array: what it held would not be wiped.
        var decoder = Unicode.UTF8()
        var bytes = ScalarBytes(
            bytes: (self[index], byte(index + 1), byte(index + 2), byte(index + 3)))
        guard case .scalarValue(let scalar) = decoder.decode(&bytes) else { return (nil, 1) }
        return (scalar, UTF8.width(scalar))
    }

    private func byte(_ index: Int) -> UInt8? { index < count ? self[index] : nil }
}

/// The bytes of one scalar, which are in registers or on the stack.
private struct ScalarBytes: IteratorProtocol {
    var bytes: (UInt8?, UInt8?, UInt8?, UInt8?)

    mutating func next() -> UInt8? {
        defer { bytes = (bytes.1, bytes.2, bytes.3, nil) }
        return bytes.0
    }
}
