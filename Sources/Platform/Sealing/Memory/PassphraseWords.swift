// SPDX-License-Identifier: Apache-2.0

internal import ValetCWordList

/// The words of which passphrases are made: the large list of the Electronic Frontier Foundation.
///
/// No word is a prefix of another one, so that even words without a separator can be told apart.
package enum PassphraseWords {
    /// How many words there are: 6⁵, for five dice.
    package static let count = 7776

    /// Appends a word, in small letters.
    ///
    /// - Parameter index: The number of the word, from 0 on, in the order of the alphabet.
    package static func append(wordAt index: Int, to text: inout SecretText) {
        precondition(0..<count ~= index, "no such word")
        var byteCount = 0
        let start = unsafe valet_word_list(&byteCount)
        guard let start = unsafe start else { preconditionFailure("the list is missing") }
        let list = unsafe Span(_unsafeStart: start, count: byteCount)
        var (position, passed) = (firstWord(in: list), 0)
        while passed < index {
            if list[position] == UInt8(ascii: "\n") { passed += 1 }
            position += 1
        }
        while list[position] != UInt8(ascii: "\n") {
            text.append(list[position])
            position += 1
        }
    }

    /// The place after the first empty line: what stands before it names the list's authors.
    private static func firstWord(in list: Span<UInt8>) -> Int {
        let newline = UInt8(ascii: "\n")
        return (2..<list.count).first { list[$0 - 1] == newline && list[$0 - 2] == newline } ?? 0
    }
}
