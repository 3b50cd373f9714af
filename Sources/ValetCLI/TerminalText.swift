// SPDX-License-Identifier: Apache-2.0

/// Tells text from what a terminal could act on.
enum TerminalText {
    /// Whether `bytes` are UTF-8 without control characters but tabs and ends of lines.
    static func isShowable(_ bytes: Span<UInt8>) -> Bool {
        guard isUTF8(bytes) else { return false }
        for index in bytes.indices {
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            switch bytes[index] {
            case UInt8(ascii: "\n"), UInt8(ascii: "\t"): continue
            case UInt8(ascii: "\r") where next == UInt8(ascii: "\n"): continue
            case 0..<0x20, 0x7F: return false
            // U+0080 to U+009F: terminals take some for what ESC starts.
            case 0xC2 where next < 0xA0: return false
            default: continue
            }
        }
        return true
    }

    /// Whether `bytes` are UTF-8.
    static func isUTF8(_ bytes: Span<UInt8>) -> Bool {
        (try? UTF8Span(validating: bytes)) != nil
    }
}
