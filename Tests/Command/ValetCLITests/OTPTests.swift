// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing

@testable import ValetCLI

@Suite struct `valet otp` {
    private let bench = Bench()

    /// The key of the RFCs, "12345678901234567890", in base32; RFC 6238 has longer ones for the
    /// other hashes.
    private static let key = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    private static let key256 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZA"
    private static let key512 =
        "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQGEZDGNBVGY"
        + "3TQOJQGEZDGNA"

    private func store(_ text: String) {
        #expect(bench.run("set", "k", input: Array(text.utf8)) == .success)
    }

    /// What a secret shows at a time.
    private func code(_ text: String, at seconds: Int64) -> String {
        store(text)
        bench.seconds = seconds
        bench.run("otp", "k")
        return bench.console.outputText
    }

    private var stored: String {
        String(decoding: bench.values.first ?? [], as: UTF8.self)
    }

    /// RFC 6238, appendix B.
    @Test(
        arguments: [
            (59, "94287082", "46119246", "90693936"),
            (1_111_111_109, "07081804", "68084774", "25091201"),
            (1_111_111_111, "14050471", "67062674", "99943326"),
            (1_234_567_890, "89005924", "91819424", "93441116"),
            (2_000_000_000, "69279037", "90698825", "38618901"),
            (20_000_000_000, "65353130", "77737706", "47863826"),
        ] as [(Int64, String, String, String)])
    func `valet otp shows the codes of RFC 6238`(
        _ seconds: Int64, _ sha1: String, _ sha256: String, _ sha512: String
    ) throws {
        for (key, hash, code) in [
            (Self.key, HMAC.sha1, sha1), (Self.key256, .sha256, sha256),
            (Self.key512, .sha512, sha512),
        ] {
            let text = SecretValue(copying: Array(key.utf8).span)
            let password = try OneTimePassword(base32: text, hash, digitCount: 8)
            #expect(try password.code(at: seconds).publicText == code)
        }
        // The clock of a process ends in 2262.
        guard seconds < 9_000_000_000 else { return }
        for (key, hash, code) in [
            (Self.key, "SHA1", sha1), (Self.key256, "SHA256", sha256),
            (Self.key512, "SHA512", sha512),
        ] {
            let uri = "otpauth://totp/a?secret=\(key)&digits=8&algorithm=\(hash)"
            #expect(self.code(uri, at: seconds) == code)
        }
    }

