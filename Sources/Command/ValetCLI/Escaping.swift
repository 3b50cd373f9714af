// SPDX-License-Identifier: Apache-2.0

// Text that is safe to show: `Escaping` makes it, `TerminalText` recognizes it. Names and values
// may come from attackers, and a terminal acts on some characters and hides others.

package import ValetSealing
internal import ValetSystem
internal import ValetUserPresence

/// Makes text safe to show.
package enum Escaping {
    /// One line: `text` with escapes for control characters, invisible characters and those that
    /// change the direction of writing. Doubles backslashes, so that no two texts look alike.
    package static func printable(_ text: String) -> String {
        // Looking up each character in the tables of Unicode takes long for a long list.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) {
            return text
        }
        return escaped(text) { scalar in
            switch scalar {
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            default: nil
            }
        }
    }

    /// Makes the command's own text of several lines safe, because it may contain foreign text.
    /// This is the last step before a terminal. Does not change safe text.
    package static func harmless(_ text: String) -> String {
        if text.utf8.allSatisfy({ ($0 >= 0x20 && $0 < 0x7F) || $0 == UInt8(ascii: "\n") }) {
            return text
        }
        return escaped(text) { scalar in
            switch scalar {
            case "\n": "\n"
            case "\t": "\t"
            // 'list --null' ends names with a zero byte; terminals ignore it.
            case "\0": "\0"
            default: nil
            }
        }
    }

    /// - Parameter exception: What to write for a scalar that is treated in its own way.
    private static func escaped(
        _ text: String, _ exception: (Unicode.Scalar) -> String?
    ) -> String {
        var result = ""
        var before: Unicode.Scalar?
        let scalars = text.unicodeScalars
        for index in scalars.indices {
            let scalar = scalars[index]
            let next = scalars.index(after: index)
            let after = next < scalars.endIndex ? scalars[next] : nil
            if let written = exception(scalar) {
                result += written
            } else if scalar.isActive, !scalar.joinsEmoji(between: before, after) {
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            } else {
                result.unicodeScalars.append(scalar)
            }
            before = scalar
        }
        return result
    }
}

extension Unicode.Scalar {
    /// Whether this invisible scalar is part of an emoji: a zero-width joiner between two emoji, or
    /// the variation selector after one that asks for its coloured form.
    fileprivate func joinsEmoji(
        between before: Unicode.Scalar?, _ after: Unicode.Scalar?
    ) -> Bool {
        guard let before, before.isPicture || before == Self.colouring else { return false }
        switch self {
        case Self.joiner: return after?.isPicture == true
        case Self.colouring: return before != Self.colouring
        default: return false
        }
    }

    static let joiner: Unicode.Scalar = "\u{200D}"
    static let colouring: Unicode.Scalar = "\u{FE0F}"

    /// Unicode also counts digits and some signs as emoji; this does not.
    var isPicture: Bool { value > 0xFF && properties.isEmoji }
}

/// Recognizes text that is safe to write to a terminal.
package enum TerminalText {
    /// Whether `bytes` are UTF-8 without control characters other than tabs and line ends, and
    /// without characters that are invisible or change the direction of writing.
    package static func isShowable(_ bytes: Span<UInt8>) -> Bool {
        guard let text = try? UTF8Span(validating: bytes) else { return false }
        var scalars = text.makeUnicodeScalarIterator()
        var before: Unicode.Scalar?
        var current = scalars.next()
        while let scalar = current {
            let after = scalars.next()
            switch scalar {
            case "\n", "\t": break
            case "\r" where after == "\n": break
            case _ where scalar.isActive && !scalar.joinsEmoji(between: before, after):
                return false
            default: break
            }
            (before, current) = (scalar, after)
        }
        return true
    }
}

extension Console {
    /// Writes a secret to standard output: its exact bytes, and a newline at a terminal.
    ///
    /// - Throws: ``ExitCode/failure`` if standard output is a terminal and would act on them or
    ///   hide parts, unless `isForced`.
    package func writeSecret(
        _ bytes: Span<UInt8>, isForced: Bool = false
    ) throws(CLIError) {
        guard !isOutputTerminal || isForced || TerminalText.isShowable(bytes) else {
            throw CLIError(
                .failure, "the secret is not plain text, and standard output is a terminal",
                hint: "redirect the output, or use '--force'")
        }
        try write(bytes)
        if isOutputTerminal { try write("\n") }
    }
}

extension SecretValue {
    package func part(_ range: Range<Int>) -> SecretValue {
        withBytes { SecretValue(copying: $0.extracting(range)) }
    }

    /// The bytes after percent-decoding (RFC 3986 §2.1); nil if a percent sign is not followed by
    /// two hexadecimal digits.
    package var percentDecoded: SecretValue? {
        withBytes { bytes in
            var text = SecretText(capacity: max(bytes.count, 1))
            var index = 0
            while index < bytes.count {
                guard bytes[index] == UInt8(ascii: "%") else {
                    text.append(bytes[index])
                    index += 1
                    continue
                }
                guard index + 2 < bytes.count, let high = bytes[index + 1].hexadecimalValue,
                    let low = bytes[index + 2].hexadecimalValue
                else { return nil }
                text.append(high << 4 | low)
                index += 3
            }
            return text.value()
        }
    }
}

extension UInt8 {
    /// The value of a hexadecimal digit in ASCII; nil for other bytes.
    package var hexadecimalValue: UInt8? {
        Character(Unicode.Scalar(self)).hexDigitValue.map(UInt8.init)
    }
}
