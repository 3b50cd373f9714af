// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSealing

@testable import ValetCLI

@Suite struct `A .env file` {
    private func variables(_ text: [UInt8]) throws(CLIError) -> [DotenvVariable] {
        try Dotenv.variables(
            in: SecretValue(copying: text.span), of: "'f'", failingWith: .usage)
    }

    private func bytes(_ value: SecretValue) -> [UInt8] {
        value.withBytes { span in span.indices.map { span[$0] } }
    }

    private func lines(_ text: String) throws(CLIError) -> [String] {
        try variables(Array(text.utf8)).map { variable in
            guard let value = variable.value else { return variable.name }
            return "\(variable.name)=" + String(decoding: bytes(value), as: UTF8.self)
        }
    }

    private func written(_ value: [UInt8]) -> (text: String, isPortable: Bool) {
        let (line, isPortable) = Dotenv.line("A", SecretValue(copying: value.span))
        return (String(decoding: bytes(line), as: UTF8.self), isPortable)
    }

    @Test(arguments: [
        ("A=1", ["A=1"]), ("  export B = two words # comment", ["B=two words"]),
        ("\texport\tA=1", ["A=1"]), ("A=", ["A="]), ("A=\n", ["A="]), ("A= # c", ["A="]),
        ("A=#x", ["A=#x"]), ("A=a#b", ["A=a#b"]), ("A=a #b", ["A=a"]), ("A=a\\nb", ["A=a\\nb"]),
        ("A=$x ${y}", ["A=$x ${y}"]), ("# c\n\n #d\nA=1", ["A=1"]), ("A=a\"b\"", ["A=a\"b\""]),
        ("exported=1\nexport=2", ["exported=1", "export=2"]), ("a.b-c=1", ["a.b-c=1"]),
        ("A=a=b", ["A=a=b"]), ("A={\"a\":1}", ["A={\"a\":1}"]), ("A=1\nA=2", ["A=1", "A=2"]),
    ])
    func `A value without quotes ends with its line or a comment`(
        _ text: String, _ expected: [String]
    ) throws {
        #expect(try lines(text) == expected)
    }

    @Test(arguments: [
        ("A='x' # c", ["A=x"]), ("A=\"x\"#c\nB=1", ["A=x", "B=1"]), ("A='a\\n$b#'", ["A=a\\n$b#"]),
        ("A=\"\\n\\r\\t\\\\\\\"\\$\\`\\x\\'\"", ["A=\n\r\t\\\"$`\\x\\'"]),
        ("A='one\ntwo'\nB=2", ["A=one\ntwo", "B=2"]), ("A=\"a\nb # no\"\n", ["A=a\nb # no"]),
        ("A=`a'\"b`", ["A=a'\"b"]), ("A=`a\nb`\nB=1", ["A=a\nb", "B=1"]), ("A=`ab", ["A=`ab"]),
        ("A=`a\nB=`b", ["A=`a", "B=`b"]), ("A=`a` b", ["A=`a` b"]), ("A='\\'", ["A=\\"]),
        ("A=''\nB=\"\"", ["A=", "B="]), ("A='it\"s'", ["A=it\"s"]),
    ])
    func `A value in quotes may have several lines`(_ text: String, _ expected: [String]) throws {
        #expect(try lines(text) == expected)
    }

    @Test(arguments: [
        ("A='it'\\''s'", ["A=it's"]), ("A='it'\"'\"'s' # c", ["A=it's"]), ("A=''''", ["A="]),
        ("A=\"a\\n\"'b\\n'", ["A=a\nb\\n"]), ("A='a'\\\\\nB=1", ["A=a\\", "B=1"]),
    ])
    func `Quoted parts that touch are one value, as in sh`(
        _ text: String, _ expected: [String]
    ) throws {
        #expect(try lines(text) == expected)
        #expect(try variables(Array(text.utf8))[0].origin == .literal)
    }

    @Test(arguments: [
        ("A=1\rB=two\r", ["A=1", "B=two"]), ("A=1 # c\rB=2", ["A=1", "B=2"]),
        ("A=1\rB=2\nC=3\r\nD='x\ry'\r", ["A=1", "B=2", "C=3", "D=x\ry"]),
        ("# c\rA=1\r\r\nB=2", ["A=1", "B=2"]),
    ])
    func `A carriage return alone ends a line, too`(_ text: String, _ expected: [String]) throws {
        #expect(try lines(text) == expected)
    }

    @Test(arguments: [
        ("A", ["A"]), ("A\nB=1\n", ["A", "B=1"]), ("export A # c\r\nB", ["A", "B"]),
        ("export", ["export"]), ("export=1", ["export=1"]),
    ])
    func `A name alone has no value`(_ text: String, _ expected: [String]) throws {
        #expect(try lines(text) == expected)
    }

    @Test(arguments: ["A=1\nB='x\ny'\n# c\n\nC=2 # c\nD=\"p\nq\"\n", "A=1", "\n", ""])
    func `A byte order mark and ends of lines of other systems change nothing`(
        _ text: String
    ) throws {
        let expected = try lines(text)
        let others = text.split(separator: "\n", omittingEmptySubsequences: false)
            .joined(separator: "\r\n")
        #expect(try lines("\u{FEFF}" + text) == expected)
        #expect(try lines(others) == expected)
        #expect(try lines("\u{FEFF}" + others) == expected)
    }

