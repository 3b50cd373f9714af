// SPDX-License-Identifier: Apache-2.0

// Text that is safe to show: `Escaping` makes it, `TerminalText` recognizes it.

internal import ValetUserPresence

/// Makes text safe to show: one line without characters that a terminal acts on.
package enum Escaping {
    /// `text` with escapes for control characters, invisible characters and those that change the
    /// direction of writing.
    package static func printable(_ text: String) -> String {
        // Looking up each character in the tables of Unicode takes long for a long list.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) {
            return text
        }
        guard text.unicodeScalars.contains(where: { $0.isActive || $0 == "\\" }) else {
            return text
        }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.isActive:
                result += "\\u{" + hexadecimal(scalar.value, digitCount: 1) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Two lower-case digits for each byte.
    package static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { hexadecimal(UInt32($0), digitCount: 2) }.joined()
    }

    /// At least `digitCount` lower-case digits.
    static func hexadecimal(_ number: UInt32, digitCount: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
    }
}

/// Recognizes text that is safe to write to a terminal.
package enum TerminalText {
    /// Whether `bytes` are UTF-8 with no control characters other than tabs and line ends.
    package static func isShowable(_ bytes: Span<UInt8>) -> Bool {
        guard isUTF8(bytes) else { return false }
        for index in bytes.indices {
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            switch bytes[index] {
            case UInt8(ascii: "\n"), UInt8(ascii: "\t"): continue
            case UInt8(ascii: "\r") where next == UInt8(ascii: "\n"): continue
            case 0..<0x20, 0x7F: return false
            // U+0080 to U+009F: some terminals treat them as escape sequences.
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
