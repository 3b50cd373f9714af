// SPDX-License-Identifier: Apache-2.0

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
            let end = min(bytes.count, start + pieceByteCount)
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

    /// Appends the inside of a JSON string.
    mutating func appendEscaped(_ text: Span<UInt8>) {
        let digits = Array("0123456789abcdef".utf8)
        for index in text.indices {
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case 0..<0x20, 0x7F:
                for character in "\\u00".utf8 { append(character) }
                append(digits[Int(byte >> 4)])
                append(digits[Int(byte & 15)])
            default: append(byte)
            }
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
