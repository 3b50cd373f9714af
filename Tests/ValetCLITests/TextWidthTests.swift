// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel

@testable import ValetCLI

@Suite struct `Text at a terminal` {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本語", 6), ("한국", 4), ("ｱ", 1),
        ("Ａ", 2), ("😀", 2), ("👍🏽", 2), ("🇩🇪", 2), ("a😀b", 4), ("ไทย", 3),
    ])
    func `Text takes as many columns as terminals give it`(_ text: String, _ count: Int) {
        #expect(text.width == count)
        #expect(text.padded(to: 10).width == 10)
    }

    @Test(arguments: [
        ("abc", 3, "abc"), ("abcdef", 5, "abc…f"), ("abcdef", 1, "…"),
        ("abcdefghij", 8, "abcde…ij"),
        ("日本語のキー", 8, "日本…ー"), ("日本語", 6, "日本語"), ("😀😀😀", 3, "😀…"),
    ])
    func `Long text keeps its start and its end`(_ text: String, _ count: Int, _ short: String) {
        #expect(text.shortened(to: count) == short)
        #expect(text.shortened(to: count).width <= max(count, 0))
    }

    @Test(arguments: [
        ("mail", "My-Mail", true), ("mail", "nail", false), ("*", "", true), ("a*", "Abc", true),
        ("a*c", "abbc", true), ("a*c", "abcd", false), ("?", "日", true), ("?", "ab", false),
        ("*a*b*", "xxaxxbxx", true), ("a?c*", "abc", true), ("", "x", true), ("Ä", "ä", true),
        (String(repeating: "a*", count: 40) + "b", String(repeating: "a", count: 4000), false),
    ])
    func `A pattern matches names whatever their capitals`(
        _ pattern: String, _ name: String, _ isMatch: Bool
    ) {
        #expect(NamePattern(pattern).matches(name) == isMatch)
    }
}

@Suite struct `A list at a terminal` {
    private let bench = Bench()

    private func lines(_ words: String..., columns: Int) -> [Substring] {
        bench.console.outputColumnCount = columns
        bench.run(words: words)
        return bench.console.outputText.split(separator: "\n")
    }

    @Test(arguments: [80, 100, 200])
    func `A list at a terminal fits its width`(_ columns: Int) {
        let long = String(repeating: "long-name-", count: 9)
        for name in [long + "1", long + "2", String(repeating: "日本", count: 40), "short"] {
            bench.run("set", name, "--id=" + long, input: [1])
        }
        let lines = lines("list", columns: columns)
        #expect(lines.count == 5)
        #expect(lines.allSatisfy { String($0).width <= columns })
        #expect(lines.contains { $0.hasPrefix("long") && $0.contains("…") && $0.contains("1  ") })
    }

    @Test func `A list that is not at a terminal shows whole names`() {
        let long = String(repeating: "n", count: 300)
        bench.run("set", long, input: [1])
        bench.run("list")
        #expect(bench.console.outputText.contains(long))
    }

    @Test func `A list never narrows a column to nothing`() {
        bench.run("set", "a-name-of-some-length", input: [1])
        let lines = lines("list", columns: 10)
        #expect(lines.last?.hasPrefix("a-nam…th") == true)
    }
}
