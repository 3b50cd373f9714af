// SPDX-License-Identifier: Apache-2.0

// The items of `.env` files, and the reader that `valet import` uses for `~/.netrc`.

internal import ValetCLI
internal import ValetSealing

/// A text that is read byte by byte, in guarded memory.
struct TextReader {
    private let text: SecretValue
    private(set) var position = 0
    /// The line of the position, from 1.
    private(set) var line = 1

    init(_ text: SecretValue) {
        self.text = text
    }

    /// The next byte; nil at the end.
    var next: UInt8? { text.withBytes { position < $0.count ? $0[position] : nil } }

    /// Whether the next byte is this one.
    func isAt(_ character: Unicode.Scalar) -> Bool { next == UInt8(ascii: character) }

    mutating func advance() {
        if isAt("\n") { line += 1 }
        position += 1
    }

    /// Advances while `condition` holds, and returns the range of the bytes that it passed.
    @discardableResult
    mutating func advance(while condition: (UInt8) -> Bool) -> Range<Int> {
        let start = position
        while let next, condition(next) { advance() }
        return start..<position
    }

    /// A copy of a part.
    func part(_ range: Range<Int>) -> SecretValue { text.part(range) }
}

/// The variables of a `.env` file.
enum DotenvText {
    /// The items: each variable becomes a secret with its name. A value is data, also one that
    /// looks like a reference.
    static func items(in text: SecretValue, _ scope: Scope) throws(CLIError) -> ImportedItems {
        var found = ImportedItems()
        let variables = try Dotenv.variables(
            in: text, of: "the .env file", failingWith: .damaged)
        for variable in variables {
            let source = "\(variable.name) (line \(variable.line))"
            guard let value = variable.value else {
                found.skip(source, "it has no value in the file")
                continue
            }
            try found.add(ImportedItem(variable.name, value, in: scope, from: source))
        }
        return found
    }
}
