// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetCLI
import ValetKeychainModel
import ValetSealing

@testable import ValetClientsCommand

@Suite struct `A netrc file` {
    private func netrc(_ input: String) throws(CLIError) -> (items: [String], skipped: [String]) {
        shown(try NetrcText.items(in: secret(input)))
    }

    @Test(arguments: ["\n", "\r\n"])
    func `A netrc file goes on after a macro's empty line`(_ end: String) throws {
        let lines = [
            "machine a.example login u password p", "macdef init", "cd /", "",
            "machine b.example login v password q", "",
        ]
        let (items, skipped) = try netrc(lines.joined(separator: end))
        #expect(items == ["internet a.example u = p", "internet b.example v = q"])
        #expect(skipped == ["a macro (line 2): macros are not imported"])
    }

    @Test func `A netrc file says that a macro without an end takes the machines after it`() throws
    {
        let (items, skipped) = try netrc("macdef x\ncd /\nmachine b.example login v password q\n")
        #expect(items.isEmpty)
        #expect(
            skipped == [
                "a macro (line 1): no empty line ends it, so that the machines after it are part "
                    + "of it"
            ])
    }

    @Test func `A netrc file may have the words that other readers know`() throws {
        let (items, skipped) = try netrc(
            "MACHINE a.example user u passwd p\nmachine b.example login v account x password q\n")
        #expect(items == ["internet a.example u = p", "internet b.example v = q"])
        #expect(skipped == ["b.example (line 2): its account is not imported"])
    }

    @Test(arguments: [
        ("port 2121", "htps", 2121), ("port imaps", "imps", 0), ("protocol http", "http", 0),
        ("protocol smtp port 25", "smtp", 0), ("protocol https", "htps", 0),
    ])
    func `A netrc file may name a port or a protocol`(
        _ words: String, _ code: String, _ port: Int64
    ) throws {
        let found = try NetrcText.items(
            in: secret("machine a.example \(words) login u password p\n"))
        let attributes = try #require(found.items.first).attributes
        #expect(attributes[.protocol] == .text(code))
        #expect(attributes[.port] == .number(port))
    }

    @Test(arguments: ["port 0", "port 65536", "port 99999999999999999999", "port -1", "port a/b"])
    func `A netrc file names a machine whose port is not possible`(_ words: String) throws {
        let (items, skipped) = try netrc("machine a.example \(words) login u password p\n")
        #expect(items.isEmpty)
        #expect(skipped == ["a.example (line 1): its port is not possible"])
    }

    @Test func `A netrc file has quoted words with curl's escapes`() throws {
        let (items, _) = try netrc(
            #"machine a.example login "" password "a\"b\\c\n\r\t\x # d""# + "\n")
        #expect(items == ["internet a.example  = a\"b\\c\n\r\tx # d"])
    }

    @Test func `A netrc file has comments where no value can be`() throws {
        let (items, _) = try netrc(
            "# a\nmachine a.example # b\n# machine c.example\nlogin u password #p # q\n")
        #expect(items == ["internet a.example u = #p"])
    }

    @Test func `A netrc file names an earlier password of the same machine`() throws {
        let (items, skipped) = try netrc("machine a.example login u password p password q\n")
        #expect(items == ["internet a.example u = q"])
        #expect(skipped == ["a.example (line 1): it has two passwords: the last is imported"])
    }

    @Test(arguments: ["::1", "[::1]"])
    func `A netrc file may name a machine by its IPv6 address`(_ machine: String) throws {
        let (items, _) = try netrc("machine \(machine) login u password p\n")
        #expect(items == ["internet [::1] u = p"])
    }

    @Test(arguments: [
        "login u machine a", "password p", "machine", "machine a login", "machine a password",
        "machine a hunter2", "machine a password \"hunter2", "machine a \u{0}",
    ])
    func `A netrc file with words in wrong places is refused, and values are not shown`(
        _ input: String
    ) {
        let error = #expect(throws: CLIError.self) { _ = try netrc(input) }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("line 1") == true)
        #expect(error?.message.contains("hunter2") == false)
    }

    @Test func `A netrc file with a word that is not UTF-8 is not cut short`() {
        let bytes = Array("machine a.example login u password p\n".utf8) + [0xFF, 0x0A]
        let error = #expect(throws: CLIError.self) {
            _ = try NetrcText.items(in: SecretValue(copying: bytes.span))
        }
        #expect(error?.message == "the .netrc file, line 2: an unknown word")
    }
}
