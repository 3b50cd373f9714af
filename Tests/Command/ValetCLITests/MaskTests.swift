// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSealing

@testable import ValetCLI

@Suite struct `A mask for output` {
    private func mask(_ secrets: [String]) -> OutputMask {
        OutputMask(hiding: secrets.map { SecretValue(copying: Array($0.utf8).span) })
    }

    private func masked(_ secrets: [String], _ pieces: [String]) -> String {
        var mask = mask(secrets)
        var output: [UInt8] = []
        for piece in pieces { mask.pass(Array(piece.utf8).span, into: &output) }
        mask.pass([UInt8]().span, isEnd: true, into: &output)
        return String(decoding: output, as: UTF8.self)
            .split(separator: "<hidden by valet>", omittingEmptySubsequences: false)
            .joined(separator: "#")
    }

    // Promise: 4.6
    @Test(arguments: [
        (["hunter2"], ["a hunter2 b"], "a # b"), (["hunter2"], ["hunter2hunter2"], "##"),
        (["hunter2"], ["hun", "ter", "2!"], "#!"), (["hunter2"], ["hun", "dred"], "hundred"),
        (["hunter2"], ["hunhunter2"], "hun#"), (["aaab"], ["aaaab"], "a#"),
        (["abcd", "abcdef"], ["abcdef abcd abcde"], "# # #"),
        (["secret-a\nsecret-b\n"], ["secret-b\nsecret-a\nx"], "#\n#\nx"),
        (["secret\n"], ["secret"], "#"),
        (["abc"], ["abc"], "abc"), ([], ["abc"], "abc"), (["wörter"], ["w", "örter"], "#"),
    ])
    func `A mask hides secrets however the output is cut`(
        _ secrets: [String], _ pieces: [String], _ expected: String
    ) {
        #expect(masked(secrets, pieces) == expected)
        #expect(masked(secrets, pieces.joined().map(String.init)) == expected)
    }

    // Promise: 4.6
    @Test(arguments: [
        (["abcdef", "defghi"], "abcdefghi", "#"), (["abcdef", "cdefgh"], "xabcdefghy", "x#y"),
        (["abcabc"], "abcabcabc", "#"), (["aaaa"], "aaaaaaa", "#"),
        (["abcdef", "bcde"], "abcdef", "#"), (["abcd", "defg", "ghij"], "abcdefghij", "#"),
        (["abcdefgh", "cdef"], "abcdefx", "ab#x"), (["abcd", "cdxx"], "abcdcdxx", "##"),
        (["ababac"], "abababac", "ab#"), (["abcd", "dabc"], "abcdabcd", "#"),
    ])
    func `Matches that overlap are hidden as one`(
        _ secrets: [String], _ output: String, _ expected: String
    ) {
        #expect(masked(secrets, [output]) == expected)
        #expect(masked(secrets, output.map(String.init)) == expected)
    }

    // Promise: 4.6
    @Test(arguments: [
        (["token\r\n"], "token", "#"), (["  token "], "x token y", "x # y"),
        (["\ttoken\n\n"], "token\n", "#\n"), (["a\r\nb\r\nc"], "a\nb\nc", "#"),
        (["a\nb\nc\n"], "a\r\nb\r\nc", "#"), (["ab\ncdef\ngh"], "cdef ab", "# ab"),
        (["abcd\r\nefgh\r\n"], "efgh abcd", "# #"), (["abcdefg\n  hijk\n"], " hijk", " #"),
        (["a\rbcde"], "bcde", "#"), (["x\u{20}y z"], "x y z", "#"), (["ab  \n"], "ab", "ab"),
        (["\u{20}\u{20}\u{20}\u{20}\u{20}"], "     ", "     "),
    ])
    func `A secret is hidden without blanks around it, and line by line`(
        _ secrets: [String], _ output: String, _ expected: String
    ) {
        #expect(masked(secrets, [output]) == expected)
    }

    @Test(arguments: [
        ("abcd", true), ("abc", false), ("abc\n", false), ("abcd\nabc", false),
        ("abcd\n}\n  },\nefgh\n", true), ("", false), ("\nabcd\n\n", true), ("ab\ncd", false),
    ])
    func `Secrets that are not hidden as a whole and line by line are known`(
        _ secret: String, _ isHidden: Bool
    ) {
        #expect(OutputMask.hides(SecretValue(copying: Array(secret.utf8).span)) == isHidden)
    }

    @Test func `A mask holds back nothing but the beginning of a secret`() {
        var mask = mask(["hunter2"])
        var output: [UInt8] = []
        mask.pass(Array("prompt> ".utf8).span, into: &output)
        #expect(!mask.isHolding && output == Array("prompt> ".utf8))
        mask.pass(Array("hunt".utf8).span, into: &output)
        #expect(mask.isHolding && output == Array("prompt> ".utf8))
    }

    @Test(arguments: [
        ("hun", "hun"), ("hunt", "#"), ("x hunter", "x #"), ("hunt!", "hunt!"),
        ("two words and", "#"), ("two words ", "# "), ("two ", "two "),
    ])
    func `At the end a long beginning of a secret is hidden, and a short one shown`(
        _ output: String, _ expected: String
    ) {
        #expect(masked(["hunter2", "two words and one"], [output]) == expected)
    }

    /// Looks for every secret at every place.
    private func slowly(_ secrets: [[UInt8]], _ output: [UInt8]) -> String {
        var covered = [Bool](repeating: false, count: output.count)
        var starts = Set<Int>()
        for position in output.indices {
            for secret in secrets where output[position...].starts(with: secret) {
                if !covered[position] { starts.insert(position) }
                for place in position..<position + secret.count { covered[place] = true }
            }
        }
        return output.indices.reduce(into: "") { text, place in
            if starts.contains(place) { text += "#" }
            if !covered[place] { text += String(UnicodeScalar(output[place])) }
        }
    }

    @Test(arguments: 0..<20)
    func `A mask finds what a slow search finds`(_ seed: UInt64) {
        var random = SeededRandom(seed)
        for _ in 0..<FuzzRounds.count {
            let secrets = (0..<random.below(4)).map { _ in
                (0..<4 + random.below(4)).map { _ in UInt8(ascii: "a") + random.byte(below: 2) }
            }
            // The last letter begins no secret.
            let output =
                (0..<random.below(40)).map { _ in UInt8(ascii: "a") + random.byte(below: 3) }
                + Array("z".utf8)
            var pieces: [String] = []
            var rest = output[...]
            while !rest.isEmpty {
                let count = 1 + random.below(rest.count)
                pieces.append(String(decoding: rest.prefix(count), as: UTF8.self))
                rest = rest.dropFirst(count)
            }
            let texts = secrets.map { String(decoding: $0, as: UTF8.self) }
            #expect(masked(texts, pieces) == slowly(secrets, output), "\(texts) \(pieces)")
        }
    }
}
