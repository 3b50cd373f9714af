// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSecretMemory

@testable import ValetCLI

@Suite struct `A reference to a secret` {
    private func key(_ text: String) throws -> (ItemSelection, String?) {
        let selection = try SecretReference(text).selection
        return (selection, try selection.key?.text())
    }

    @Test(arguments: [
        ("valet://app/id/key", "app", "id", "key"), ("valet:///id/key", nil, "id", "key"),
        ("valet://app//key", "app", "default", "key"), ("valet:///./a/b", nil, ".", "a/b"),
        ("valet:key", nil, "default", "key"), ("key", nil, "default", "key"),
        ("valet://a%2Fb/i%20d/%C3%A4", "a/b", "i d", "ä"), ("valet:a?b", nil, "default", "a?b"),
    ])
    func `A reference names an application, a valet and a key`(
        _ text: String, _ application: String?, _ identifier: String, _ name: String
    ) throws {
        let (selection, key) = try key(text)
        #expect(selection.scope.requester.application == application)
        #expect(selection.scope.identifier == identifier && key == name)
        #expect(selection.password == nil && !selection.scope.isCloud)
    }

    @Test func `A reference can have options of the item`() throws {
        let (cloud, _) = try key("valet:///x/k?cloud&accessibility=after-first-unlock")
        #expect(cloud.scope.isCloud && cloud.scope.accessibility == .afterFirstUnlock)
        let (password, account) = try key("valet://app/?server=h&port=25&account=anna%40x")
        let query = try #require(password.queries.first)
        #expect(query.itemClass == .internetPassword && account == "anna@x")
        #expect(query.attributes == [.server: .text("h"), .port: .number(25)])
    }

    @Test(arguments: [
        "", "valet:", "valet://", "valet://a", "valet://a/b", "valet://a/b/", "valet://a/b/%",
        "valet://a/b/%zz", "valet://a/b/%00", "valet://a/b/%ff", "valet://a/b/k?",
        "valet://a/b/k?x=1",
        "valet://a/b/k?cloud=1", "valet://a/b/k?accessibility=ever", "valet://a/?port=25",
        "valet://a/b/k?service=s",
    ])
    func `A malformed reference is refused`(_ text: String) {
        let error = #expect(throws: CLIError.self) { try SecretReference(text) }
        #expect(error?.code == .usage)
    }
}

@Suite struct `A mask for output` {
    private func masked(_ secrets: [String], _ pieces: [String]) -> String {
        var mask = OutputMask(hiding: secrets.map { SecretValue(copying: Array($0.utf8).span) })
        var output: [UInt8] = []
        for (index, piece) in (pieces + [""]).enumerated() {
            mask.pass(Array(piece.utf8).span, isEnd: index == pieces.count) { bytes in
                output += bytes.indices.map { bytes[$0] }
            }
        }
        return String(decoding: output, as: UTF8.self)
            .split(separator: "<hidden by valet>", omittingEmptySubsequences: false)
            .joined(separator: "#")
    }

    @Test(arguments: [
        (["hunter2"], ["a hunter2 b"], "a # b"), (["hunter2"], ["hunter2hunter2"], "##"),
        (["hunter2"], ["hun", "ter", "2!"], "#!"), (["hunter2"], ["hun", "dred"], "hundred"),
        (["hunter2"], ["hunhunter2"], "hun#"), (["aaab"], ["aaaab"], "a#"),
        (["abcd", "abcdef"], ["abcdef abcd abcde"], "# # #e"),
        (["abcd", "abcdef"], ["abcde"], "#e"),
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

    @Test func `A mask holds back nothing but the beginning of a secret`() {
        var mask = OutputMask(hiding: [SecretValue(copying: Array("hunter2".utf8).span)])
        mask.pass(Array("prompt> ".utf8).span) { _ in }
        #expect(!mask.isHolding)
        mask.pass(Array("hunt".utf8).span) { _ in }
        #expect(mask.isHolding)
    }
}

@Suite struct `A file of variables` {
    @Test func `A file of variables is read as shells and compose files write it`() throws {
        let entries = try EnvironmentFile.entries(
            """
            # comment

            A=1
              export B = two words # comment
            C="a\\nb \\"q\\" \\$x"  # comment
            D='a\\nb # no comment'
            E=
            F=valet://a/b/c#d\r
            """, of: "f")
        #expect(
            entries.map { "\($0.name)=\($0.value)" } == [
                "A=1", "B=two words", "C=a\nb \"q\" $x", "D=a\\nb # no comment", "E=",
                "F=valet://a/b/c#d",
            ])
    }

    @Test(arguments: ["A", "=x", "1A=x", "A B=x", "A=\"x", "A='x' y", "A-B=x"])
    func `A line that sets no variable is refused without its text`(_ line: String) {
        let error = #expect(throws: CLIError.self) {
            try EnvironmentFile.entries("X=1\n" + line, of: "f")
        }
        #expect(error?.message == "line 2 of 'f' is not NAME=VALUE")
    }
}
