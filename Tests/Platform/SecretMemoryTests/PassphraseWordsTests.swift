// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSealing

@Suite struct `The list of words` {
    private static let words: [String] = (0..<PassphraseWords.count).map { index in
        var text = SecretText()
        PassphraseWords.append(wordAt: index, to: &text)
        return text.publicText()
    }

    @Test func `The list has different words of small letters`() {
        #expect(Set(Self.words).count == 7776)
        #expect(Self.words.first == "abacus" && Self.words.last == "zoom")
        #expect(
            Self.words.allSatisfy { word in
                (3...9).contains(word.count)
                    && word.utf8.allSatisfy { $0 == UInt8(ascii: "-") || 0x61...0x7A ~= $0 }
            })
    }

    // Promise: 4.12
    /// So a passphrase has one reading only, even without separators: its entropy is that of its
    /// words. In the order of the bytes a word would follow directly on its own beginning.
    @Test func `No word is the beginning of another one`() {
        let sorted = Self.words.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        #expect(!zip(sorted, sorted.dropFirst()).contains { $1.hasPrefix($0) })
    }

    @Test(arguments: [1, 2, 3, 62, 7776])
    func `Random numbers are all that are below the limit`(_ count: Int) {
        let numbers = Set((0..<(count * 32)).map { _ in Randomness.number(below: count) })
        #expect(numbers == Set(0..<count))
    }
}
