// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A file of command lines and of what they must do.
///
/// Its lines: `$ WORDS` runs the command (single quotes keep words together), `< TEXT` is a line of
/// its input, `> TEXT` of its output, `! TEXT` of its errors; with a bar behind the sign there is
/// no newline; `? N` is its exit code, else 0. In text, `{time}` is any time, `{id}` any number of
/// 32 hexadecimal digits, `{home}` the keychain's folder, `\xNN` a byte.
struct Scenario: CustomStringConvertible {
    struct Step {
        let line: Int
        let words: [String]
        var input = Data()
        var expected = TestedCommand.Outcome()
    }

    struct Malformed: Error {
        let line: Int
        let text: String
    }

    let name: String
    private(set) var steps: [Step] = []

    var description: String { name }

    init(file: URL) throws {
        name = file.deletingPathExtension().lastPathComponent
        let text = try String(contentsOf: file, encoding: .utf8)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            try read(String(line), number: index + 1)
        }
    }

    private mutating func read(_ line: String, number: Int) throws {
        if line.isEmpty || line.hasPrefix("#") { return }
        if line.first == "$" {
            steps.append(Step(line: number, words: Self.words(String(line.dropFirst(2)))))
            return
        }
        guard !steps.isEmpty, let sign = line.first else {
            throw Malformed(line: number, text: line)
        }
        let text = Self.bytes(of: line)
        switch sign {
        case "<": steps[steps.count - 1].input += text
        case ">": steps[steps.count - 1].expected.output += text
        case "!": steps[steps.count - 1].expected.errors += text
        case "?":
            guard let code = Int32(line.dropFirst(2)) else {
                throw Malformed(line: number, text: line)
            }
            steps[steps.count - 1].expected.code = code
        default: throw Malformed(line: number, text: line)
        }
    }

    private static func bytes(of line: String) -> Data {
        let hasBar = line.dropFirst().first == "|"
        var rest = line.dropFirst(hasBar ? 3 : 2)
        var bytes = Data()
        while let character = rest.popFirst() {
            if character == "\\", rest.first == "x",
                let byte = UInt8(rest.dropFirst().prefix(2), radix: 16)
            {
                bytes.append(byte)
                rest = rest.dropFirst(3)
            } else {
                bytes += Data(String(character).utf8)
            }
        }
        return hasBar ? bytes : bytes + Data("\n".utf8)
    }

    private static func words(_ text: String) -> [String] {
        var words: [String] = []
        for (index, part) in text.components(separatedBy: "'").enumerated() {
            if index % 2 == 1 {
                words.append(part)
            } else {
                words += part.split(separator: " ").map(String.init)
            }
        }
        return words
    }
}