    // Promise: 4.13
    /// RFC 4226, appendix D: the codes of counters 0 to 9.
    @Test func `valet otp shows each code of RFC 4226 once`() {
        store("otpauth://hotp/a?secret=\(Self.key)&counter=0&issuer=x")
        let codes = (0..<10).map { _ in
            bench.run("otp", "k")
            return bench.console.outputText
        }
        #expect(
            codes == [
                "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583",
                "399871", "520489",
            ])
        #expect(stored == "otpauth://hotp/a?secret=\(Self.key)&counter=10&issuer=x")
        #expect(bench.console.notes == ["valet: counter 9"])
        // A former counter would show a code again.
        #expect(bench.run("undo", "k") == .notFound)
    }

    @Test(arguments: [
        "otpauth://hotp/a?secret=\(key)", "otpauth://hotp/a?secret=\(key)#x",
        "otpauth://hotp/a?counter=1&secret=\(key)", "otpauth://hotp/a?counter&secret=\(key)",
        "otpauth://hotp/x#y?secret=\(key)",
    ])
    func `valet otp stores the next counter wherever it was`(_ uri: String) {
        store(uri + "\n")
        let count = bench.items.count
        #expect(bench.run("otp", "k") == .success)
        #expect(bench.run("otp", "k") == .success)
        let expected =
            switch uri {
            case _ where uri.hasSuffix("#x"): "otpauth://hotp/a?secret=\(Self.key)&counter=2#x"
            case _ where uri.contains("=1"): "otpauth://hotp/a?counter=3&secret=\(Self.key)"
            case _ where uri.contains("counter"): "otpauth://hotp/a?counter=2&secret=\(Self.key)"
            default: "\(uri)&counter=2"
            }
        #expect(stored == expected + "\n" && bench.items.count == count)
    }

    /// The entries of pass have the password first, and then lines.
    @Test(arguments: ["", "totp: ", "  "])
    func `valet otp finds the URI in a line of its own`(_ name: String) {
        let lines = "hunter2\nlogin: ann\n\(name)otpauth://hotp/a?secret=\(Self.key)&counter="
        store(lines + "3\nurl: https://a.example\n")
        #expect(bench.run("otp", "k") == .success && bench.console.outputText == "969429")
        #expect(stored == lines + "4\nurl: https://a.example\n")
    }

    @Test(arguments: ["issuer=50% off", "issuer=a&issuer=a", "issuer=%FF&image=%"])
    func `valet otp needs no issuer`(_ member: String) {
        store("otpauth://hotp/a?\(member)&secret=\(Self.key)&counter=3")
        #expect(bench.run("otp", "k") == .success && bench.console.outputText == "969429")
    }

    @Test func `valet otp shows no code whose successor could not be stored`() throws {
        store("otpauth://hotp/a?secret=\(Self.key)&counter=\(UInt64.max)")
        #expect(bench.run("otp", "k") == .damaged)
        #expect(bench.console.output.isEmpty)
    }

    // Promise: 4.13
    @Test func `A counter is not stored over a value that has changed`() throws {
        store("old")
        let context = ItemSelection(scope: .ofCommand, key: .argument("k"), password: nil)
        let target = try context.target(bench.context)
        let (item, _) = try #require(try target.current())
        store("new")
        let value = SecretValue(copying: Array("late".utf8).span)
        #expect(try !target.replace(item, with: value))
        #expect(stored == "new")
        let (again, _) = try #require(try target.current())
        #expect(try target.replace(again, with: value))
        #expect(stored == "late")
        bench.run("remove", "k", "--yes")
        #expect(try !target.replace(again, with: value) && target.current() == nil)
    }

    /// URIs as issuers write them, all of the key of the RFC, at 59 s: 287082.
    @Test(arguments: [
        "otpauth://totp/GitHub:ann?secret=\(key)&issuer=GitHub",
        "otpauth://totp/Big%20Corp%3Aann%40x.example?secret=\(key.lowercased())&issuer=Big%20Corp",
        "otpauth://TOTP/Amazon Web Services:ann?Secret=\(key)&ISSUER=AWS",
        "OTPAUTH://totp/a?secret=GEZD%20GNBV%20GY3T%20QOJQ%20GEZD%20GNBV%20GY3T%20QOJQ&digits=6",
        "otpauth://totp/a?secret=GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ",
        "otpauth://totp/a?secret=\(key)======&algorithm=&period=",
        "otpauth://totp/100%?secret=\(key)%3D%3D&image=https%3A%2F%2Fexample.com%2Flogo.png",
        "otpauth://totp?secret=\(key)", "otpauth://totp/?algorithm=HmacSHA1&secret=\(key)",
        "otpauth://totp/a?algorithm=sha-1&secret=\(key)&period=30&digits=6&foo=bar#fragment",
        "gezdgnbvgy3tqojqgezdgnbvgy3tqojq", "GEZD-GNBV-GY3T-QOJQ-GEZD-GNBV-GY3T-QOJQ",
        "  \(key)====\r\n",
    ])
    func `valet otp reads the secrets of every issuer`(_ text: String) {
        #expect(code(text, at: 59) == "287082")
    }

    @Test(
        arguments: [
            ("period=60", 119, "287082"), ("digits=10", 59, "1094287082"),
            ("digits=7", 59, "4287082"),
        ] as [(String, Int64, String)])
    func `valet otp heeds period and digits`(_ member: String, _ seconds: Int64, _ code: String) {
        #expect(self.code("otpauth://totp/a?secret=\(Self.key)&\(member)", at: seconds) == code)
    }

    @Test(arguments: [
        "otpauth://steam/Steam:ann?secret=\(key)", "steam://\(key)",
        "otpauth://totp/Steam:ann?secret=\(key)&issuer=Steam&digits=5",
        "otpauth://totp/a?secret=\(key)&encoder=steam",
    ])
    func `valet otp refuses Steam in words`(_ text: String) {
        store(text)
        #expect(bench.run("otp", "k") == .damaged)
        #expect(bench.console.notes.first?.contains("it is for Steam") == true)
    }

    @Test(arguments: [
        "", "hunter2!", "GEZ1", "GEZD=GNBV", "=", "https://example.com?secret=\(key)", "\u{FF}",
        "otpauth://totp/a", "otpauth://totp/a?secret=", "otpauth://totp/a?secret=18",
        "otpauth://other/a?secret=\(key)", "otpauth://totp/a?secret=\(key)&digits=5",
        "otpauth://totp/a?secret=\(key)&digits=11", "otpauth://totp/a?secret=\(key)&period=0",
        "otpauth://totp/a?secret=\(key)&algorithm=MD5", "otpauth://totp/a?secret=%G0",
        "otpauth://totp/a?secret=\(key)&secret=\(key)", "otpauth://hotp/a?secret=\(key)&counter=-1",
        "otpauth://hotp/a?secret=\(key)&counter=18446744073709551616",
        "otpauth-migration://offline?data=abc",
    ])
    func `valet otp refuses other secrets, and shows nothing of them`(_ text: String) {
        if !text.isEmpty {
            store(text)
            #expect(bench.run("otp", "k") == .damaged)
            #expect(!bench.everything.contains("hunter2") && bench.console.output.isEmpty)
        }
        let code = bench.run("otp", "add", "new", input: Array(text.utf8))
        #expect(code == (text.isEmpty ? .usage : .damaged))
        #expect(!bench.everything.contains("hunter2"))
        #expect(!bench.items.contains { $0.name == "new" })
    }

    @Test func `valet otp says how long a code is valid`() throws {
        store(Self.key)
        bench.seconds = 59
        bench.run("otp", "k")
        #expect(bench.console.notes == ["valet: 1 s left"])
        bench.run("otp", "k", "--json")
        #expect(
            bench.console.outputText
                == "{\"name\":\"k\",\"type\":\"totp\",\"period\":30,\"secondsLeft\":1,"
                + "\"counter\":null,\"code\":\"287082\"}\n")
        #expect(bench.console.notes.isEmpty)
        bench.seconds = 60
        bench.run("otp", "k")
        #expect(bench.console.notes == ["valet: 30 s left"])
        store("otpauth://hotp/a?secret=\(Self.key)&counter=3")
        bench.run("otp", "k", "--json")
        #expect(
            bench.console.outputText
                == "{\"name\":\"k\",\"type\":\"hotp\",\"period\":null,\"secondsLeft\":null,"
                + "\"counter\":3,\"code\":\"969429\"}\n")
    }

    // MARK: - Adding

    @Test func `valet otp add stores a URI as it is`() {
        let uri = "otpauth://totp/Ä b:c?secret=gezd gnbv&issuer=Ä&x=y"
        #expect(bench.run("otp", "add", "k", input: Array((uri + "\n").utf8)) == .success)
        #expect(stored == uri)
        #expect(
            bench.console.notes == ["valet: stored 'k': 6 digits by SHA1, 30 s each"])
        #expect(bench.console.output.isEmpty)
    }

    @Test(arguments: [
        ([], "algorithm=SHA1&digits=6&period=30"),
        (
            ["--digits", "8", "--algorithm", "SHA256", "--period", "60"],
            "algorithm=SHA256&digits=8&period=60"
        ),
        (["--counter", "7"], "algorithm=SHA1&digits=6&counter=7"),
    ])
    func `valet otp add makes a URI of a key`(_ options: [String], _ rest: String) {
        let key = "gezd gnbv gy3t qojq=="
        let words = ["otp", "add", "my key/é"] + options
        #expect(bench.run(words, input: Array(key.utf8)) == .success)
        let type = options.contains("--counter") ? "hotp" : "totp"
        #expect(
            stored == "otpauth://\(type)/my%20key%2F%C3%A9?secret=GEZDGNBVGY3TQOJQ&" + rest)
        #expect(bench.run("otp", "my key/é") == .success)
    }

    @Test func `valet otp add asks at a terminal, and replaces nothing by accident`() {
        let key = Array(Self.key.utf8)
        bench.console.isInputTerminal = true
        #expect(bench.run("otp", "add", "k", input: key) == .success)
        #expect(bench.console.questions == ["URI or key for 'k'"])
        #expect(bench.run("otp", "add", "k", input: key) == .denied)
        bench.console.isInputTerminal = false
        #expect(bench.run("otp", "add", "k", input: key) == .alreadyThere)
        #expect(bench.run("otp", "add", "k", "--force", "--json", input: key) == .success)
        #expect(bench.console.outputText.hasPrefix("{\"name\":\"k\",\"byteCount\":"))
    }

    @Test(arguments: [
        ["--digits", "5"], ["--digits", "x"], ["--period", "0"], ["--algorithm", "MD5"],
        ["--counter", "1", "--period", "30"], ["surplus"],
    ])
    func `valet otp add refuses wrong options`(_ options: [String]) {
        #expect(bench.run(["otp", "add", "k"] + options, input: Array(Self.key.utf8)) == .usage)
        #expect(bench.items.isEmpty)
    }

    @Test func `valet otp add refuses options with a URI`() {
        let uri = Array("otpauth://totp/a?secret=\(Self.key)".utf8)
        #expect(bench.run("otp", "add", "k", "--digits", "8", input: uri) == .usage)
    }

    @Test func `A secret called add has codes, too`() {
        bench.run("otp", "add", "add", input: Array(Self.key.utf8))
        bench.seconds = 59
        #expect(bench.run("otp", "--", "add") == .success)
        #expect(bench.console.outputText == "287082")
        #expect(bench.run("otp", "add") == .usage)
        #expect(bench.run("help", "otp", "add") == .success)
        #expect(bench.console.outputText.hasPrefix("valet otp add - "))
        #expect(bench.run("otp", "add", "--help") == .success)
        #expect(bench.console.outputText.hasPrefix("valet otp add - "))
        #expect(bench.run("help", "otp") == .success)
        #expect(bench.console.outputText.hasPrefix("valet otp - "))
    }

    @Test(arguments: ["totp", "2fa", "mfa"])
    func `Words that other tools have lead to otp`(_ word: String) {
        bench.run(word)
        #expect(bench.console.notes.last == "valet: hint: did you mean 'otp'?")
    }
}

