// SPDX-License-Identifier: Apache-2.0

/// A command line that is being typed in a shell: words with quotes, the last one unfinished.
///
/// Only quotes and backslashes are understood. Nothing is expanded or run.
struct ShellLine {
    /// The words after the program's name, without quotes.
    private(set) var words: [String] = []
    /// The quotation mark that is open at the end of the line; nil for none.
    private var quote: Character?
    /// How many characters of the last word bash leaves alone: bash completes what follows the last
    /// colon or equals sign.
    private var keptCount = 0
    private var quotesAnswers = false

    /// A line of bash.
    ///
    /// - Parameter word: What bash completes: the end of the line, as it is there.
    init(_ line: String, completing word: String) {
        quotesAnswers = true
        scan(line)
        let first = words.firstIndex { $0 == "valet" || $0.hasSuffix("/valet") }
        words.removeFirst(min(words.count, (first ?? 0) + 1))
        if words.isEmpty { words = [""] }
        let current = words[words.count - 1]
        var plain = ShellLine([], isQuoted: false)
        plain.scan(word)
        let end = plain.words.last ?? ""
        if quote == nil, current.hasSuffix(end) { keptCount = current.count - end.count }
    }

    /// The words of another shell, which quotes what it inserts.
    ///
    /// - Parameter isQuoted: Whether the last word still has its quotes.
    init(_ words: [String], isQuoted: Bool) {
        self.words = words
        guard isQuoted, let last = words.last else { return }
        var line = ShellLine([], isQuoted: false)
        line.scan(last)
        self.words[words.count - 1] = line.words.last ?? ""
    }

    private mutating func scan(_ line: String) {
        var (word, isInside) = ("", true)
        var rest = line[...]
        while let character = rest.popFirst() {
            switch (quote, character) {
            case (nil, " "), (nil, "\t"):
                if isInside, !word.isEmpty || !words.isEmpty { words.append(word) }
                (word, isInside) = ("", true)
            case (nil, "'"), (nil, "\""): quote = character
            case (nil, "\\"): if let next = rest.popFirst() { word.append(next) }
            case ("'", "'"), ("\"", "\""): quote = nil
            case ("\"", "\\"):
                guard let next = rest.popFirst() else { continue }
                if !"$`\"\\".contains(next) { word.append("\\") }
                word.append(next)
            default: word.append(character)
            }
        }
        words.append(word)
    }

    /// The text with which the shell completes the last word to `word`; nil if it cannot insert
    /// that.
    func replacement(_ word: String) -> String? {
        guard quotesAnswers else { return word }
        let rest = word.dropFirst(keptCount)
        switch quote {
        // Bash inserts it behind the quotation mark.
        case "'": return rest.contains("'") ? nil : String(rest)
        case "\"": return escaping(rest) { "$`\"\\".contains($0) }
        default:
            let isPlain: (Character) -> Bool = {
                $0.isLetter || $0.isNumber || "-_./=:@%+,".contains($0)
            }
            return escaping(rest) { !isPlain($0) }
        }
    }

    /// A word as every shell reads it: in single quotes, unless it is plain.
    static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-_./:@%+,".utf8.contains(byte)
            }
        }
        guard !isPlain || word.isEmpty else { return word }
        // By scalars: a quotation mark with a combining mark is another `Character`.
        let scalars = word.unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }
        return "'" + scalars.joined() + "'"
    }

    private func escaping(_ text: Substring, _ isSpecial: (Character) -> Bool) -> String {
        text.map { isSpecial($0) ? "\\\($0)" : "\($0)" }.joined()
    }
}
