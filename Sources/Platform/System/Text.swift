// SPDX-License-Identifier: Apache-2.0

// Operations on text: quoting for hints, searching without Foundation, and deciding whether a
// terminal may show it.

extension String {
    /// The text, quoted as one word of a shell command.
    var quotedForShell: String {
        let plain = utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: ":"):
                true
            default: false
            }
        }
        if plain, !isEmpty { return self }
        // By scalars: to `split`, an apostrophe and a combining mark after it are one character.
        var quoted = "'"
        for scalar in unicodeScalars {
            if scalar == "'" { quoted += "'\\'" }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "'"
    }
}

// The standard library's `contains(_:)` and `replacing(_:with:)` of texts link regular expressions,
// and two megabytes more have to be mapped at each start of the `valet` command.
// `scripts/check-libraries` finds them.
extension StringProtocol {
    /// Whether `part` occurs in the text, byte by byte.
    package func hasPart(_ part: String) -> Bool {
        let bytes = Array(utf8)
        let part = Array(part.utf8)
        return bytes.indices.contains { bytes[$0...].starts(with: part) } || part.isEmpty
    }
}

extension Unicode.Scalar {
    /// Whether a terminal or a window must not show it unchanged: control characters, characters
    /// that change the writing direction or join letters, tags, and all other invisible characters.
    package var isActive: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: properties.isDefaultIgnorableCodePoint
        }
    }
}
