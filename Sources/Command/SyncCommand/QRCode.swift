// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
internal import ValetSystem

/// Draws a text as a QR code for a terminal, with libqrencode, where that is installed. The library
/// is loaded by the name `libqrencode.so.4`, whose version guarantees the types here.
enum QRCode {
    /// The result of the library: its version, its width, and one byte for each module, of which
    /// the lowest bit says whether it is dark.
    @unsafe private struct Symbol {
        var version: Int32
        var width: Int32
        var data: UnsafeMutablePointer<UInt8>?
    }

    private typealias Encode =
        @convention(c) (UnsafePointer<CChar>, Int32, Int32, Int32, Int32)
        -> UnsafeMutableRawPointer?
    private typealias Free = @convention(c) (UnsafeMutableRawPointer) -> Void
    /// Symbols of invitations have fewer than 40 modules a side; the largest of all has 177.
    private static let widths: ClosedRange<Int> = 21...177
    /// The light modules around a symbol, without which readers do not find it.
    private static let margin = 4

    /// The code in lines of half blocks; nil without the library or if it refuses.
    static func text(of secret: borrowing SecretBytes) -> String? {
        guard let library = DynamicLibrary("libqrencode.so.4"),
            let encode = unsafe library.function("QRcode_encodeString", as: Encode.self),
            let free = unsafe library.function("QRcode_free", as: Free.self)
        else { return nil }
        var characters: [CChar] = secret.withBytes { bytes in
            bytes.indices.map { CChar(bitPattern: bytes[$0]) } + [0]
        }
        // Any version, level L, 8-bit data, case-sensitive.
        let made = unsafe encode(&characters, 0, 0, 2, 1)
        for index in characters.indices { characters[index] = 0 }
        guard let made = unsafe made else { return nil }
        defer { unsafe free(made) }
        let symbol = unsafe made.assumingMemoryBound(to: Symbol.self).pointee
        let width = unsafe Int(symbol.width)
        guard widths.contains(width), let data = unsafe symbol.data else { return nil }
        let isDark = (0..<width * width).map { unsafe data[$0] & 1 == 1 }
        for index in 0..<width * width { unsafe data[index] = 0 }
        return drawing(isDark, width: width)
    }

    /// Two rows of modules in one line of text. Light modules are drawn, because most terminals
    /// write light on dark.
    static func drawing(_ isDark: [Bool], width: Int) -> String {
        func isLight(_ row: Int, _ column: Int) -> Bool {
            guard (0..<width).contains(row), (0..<width).contains(column) else { return true }
            return !isDark[row * width + column]
        }
        var text = ""
        for row in stride(from: -margin, to: width + margin, by: 2) {
            for column in -margin..<width + margin {
                switch (isLight(row, column), isLight(row + 1, column)) {
                case (true, true): text += "█"
                case (true, false): text += "▀"
                case (false, true): text += "▄"
                case (false, false): text += " "
                }
            }
            text += "\n"
        }
        return text
    }
}
