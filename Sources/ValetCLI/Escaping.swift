// SPDX-License-Identifier: Apache-2.0

internal import ValetUserPresence

/// Makes text safe to show: one line that no terminal acts on.
enum Escaping {
    /// `text` with control characters, and what is not seen or turns the direction of writing, as
    /// escapes.
    static func printable(_ text: String) -> String {
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
    static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { hexadecimal(UInt32($0), digitCount: 2) }.joined()
    }

    /// At least `digitCount` lower-case digits.
    static func hexadecimal(_ number: UInt32, digitCount: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
    }
}
