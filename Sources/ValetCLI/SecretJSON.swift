// SPDX-License-Identifier: Apache-2.0

internal import ValetUserPresence

/// Writes a secret as a JSON object, in pieces that are wiped: ``JSON`` would leave copies in
/// memory. `valet get --json` uses it.
struct SecretJSON {
    let key: String

    /// Writes the object and a newline.
    func write(_ bytes: Span<UInt8>, to console: any Console) throws(CLIError) {
        let isText = TerminalText.isUTF8(bytes)
        let encoding = isText ? "utf-8" : "base64"
        try console.write(
            "{\"name\":\(JSON.string(key).encoded),\"byteCount\":\(bytes.count),"
                + "\"encoding\":\"\(encoding)\",\"value\":\"")
        // A multiple of three, so that base64 pads only the last piece.
        let pieceByteCount = 3072
        var start = 0
        while start < bytes.count {
            var end = min(bytes.count, start + pieceByteCount)
            // A piece of text has whole characters.
            while isText, end < bytes.count, bytes[end] & 0xC0 == 0x80 { end -= 1 }
            try writePiece(bytes.extracting(start..<end), isText: isText, to: console)
            start = end
        }
        try console.write("\"}\n")
    }

    private func writePiece(
        _ piece: Span<UInt8>, isText: Bool, to console: any Console
    ) throws(CLIError) {
        var output = Piece(capacity: 6 * piece.count + 4)
        defer { output.wipe() }
        if isText { output.appendEscaped(piece) } else { output.appendBase64(piece) }
        try console.write(output.bytes.span.extracting(first: output.count))
    }
}

/// Output bytes. The array never grows, because growing would leave a copy in memory.
private struct Piece {
    private(set) var bytes: [UInt8]
    private(set) var count = 0

    init(capacity: Int) {
        bytes = Array(repeating: 0, count: capacity)
    }

    mutating func wipe() {
        for index in bytes.indices { bytes[index] = 0 }
    }

    mutating func append(_ byte: UInt8) {
        bytes[count] = byte
        count += 1
    }

    /// Appends the inside of a JSON string. Escapes all characters that a terminal could act on, as
    /// ``JSON`` does.
    mutating func appendEscaped(_ text: Span<UInt8>) {
        guard let text = try? UTF8Span(validating: text) else { return }
        var scalars = text.makeUnicodeScalarIterator()
        while let scalar = scalars.next() {
            switch scalar {
            case "\"", "\\":
                append(UInt8(ascii: "\\"))
                append(UInt8(truncatingIfNeeded: scalar.value))
            case _ where scalar.isActive:
                for unit in scalar.utf16 { appendUnit(unit) }
            default: for byte in scalar.utf8 { append(byte) }
            }
        }
    }

    /// Appends `\u` and four digits.
    private mutating func appendUnit(_ unit: UInt16) {
        let digits = Array("0123456789abcdef".utf8)
        append(UInt8(ascii: "\\"))
        append(UInt8(ascii: "u"))
        for shift in stride(from: 12, through: 0, by: -4) {
            append(digits[Int(unit >> shift & 15)])
        }
    }

    /// Appends base64 (RFC 4648 §4).
    mutating func appendBase64(_ data: Span<UInt8>) {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        for start in stride(from: 0, to: data.count, by: 3) {
            let count = min(3, data.count - start)
            var bits: UInt32 = 0
            for offset in 0..<3 {
                bits = bits << 8 | (offset < count ? UInt32(data[start + offset]) : 0)
            }
            for position in 0..<4 {
                let digit = digits[Int(bits >> (18 - 6 * UInt32(position)) & 63)]
                append(position <= count ? digit : UInt8(ascii: "="))
            }
        }
    }
}