@Suite struct `Secrets of one-time codes` {
    private func value(_ bytes: [UInt8]) -> SecretValue { SecretValue(copying: bytes.span) }

    private static let pieces = [
        "otpauth://totp/a?secret=GEZDGNBVGY3TQOJQ", "otpauth://hotp/Ä:b?secret=GEZDGNBVGY3TQOJQ",
        "&counter=7", "&counter=18446744073709551615", "&digits=8", "&digits=11", "&period=60",
        "&period=0", "&algorithm=SHA512", "&algorithm=", "#end", "?", "&", "=", "%", "%20", "+",
        "GEZD GNBV", "secret=", "\n",
    ]

    /// URIs as issuers and attackers may write them.
    @Test(arguments: 0..<UInt64(FuzzRounds.count))
    func `Random secrets never end the process, and errors show nothing of them`(_ seed: UInt64) {
        var random = SeededRandom(seed)
        for round in 0..<40 {
            // Every other one begins well.
            let start = round % 2 == 0 ? Self.pieces[random.below(2)] : ""
            let bytes = Array(start.utf8) + random.text(of: Self.pieces, atMost: 5)
            do throws(CLIError) {
                try check(value(bytes))
            } catch {
                #expect(error.code == .damaged && !error.message.contains("GEZD"))
            }
        }
    }

