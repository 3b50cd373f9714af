// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// Writes a secret as a JSON object, in pieces that are wiped: ``JSON`` would leave copies in
/// memory. `valet get --json` uses it.
struct SecretJSON {
    let key: String

    /// Writes the object and a newline.
    func write(_ bytes: Span<UInt8>, to console: any Console) throws(CLIError) {
        let isText = (try? UTF8Span(validating: bytes)) != nil
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
        guard isText else {
            return try console.write(Base64.encoded(piece))
        }
        var output = SecretText(capacity: piece.count + 64)
        output.appendJSON(piece)
        try console.write(output.value())
    }
}
