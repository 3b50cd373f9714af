// SPDX-License-Identifier: Apache-2.0

/// Makes text safe to show: one line that no terminal acts on.
enum Escaping {
    /// `text` with control characters, and what turns the direction of writing, as escapes.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { isActive($0) || $0 == "\\" }) else {
            return text
        }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where isActive(scalar):
                result += "\\u{" + hexadecimal(scalar.value, digitCount: 1) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Whether a terminal could do more with `scalar` than show it.
    static func isActive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: true
        default: false
        }
    }

    /// Two lower-case digits for each byte.
    static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { hexadecimal(UInt32($0), digitCount: 2) }.joined()
    }

    /// At least `digitCount` lower-case digits.
    static func hexadecimal(_ number: UInt32, digitCount: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
    }
}
