// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel

@testable import ValetCLI

@Suite struct `Text at a terminal` {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本語", 6), ("한국", 4), ("ｱ", 1),
        ("Ａ", 2), ("😀", 2), ("👍🏽", 2), ("🇩🇪", 2), ("a😀b", 4), ("ไทย", 3),
        ("👩‍👩‍👧", 2), ("👩🏽‍💻", 2), ("🏳️‍🌈", 2), ("❤️", 2), ("a👨‍👩‍👧‍👦b", 4), ("1️⃣", 1),
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
        bench.run(words)
        return bench.console.outputText.split(separator: "\n")
    }

    @Test(arguments: [60, 61, 66, 72, 79, 80, 100, 120, 200], [["list"], ["list", "--all"]])
    func `A list at a terminal fits its width`(_ columns: Int, _ words: [String]) {
        let long = String(repeating: "long-name-", count: 9)
        let names = [
            long + "1", long + "2", String(repeating: "日本", count: 40), "short",
            String(repeating: "👩‍👩‍👧", count: 40),
        ]
        for name in names {
            bench.run(
                "set", name, "--id=" + long, "--accessibility",
                "after-first-unlock-this-device-only", input: [1])
        }
        bench.console.outputColumnCount = columns
        bench.run(words)
        let lines = bench.console.outputText.split(separator: "\n").map(String.init)
        #expect(lines.count == 6)
        #expect(lines.allSatisfy { $0.width <= columns }, "\(lines)")
        let name = try? #require(lines.first { $0.hasPrefix("long") }).prefix { $0 != " " }
        #expect((name?.count ?? 0) >= 24, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("long") && $0.contains("…") && $0.contains("1  ") })
    }

    @Test(arguments: [60, 80, 200])
    func `A list at a terminal shows which secrets are shared`(_ columns: Int) {
        bench.run("set", "a", input: [1])
        bench.run("set", "b", "--cloud", input: [1])
        bench.run("set", "c", "--service", "s", "--cloud", input: [1])
        let lines = lines("list", "--all", columns: columns)
        #expect(lines.count { $0.contains("  clou") } == 2, "\(lines)")
    }

    @Test func `A list has colours only where the terminal takes them`() {
        bench.run("set", "a\u{1B}[31m", "--cloud", input: [1])
        bench.console.isOutputTerminal = true
        bench.run("list")
        #expect(!bench.console.output.contains(0x1B))
        bench.console.takesColour = true
        bench.run("list")
        let text = bench.console.outputText
        #expect(text.hasPrefix("\u{1B}[1mNAME"))
        #expect(text.contains("\u{1B}[36mcloud-valet\u{1B}[0m"))
        #expect(!text.contains("\u{1B}[31m") && text.contains("a\\u{1b}[31m"))
        bench.run("list", "--names")
        #expect(!bench.console.output.contains(0x1B))
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
