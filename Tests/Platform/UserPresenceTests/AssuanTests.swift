// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSealing
import ValetSystem

@testable import ValetUserPresence

@Suite struct `A line of a pinentry` {
    private func parse(_ text: String) -> AssuanLine? {
        let bytes = Array(text.utf8)
        return AssuanLine(bytes.span)
    }

    @Test(
        arguments: [
            ("OK", .ok), ("OK ", .ok), ("OK Pleased to meet you", .ok), ("OKAY", nil), ("ok", nil),
            ("ERR 99", .error(PinentryRefusal(number: 99))),
            ("ERR 83886179 cancelled", .error(PinentryRefusal(number: 83_886_179))),
            ("ERR", nil), ("ERR ", nil), ("ERR  1", nil), ("ERR -1", nil), ("ERR 1x", nil),
            ("ERR 4294967295", .error(PinentryRefusal(number: .max))), ("ERR 4294967296", nil),
            ("D ", .data(2..<2)), ("D abc", .data(2..<5)), ("D", nil), ("Dabc", nil),
            ("S PIN_REPEATED", .status(isRepeated: true)),
            ("S PIN_REPEATED_NOT", .status(isRepeated: false)), ("S X", .status(isRepeated: false)),
            ("#", .status(isRepeated: false)), ("", nil), (" OK", nil), ("INQUIRE X", nil),
        ] as [(String, AssuanLine?)])
    func `A pinentry line is parsed as listed`(_ text: String, _ expected: AssuanLine?) {
        #expect(parse(text) == expected)
    }

    @Test func `A pinentry line has at most a thousand bytes`() {
        #expect(parse("D " + String(repeating: "x", count: 998)) == .data(2..<1000))
        #expect(parse("D " + String(repeating: "x", count: 999)) == nil)
    }

    @Test(
        arguments: [
            (99, .cancelled), (198, .cancelled), (62, .timedOut), (0x5000063, .cancelled),
            (0x500_8066, .pinentryUnusable), (1 << 24, .pinentryUnusable),
        ] as [(UInt32, SystemError.Code)])
    func `A pinentry error has a meaning by its number`(
        _ number: UInt32, _ code: SystemError.Code
    ) {
        #expect(PinentryRefusal(number: number).code == code)
    }

    @Test func `A pinentry line of random bytes is parsed or refused`() {
        var random = SystemRandomNumberGenerator()
        let seeds = ["OK x", "ERR 83886179 a", "D %25x", "S PIN_REPEATED", "# a"]
        for round in 0..<5000 {
            var bytes = Array(seeds[round % seeds.count].utf8)
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = .random(
                    in: 0...255, using: &random)
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            guard case .data(let range) = AssuanLine(bytes.span) else { continue }
            #expect(range == 2..<bytes.count && bytes.starts(with: [0x44, 0x20]))
        }
    }
}

@Suite struct `The encoding of a pinentry's lines` {
    private func decode(_ bytes: [UInt8], upTo limit: Int = 100) -> Outcome {
        var answer = SecretInput(capacity: 0)
        do throws(SystemError) {
            try PercentEncoding.decode(bytes.span, into: &answer, upTo: limit)
        } catch {
            return .failure(error.code)
        }
        let count = answer.byteCount
        let result = answer.prefix(count)
        return .answer(result.text)
    }

    @Test(
        arguments: [
            ("", .answer("")), ("a%25b", .answer("a%b")), ("%c3%A9", .answer("é")),
            ("a+b", .answer("a+b")), ("%", .failure(.malformed)), ("a%2", .failure(.malformed)),
            ("%2g", .failure(.malformed)), ("%%25", .failure(.malformed)), ("%00", .answer("\0")),
        ] as [(String, Outcome)])
    func `The encoding of a pinentry line is decoded`(_ text: String, _ expected: Outcome) {
        #expect(decode(Array(text.utf8)) == expected)
    }

    @Test func `A decoded pinentry line has a limit`() {
        #expect(decode(Array("%41BC".utf8), upTo: 3) == .answer("ABC"))
        #expect(decode(Array("%41BC".utf8), upTo: 2) == .failure(.tooLong))
    }

    @Test func `A pinentry line gives back every text`() {
        let text = "100% \r\n\t\u{7F}é\u{1F511} +"
        let encoded = PercentEncoding.encode(text, upTo: 1000)
        #expect(encoded.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
        #expect(decode(encoded) == .answer(text))
    }

    @Test func `A pinentry line is cut between characters`() {
        #expect(PercentEncoding.encode("aé%", upTo: 2) == Array("a".utf8))
        #expect(PercentEncoding.encode("aé%", upTo: 5) == Array("aé".utf8))
        #expect(PercentEncoding.encode("aé%", upTo: 6) == Array("aé%25".utf8))
    }
}
