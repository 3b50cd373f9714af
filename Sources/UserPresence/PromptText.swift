// SPDX-License-Identifier: Apache-2.0

/// Makes text of applications safe to show to a person who decides by it.
enum PromptText {
    /// One line.
    static func line(_ text: String) -> String {
        shown(text, upTo: 256) { _ in false }
    }

    /// Several lines.
    static func lines(_ text: String) -> String {
        shown(text, upTo: 512) { $0 == "\n" }
    }

    private static func shown(
        _ text: String, upTo count: Int, except isAllowed: (Unicode.Scalar) -> Bool
    ) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(count) {
            result.append(isActive(scalar) && !isAllowed(scalar) ? "\u{FFFD}" : scalar)
        }
        if text.unicodeScalars.count > count { result.append("…") }
        return String(result)
    }

    /// Whether a terminal or a window could do more with `scalar` than show it.
    private static func isActive(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: true
        default: false
        }
    }
}
