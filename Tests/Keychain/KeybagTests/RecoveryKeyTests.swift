// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetKeys

@Suite struct `A recovery key` {
    /// The text of one.
    let text = RecoveryKey([UInt8](repeating: 0x5a, count: 20)).text.array

    private func code(_ text: [UInt8]) -> KeybagFault? {
        ValetKeybagTests.code { _ = try RecoveryKey(parsing: text.span) }
    }

    @Test func `A recovery key is ten groups of four characters`() {
        let text = String(decoding: RecoveryKey.random().text.array, as: UTF8.self)
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        #expect(groups.map(\.count) == [Int](repeating: 4, count: 10))
        #expect(text.hasPrefix("V1"))
        #expect(text.allSatisfy { "0123456789ABCDEFGHJKMNPQRSTVWXYZ-".contains($0) })
    }

    @Test func `A recovery key is another each time it is made`() {
        let (one, two) = (RecoveryKey.random().text.array, RecoveryKey.random().text.array)
        #expect(one != two)
    }

    @Test func `A recovery key comes back from its text`() throws {
        for _ in 0..<100 {
            let key = RecoveryKey.random()
            let text = key.text
            let again = try text.withBytes { (text: Span<UInt8>) throws(KeychainFailure) in
                try RecoveryKey(parsing: text)
            }
            #expect(again.seed.array == key.seed.array)
            #expect(again.publicKey == key.publicKey)
        }
    }

    @Test func `A recovery key is mistyped with any one character changed`() {
        for index in text.indices where text[index] != 0x2d {
            for character in Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
            where character != text[index] {
                var changed = text
                changed[index] = character
                #expect(code(changed) == .mistyped(.check))
            }
        }
    }

    @Test func `A recovery key is mistyped with any two characters swapped`() {
        let random = RecoveryKey.random().text.array
        for text in [text, random] {
            for (left, right) in text.indices.flatMap({ left in
                text.indices.dropFirst(left + 1).map { (left, $0) }
            }) where text[left] != text[right] && text[left] != 0x2d && text[right] != 0x2d {
                var changed = text
                changed.swapAt(left, right)
                #expect(code(changed) == .mistyped(.check))
            }
        }
    }

    @Test func `A recovery key is mistyped with a few characters changed`() {
        var random = SplitMix(seed: 99)
        let text = text.filter { $0 != 0x2d }
        for _ in 0..<5_000 {
            var changed = text
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<40, using: &random)
                changed[place] = Base32.character(of: UInt8.random(in: 0..<32, using: &random))
            }
            guard changed != text else { continue }
            #expect(code(changed) == .mistyped(.check))
        }
    }

    @Test func `A recovery key says where a character is that no recovery key has`() {
        for index in text.indices {
            for character in [0, 0x1f, 0x21, 0x55, 0x75, 0x40, 0x5b, 0x60, 0x7b, 0x7f, 0x80, 0xff]
                as [UInt8]
            {
                var changed = text
                changed[index] = character
                #expect(code(changed) == .mistyped(.character(position: index + 1)))
            }
        }
    }

    @Test func `A recovery key says how many characters there are`() {
        let text = text.filter { $0 != 0x2d }
        for count in 0..<40 {
            #expect(
                code(Array(text.prefix(count)))
                    == .mistyped(.length(characterCount: count, expected: 40)))
        }
        #expect(code(text + text) == .mistyped(.length(characterCount: 80, expected: 40)))
    }

    @Test func `A recovery key takes any bytes without harm`() {
        var random = SplitMix(seed: 3)
        for _ in 0..<5_000 {
            let changed = random.mutation(of: text)
            guard changed.filter({ $0 != 0x2d }) != text.filter({ $0 != 0x2d }) else { continue }
            guard let again = try? RecoveryKey(parsing: changed.span) else { continue }
            // Spaces, lower case and look-alikes are all that may differ.
            #expect(again.text.array == text)
        }
    }

    @Test func `A recovery key is described without what was typed`() {
        let text = Array("V1-SECRET-U".utf8)
        let error = #expect(throws: KeychainFailure.self) {
            _ = try RecoveryKey(parsing: text.span)
        }
        let reading = "could not read the recovery key: "
        #expect(
            error?.description
                == reading + "invalid character at position 11")
        let short = Array("V1-SECRET".utf8)
        let other = #expect(throws: KeychainFailure.self) {
            _ = try RecoveryKey(parsing: short.span)
        }
        #expect(
            other?.description == reading + "wrong length: 8 characters instead of 40")
    }
}
