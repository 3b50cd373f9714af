// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetSealing

/// The recipe of a random secret, for `valet generate`.
enum RandomText {
    /// That many characters, at least one of each class. No character is in two classes.
    case characters(Int, of: [String])
    case words(Int, separator: String)

    /// The alphabets that have names.
    enum Alphabet: String, CaseIterable {
        case full, alphanumeric, letters, digits, hex

        var classes: [String] {
            switch self {
            case .full: Self.alphanumeric.classes + [RandomText.symbols]
            case .alphanumeric: Self.letters.classes + Self.digits.classes
            case .letters: ["abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
            case .digits: ["0123456789"]
            // One class: a number need not have a digit above nine.
            case .hex: ["0123456789abcdef"]
            }
        }
    }

    /// The ASCII characters for punctuation.
    static let symbols = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    static let ambiguous = "0Oo1Il|"

    /// Whether a text is one or more of ``symbols``, each at most once.
    static func areSymbols(_ text: String) -> Bool {
        !text.isEmpty && text.allSatisfy(symbols.contains) && Set(text).count == text.count
    }

    /// Whether a text is two or more characters of ASCII that can be seen, each at most once. Small
    /// letters alone have to rise: others are the misspelt name of an alphabet.
    static func areCharacters(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count > 1 && bytes.allSatisfy { (0x21...0x7E).contains($0) }
            && Set(bytes).count == bytes.count
            && (!bytes.allSatisfy { (0x61...0x7A).contains($0) } || bytes == bytes.sorted())
    }

    /// How many times a secret may lack a class before this gives up. The least likely recipe, four
    /// characters of four classes of which one has a single character, needs about a hundred.
    private static let tryCount = 100_000

    /// Makes a secret. All secrets that fit are equally likely.
    func make() throws(CLIError) -> SecretValue {
        switch self {
        case .words(let count, let separator):
            var text = SecretText(capacity: count * (10 + separator.utf8.count))
            for number in 0..<count {
                if number > 0 { text.append(separator) }
                let index = Randomness.number(below: PassphraseWords.count)
                PassphraseWords.append(wordAt: index, to: &text)
            }
            return text.value()
        case .characters(let count, let classes):
            let classes = classes.map { Array($0.utf8) }
            let alphabet = classes.flatMap(\.self)
            for _ in 0..<Self.tryCount {
                var bytes = SecretBytes(byteCount: count)
                bytes.withMutableBytes { bytes in
                    for index in 0..<count {
                        bytes[index] = alphabet[Randomness.number(below: alphabet.count)]
                    }
                }
                let value = SecretValue(bytes)
                if Self.has(value, each: classes) { return value }
            }
            throw CLIError(.failure, "no secret of \(count) characters had all classes of them")
        }
    }

    private static func has(_ value: SecretValue, each classes: [[UInt8]]) -> Bool {
        value.withBytes { bytes in
            classes.allSatisfy { one in bytes.indices.contains { one.contains(bytes[$0]) } }
        }
    }

    /// The entropy in bits, rounded down: the logarithm of how many secrets there are.
    var entropyBits: Int {
        switch self {
        case .words(let count, _): return Int(Double(count) * log2(Double(PassphraseWords.count)))
        case .characters(let count, let classes):
            let total = Double(classes.reduce(0) { $0 + $1.utf8.count })
            // Texts that lack a class do not count: inclusion and exclusion gives the share of the
            // others.
            var share = 0.0
            for subset in 0..<(1 << classes.count) {
                let left = classes.indices.filter { subset >> $0 & 1 == 0 }
                    .reduce(0) { $0 + classes[$1].utf8.count }
                let term = pow(Double(left) / total, Double(count))
                share += subset.nonzeroBitCount.isMultiple(of: 2) ? term : -term
            }
            return Int((Double(count) * log2(total) + log2(share)).rounded(.down))
        }
    }
}
