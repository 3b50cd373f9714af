// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing

@testable import ValetCLI

@Suite struct `valet generate` {
    private let bench = Bench()

    private func generated(_ options: String...) -> String {
        #expect(bench.run(["generate", "--print"] + options) == .success)
        return bench.console.outputText.trimmingCharacters(in: .newlines)
    }

    private static let classes: [Set<Character>] = [
        Set("abcdefghijklmnopqrstuvwxyz"), Set("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), Set("0123456789"),
        Set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
    ]

    /// How many classes a text has characters of.
    private func classCount(_ text: String) -> Int {
        Self.classes.count { !$0.isDisjoint(with: text) }
    }

    // Promise: 4.12
    @Test func `valet generate stores a secret and shows nothing of it`() throws {
        #expect(bench.run("generate", "k") == .success)
        #expect(bench.console.output.isEmpty)
        #expect(bench.console.notes == ["valet: stored 'k': 157 bits of entropy"])
        let value = try #require(bench.values.first)
        let text = String(decoding: value, as: UTF8.self)
        #expect(text.count == 24 && classCount(text) == 4)
    }

    @Test func `valet generate --print stores nothing, and makes another secret each time`() {
        let secrets = Set((0..<50).map { _ in generated() })
        #expect(secrets.count == 50)
        #expect(secrets.allSatisfy { $0.count == 24 && classCount($0) == 4 })
        #expect(bench.items.isEmpty)
        #expect(bench.console.notes == ["valet: 157 bits of entropy"])
    }

    @Test(arguments: [
        ([], 4), (["--alphabet", "alphanumeric"], 3), (["--no-symbols"], 3),
        (["--alphabet", "letters"], 2), (["--alphabet", "digits"], 1), (["--symbols=_"], 4),
        (["--alphabet", "letters", "--symbols=-."], 3), (["--no-ambiguous"], 4),
    ])
    func `valet generate has a character of each class, even in short secrets`(
        _ options: [String], _ count: Int
    ) {
        for _ in 0..<30 {
            bench.run(["generate", "--print", "--length", "4"] + options)
            let text = bench.console.outputText.trimmingCharacters(in: .newlines)
            #expect(text.count == 4 && classCount(text) == count)
        }
    }

    @Test func `valet generate takes no characters but those asked for`() {
        #expect(Set(generated("--length", "1024", "--alphabet", "hex")) == Set("0123456789abcdef"))
        let dense = generated("--length", "1024", "--symbols=-_", "--no-ambiguous")
        #expect(Set(dense).isDisjoint(with: "0Oo1Il|!#"))
        #expect(Set(dense).isSuperset(of: "-_"))
        let own = generated("--length", "1024", "--alphabet", "BCD89-")
        #expect(Set(own) == Set("BCD89-"))
        #expect(Set(generated("--length", "1024", "--alphabet", "abc")) == Set("abc"))
        let clear = generated("--length", "1024", "--alphabet", "AB0O1l", "--no-ambiguous")
        #expect(Set(clear) == Set("AB"))
    }

    // Promise: 4.12
    /// Each of n characters comes k times on average; chi-squared is near n − 1 if all are equally
    /// likely. A remainder of 2³² or a favoured class would be seen here.
    @Test func `valet generate chooses each character equally often`() {
        var counts: [Character: Int] = [:]
        for _ in 0..<60 {
            for letter in generated("--length", "1024", "--alphabet", "alphanumeric") {
                counts[letter, default: 0] += 1
            }
        }
        let expected = 60 * 1024 / 62.0
        let deviation = counts.values.reduce(0.0) { sum, count in
            sum + (Double(count) - expected) * (Double(count) - expected) / expected
        }
        #expect(counts.count == 62)
        // With 61 degrees of freedom it is above 130 less than once in a million runs.
        #expect(deviation < 130)
    }

    // Promise: 4.12
    /// In texts of four characters of two classes, of 2 and 1 characters, that have both: the share
    /// of each must be the same. A forced character at a random place would favour some.
    @Test func `valet generate makes each secret that fits equally often`() throws {
        var counts: [String: Int] = [:]
        for _ in 0..<6500 {
            let value = try RandomText.characters(4, of: ["ab", "1"]).make()
            counts[value.publicText ?? "", default: 0] += 1
        }
        // 3⁴ texts, without 2⁴ that lack the digit and 1 that lacks the letters.
        #expect(counts.count == 64)
        let expected = 6500 / 64.0
        let deviation = counts.values.reduce(0.0) { sum, count in
            sum + (Double(count) - expected) * (Double(count) - expected) / expected
        }
        // 63 degrees of freedom.
        #expect(deviation < 133)
    }

    @Test(arguments: [
        (RandomText.characters(4, of: ["ab", "1"]), 6), (.characters(6, of: ["0123456789"]), 19),
        (.characters(24, of: ["0123456789abcdef"]), 96), (.words(6, separator: "-"), 77),
        (.characters(1024, of: RandomText.Alphabet.full.classes), 6711),
    ])
    func `valet generate counts the secrets that fit`(_ recipe: RandomText, _ bits: Int) {
        #expect(recipe.entropyBits == bits)
    }

    @Test func `valet generate makes passphrases of words`() {
        let words = generated("--words", "12", "--separator", " ").split(separator: " ")
        #expect(words.count == 12)
        #expect(words.allSatisfy { $0.count >= 3 && $0.allSatisfy { $0.isLowercase || $0 == "-" } })
        #expect(bench.console.notes == ["valet: 155 bits of entropy"])
        let joined = generated("--words", "3", "--separator", "none")
        #expect(joined.allSatisfy { $0.isLowercase || $0 == "-" })
    }

    @Test func `valet generate does not replace a secret by accident`() {
        bench.run("set", "k", input: [1])
        #expect(bench.run("generate", "k") == .alreadyThere)
        #expect(
            bench.console.notes == [
                "valet: error: 'k' exists in \(Bench.place) already, and stays",
                "valet: hint: '--force' replaces it by a random secret",
            ])
        #expect(bench.run("generate", "k", "--cloud") == .alreadyThere)
        bench.console.isInputTerminal = true
        #expect(bench.run("generate", "k") == .denied)
        #expect(
            bench.console.questions == ["Replace 'k' in \(Bench.place) by a random secret?"])
        #expect(bench.values == [[1]])
        bench.console.answer = true
        #expect(bench.run("generate", "k") == .success)
        #expect(bench.values.first?.count == 24)
        bench.console.isInputTerminal = false
        #expect(bench.run("generate", "k", "--force", "--length", "30") == .success)
        #expect(bench.values.map(\.count) == [30])
    }

    @Test func `valet generate stores where set would`() {
        let place = ["--app=com.example.a", "--cloud", "--accessibility=after-first-unlock"]
        #expect(bench.run(["generate", "k"] + place) == .success)
        let item = bench.items.first
        #expect(item?.isSynchronizable == true && item?.protectionClass == .afterFirstUnlock)
        #expect(bench.run("generate", "ann", "--server", "mail.example.com") == .success)
        #expect(bench.items.contains { $0.itemClass == .internetPassword })
        #expect(bench.run("generate", "ann", "--server", "mail.example.com") == .alreadyThere)
    }

    @Test func `valet generate writes JSON`() throws {
        #expect(bench.run("generate", "k", "--json", "--words", "6") == .success)
        let text = bench.console.outputText
        #expect(text.hasPrefix("{\"name\":\"k\",\"byteCount\":"))
        #expect(text.hasSuffix(",\"entropyBits\":77}\n") && bench.console.notes.isEmpty)
        #expect(bench.run("generate", "--print", "--json") == .success)
        let json = try JSONSerialization.jsonObject(with: Data(bench.console.output))
        let members = try #require(json as? [String: Any])
        #expect((members["value"] as? String)?.utf8.count == members["byteCount"] as? Int)
        #expect(members["entropyBits"] as? Int == 157)
    }

    @Test(arguments: [
        ["generate"], ["generate", "k", "--print"], ["generate", "k", "--length", "3"],
        ["generate", "k", "--length", "1025"], ["generate", "k", "--length", "+8"],
        ["generate", "k", "--words", "2"], ["generate", "k", "--words", "6", "--length", "9"],
        ["generate", "k", "--words", "6", "--no-symbols"], ["generate", "k", "--separator", "."],
        ["generate", "k", "--symbols", "ab"], ["generate", "k", "--symbols", "!!"],
        ["generate", "k", "--no-symbols", "--symbols", "!"], ["generate", "k", "24"],
        ["generate", "k", "--alphabet", "greek"], ["generate", "k", "--alphabet", "number"],
        ["generate", "k", "--alphabet", "A"], ["generate", "k", "--alphabet", "AA"],
        ["generate", "k", "--alphabet", "A B"], ["generate", "k", "--alphabet", "Aé"],
        ["generate", "k", "--alphabet", "A0O", "--no-ambiguous"],
        ["generate", "k", "--alphabet", "AB", "--symbols", "!"],
    ])
    func `valet generate refuses what contradicts itself`(_ words: [String]) {
        #expect(bench.run(words) == .usage)
        #expect(bench.items.isEmpty)
    }

    @Test func `Words that other tools have lead to generate`() {
        for word in ["gen", "pwgen"] {
            bench.run(word)
            #expect(bench.console.notes.last == "valet: hint: did you mean 'generate'?")
        }
    }
}
