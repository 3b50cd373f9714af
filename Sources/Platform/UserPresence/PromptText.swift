// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// Makes texts of applications safe to show in questions.
enum PromptText {
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

    /// Makes text safe for pinentry programs that interpret tags: replaces the characters that
    /// begin a tag or an entity by similar ones.
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