    /// What is read makes a code, and the next counter changes nothing else.
    private func check(_ stored: SecretValue) throws(CLIError) {
        let password = try OneTimePassword(stored)
        #expect(try password.code(at: 1_000_000_000).byteCount == password.digitCount)
        guard case .counter(let counter) = password.factor else { return }
        let next = try OneTimePassword.setting(counter: counter + 1, in: stored)
        let again = try OneTimePassword(next)
        #expect(again.factor == .counter(counter + 1) && again.key.isEqual(to: password.key))
        #expect(again.hash == password.hash && again.digitCount == password.digitCount)
    }

    @Test(arguments: [
        "otpauth://hotp/a?secret=GEZDGNBVGY3TQOJQ&counter=7",
        "otp: otpauth://hotp/a?secret=GEZDGNBVGY3TQOJQ&counter=7\n", "GEZD GNBV GY3T QOJQ\r\n",
    ])
    func `The byte order mark of an editor counts for nothing`(_ text: String) throws {
        let plain = try OneTimePassword(value(Array(text.utf8)))
        let marked = [0xEF, 0xBB, 0xBF] + Array(text.utf8)
        try check(value(marked))
        #expect(try OneTimePassword(value(marked)).key.isEqual(to: plain.key))
    }

    @Test func `A key comes back from its URI`() throws {
        var random = SeededRandom(6238)
        for count in 1...80 {
            let key = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            var text = SecretText()
            Base32.append(value(key), to: &text)
            let password = try OneTimePassword(base32: text.value(), .sha512, digitCount: 10)
            #expect(password.key.isEqual(to: value(key)))
            let uri = password.uri(label: "\u{0}ä &?#/%")
            #expect(try OneTimePassword(uri).key.isEqual(to: value(key)))
        }
    }
}
