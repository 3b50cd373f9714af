// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory

/// A file of environment variables, as `valet run --env-file` reads it: `NAME=VALUE` on each line.
enum EnvironmentFile {
    /// A variable of the file.
    struct Entry: Hashable {
        let name: String
        let value: String
        /// The number of its line, from 1.
        let line: Int
    }

    /// The variables of a file, in order. Empty lines and those that begin with `#` are skipped,
    /// and `export` before a name is dropped. Quotes around a value are removed; in double quotes
    /// `\n`, `\"` and `\\` stand for a newline, a quote and a backslash.
    ///
    /// - Throws: ``ExitCode/usage``, with the number of the line, and never its text.
    static func entries(_ text: String, of path: String) throws(CLIError) -> [Entry] {
        var entries: [Entry] = []
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            var line = line.trimmed
            if line.isEmpty || line.hasPrefix("#") { continue }
            if line.hasPrefix("export ") { line = line.dropFirst("export ".count).trimmed }
            let sides = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, VariableName.isValid(sides[0].trimmed),
                let value = value(sides[1].trimmed)
            else {
                throw .usage(
                    "line \(index + 1) of \(quoted(path)) is not NAME=VALUE",
                    hint: "a reference is the value, or is in it as {{ valet://APP/ID/KEY }}")
            }
            entries.append(Entry(name: String(sides[0].trimmed), value: value, line: index + 1))
        }
        return entries
    }

    private static func value(_ text: Substring) -> String? {
        guard let quote = text.first, quote == "\"" || quote == "'" else {
            // A comment may follow.
            let words = text.indices.first { index in
                text[index] == "#" && index > text.startIndex
                    && text[text.index(before: index)].isWhitespace
            }
            return String(text[..<(words ?? text.endIndex)].trimmed)
        }
        var (result, rest) = ("", text.dropFirst())
        while let character = rest.popFirst() {
            if character == quote {
                return rest.trimmed.isEmpty || rest.trimmed.hasPrefix("#") ? result : nil
            }
            guard character == "\\", quote == "\"", let next = rest.popFirst() else {
                result.append(character)
                continue
            }
            switch next {
            case "n": result.append("\n")
            case "\"", "\\", "$": result.append(next)
            default: result += "\\" + String(next)
            }
        }
        return nil
    }
}

/// Names of environment variables.
enum VariableName {
    /// Whether a shell takes the name: letters, digits and `_`, not a digit first.
    static func isValid(_ name: some StringProtocol) -> Bool {
        guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return name.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                || $0 == UInt8(ascii: "_")
        }
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var rest = self
        while rest.first?.isWhitespace == true { rest.removeFirst() }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}