    @Test(arguments: [
        "=x", "A B=x", "A B", "A: x", "A=\"x", "A='x' y", "A='x'y", "A='x''y", "=", "A='x",
        "A=\"x\\\"\nB=1",
        "{\"a\":1}", "A\u{A0}=x", "'A'=x",
    ])
    func `A line that sets no variable is refused without its text`(_ line: String) {
        let error = #expect(throws: CLIError.self) { try lines("X='1\n2'\n" + line) }
        #expect(error?.code == .usage)
        #expect(error?.message.hasPrefix("line 3 of 'f' ") == true)
        #expect(error?.message.contains("B=1") == false && error?.message.contains("y") == false)
    }

    @Test(arguments: [[0xFF, 0xFE], [0xFE, 0xFF]] as [[UInt8]])
    func `A file in UTF-16 is named as such`(_ mark: [UInt8]) {
        let error = #expect(throws: CLIError.self) { try variables(mark + [0x41, 0]) }
        #expect(error?.message == "'f' is UTF-16")
    }

    @Test(arguments: [
        ("a", "A=a\n", true), ("", "A=''\n", true), ("Z+,-./:@_=%", "A=Z+,-./:@_=%\n", true),
        ("a b", "A='a b'\n", true), ("~", "A='~'\n", true), ("p$w#\"`!", "A='p$w#\"`!'\n", true),
        ("a\nb", "A='a\nb'\n", true), ("it's", "A=\"it's\"\n", true), ("a\\b", "A='a\\b'\n", true),
        ("${x}", "A='${x}'\n", false), ("a\\\\b", "A=\"a\\\\\\\\b\"\n", false),
        ("a\\", "A=\"a\\\\\"\n", false), ("a\r\nb", "A=\"a\\r\nb\"\n", false),
        ("'$`\"\\", "A=\"'\\$\\`\\\"\\\\\"\n", false), ("valet:x", "A='valet:x'\n", true),
        ("it's valet:x", "A=\"it's valet:x\" # valet: data\n", true),
    ])
    func `A value is written without quotes, or in single quotes, where it can be`(
        _ value: String, _ expected: String, _ isPortable: Bool
    ) {
        let (text, isPortableHere) = written(Array(value.utf8))
        #expect(text == expected && isPortableHere == isPortable)
    }

    // Promise: 4.9
    @Test(arguments: [
        ("A=valet:x", DotenvVariable.Origin.text), ("A=\"valet:x\"", .text),
        ("A='valet:x'", .literal), ("A=`valet:x`", .literal),
        ("A=\"valet:x\" # valet: data", .marked), ("A=\"valet:x\" # valet: date", .text),
        ("A=valet:x # valet: data", .text), ("A=\"valet:x\" # valet: data \r", .marked),
    ])
    func `Quotes tell data from references`(
        _ text: String, _ origin: DotenvVariable.Origin
    ) throws {
        #expect(try variables(Array(text.utf8)).map(\.origin) == [origin])
    }

    private static let pieces = [
        "A=", "\n", "\r\n", "\r", "'", "\"", "`", "\\", "$", "${", "#", " #", " ", "\t", "=",
        "export ", "valet:", "valet://a/b/c", "{{ valet:k }}", "# valet: data", "\u{FEFF}", "é",
        "a.b-c", "\\n",
    ]

    // Promise: 4.9
    @Test(arguments: 0..<8)
    func `Every value that is written is read as the same bytes, and as data`(
        _ seed: UInt64
    ) throws {
        var random = SeededRandom(seed)
        for _ in 0..<FuzzRounds.count {
            let values = (0..<1 + random.below(4)).map { _ in
                random.text(of: Self.pieces, atMost: 12)
            }
            var file: [UInt8] = []
            for value in values {
                file += bytes(Dotenv.line("N_1", SecretValue(copying: value.span)).text)
            }
            let read = try variables(file)
            #expect(try read.map { bytes(try #require($0.value)) } == values)
            let references = read.filter { variable in
                variable.origin == .text
                    && variable.value?.withBytes { bytes in
                        bytes.indices.contains { SecretReference.hasScheme(bytes, at: $0) }
                    } == true
            }
            #expect(references.isEmpty)
        }
    }

    @Test(arguments: 0..<8)
    func `What is read from random text is written and read again as the same`(_ seed: UInt64) {
        var random = SeededRandom(seed)
        for _ in 0..<FuzzRounds.count {
            let text = random.text(of: Self.pieces, atMost: 30)
            guard let read = try? variables(text) else { continue }
            var again: [UInt8] = []
            for variable in read {
                guard let value = variable.value else { continue }
                again += bytes(Dotenv.line(variable.name, value).text)
            }
            let known = read.filter { $0.value != nil }
            let reread = try? variables(again)
            #expect(reread?.map(\.name) == known.map(\.name))
            #expect(reread?.map { $0.value.map(bytes) } == known.map { $0.value.map(bytes) })
        }
    }

    @Test(arguments: 0..<8)
    func `Random references and templates never end the process`(_ seed: UInt64) {
        var random = SeededRandom(seed)
        let pieces = [
            "valet:", "valet://", "/", "%", "%2F", "%+f", "%00", "?", "&", "=", "cloud", "account=",
            "server=h", "port=25", "port=+1", "accessibility=", "{{", "}}", "{{-", "-}}", " ",
            "\"", "'", "`", "\n", "k", "é",
        ]
        for _ in 0..<FuzzRounds.count {
            let text = random.text(of: pieces, atMost: 20)
            let found = SecretValue(copying: text.span).withBytes(TemplateReferences.init)
            if found.flaw == nil { #expect(found.texts.count == found.references.count + 1) }
            #expect(found.texts.allSatisfy { $0.upperBound <= text.count })
            _ = try? SecretReference(String(decoding: text, as: UTF8.self))
        }
    }
}
