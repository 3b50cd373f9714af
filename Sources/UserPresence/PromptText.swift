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
            result.append(scalar.isActive && !isAllowed(scalar) ? "\u{FFFD}" : scalar)
        }
        if text.unicodeScalars.count > count { result.append("…") }
        return String(result)
    }

    /// The same for a pinentry, some of which take text with tags for more than text: what begins a
    /// tag or a character's name gives way to what looks like it.
    static func plain(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "<": result.append("\u{2039}")
            case ">": result.append("\u{203A}")
            case "&": result.append("\u{FF06}")
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
