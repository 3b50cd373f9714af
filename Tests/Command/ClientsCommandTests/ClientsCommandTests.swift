// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetCLI
import ValetCommandTestSupport
import ValetSealing

@testable import ValetClientsCommand

/// A value of these bytes.
func secret(_ text: String) -> SecretValue { SecretValue(copying: Array(text.utf8).span) }

/// The text of a value.
func text(_ value: SecretValue?) -> String? { value?.publicText }

@Suite struct `What helpers read` {
    @Test func `The help of every verb for clients fits, and its examples can be parsed`() throws {
        try checkHelp(of: ClientVerb.all)
    }

    private func request(_ lines: String...) throws(CLIError) -> GitRequest {
        let bytes = Array(lines.joined(separator: "\n").utf8)
        return try GitRequest(parsing: bytes.span)
    }

    @Test(arguments: [
        ("example.com", "example.com", 0), ("example.com:8080", "example.com", 8080),
        ("[::1]:80", "[::1]", 80), ("[::1]", "[::1]", 0), ("::1", "[::1]", 0), ("a:", "a", 0),
        ("a:0", "a:0", 0), ("a:65536", "a:65536", 0), (":80", "", 80), ("", "", 0),
    ])
    func `A host ends in a port only if the port can be one`(
        _ host: String, _ server: String, _ port: UInt16
    ) throws {
        let place = try #require(LoginPlace(scheme: "https", host: host, path: nil))
        #expect(place.server == server)
        #expect(place.port == port)
    }

    @Test func `A request ends at the first empty line, and unknown keys are ignored`() throws {
        let request = try request(
            "protocol=https", "host=a", "wwwauth[]=Basic", "password=x=y", "", "username=late")
        #expect(text(request.secret?.secret) == "x=y")
        #expect(request.username == nil)
        #expect(!request.knowsAuthtype)
    }

    // Promise: 4.3
    @Test(arguments: ["", "p", "p\n", "p\nq", "p\n\nexpiry=1", "a\rb", "a\0b", "p\nhost=x\r"])
    func `A stored value is a password only if git cannot misread it`(_ stored: String) {
        let parsed = GitSecret(parsing: secret(stored))
        #expect((parsed != nil) == ["", "p", "p\n"].contains(stored))
        if parsed != nil { #expect(text(parsed?.secret) == (stored.isEmpty ? "" : "p")) }
    }

    @Test(arguments: [nil, "Bearer"], [nil, 5])
    func `A stored value returns what was put into it`(_ authtype: String?, _ expiry: Int64?) {
        let first = GitSecret(
            secret: secret("a=b"), authtype: authtype, expiry: expiry,
            refreshToken: expiry == nil ? nil : secret("token"))
        let second = GitSecret(parsing: first.encoded)
        #expect(text(second?.secret) == "a=b")
        #expect(second?.authtype == authtype)
        #expect(second?.expiry == expiry)
        #expect(text(second?.refreshToken) == text(first.refreshToken))
    }

    @Test(arguments: [
        ("https://index.docker.io/v1/", "https", "index.docker.io", 0, "v1/"),
        ("localhost:5000", "https", "localhost", 5000, ""),
        ("http://a:1/b/c", "http", "a", 1, "b/c"), ("//a/b", "https", "a", 0, "b"),
    ])
    func `The address of a registry need not have a scheme`(
        _ url: String, _ scheme: String, _ server: String, _ port: UInt16, _ path: String
    ) throws {
        let place = try DockerCredentials.place(url)
        #expect(
            place
                == LoginPlace(
                    scheme: scheme, host: port == 0 ? server : "\(server):\(port)", path: path))
    }

    @Test(arguments: [
        "", "ftp://a", "https://", "://a", "https://u:hunter2@a/", "a\nb", "https:///x",
        "https://hunter2\\@b/", "https://a?hunter2", "https://u:hunter2@a b/", "a%2fhunter2",
        "https://a/\u{1}hunter2",
    ])
    func `Other texts are not addresses of registries, and are not shown`(_ url: String) {
        let error = #expect(throws: CLIError.self) { _ = try DockerCredentials.place(url) }
        #expect(error?.code == .failure)
        #expect(error?.message == "the server URL is not the address of a registry")
    }

    @Test(arguments: [
        ("https://good.example\\@evil.example/", "good.example"),
        ("https://good.example/\u{301}@evil.example", "good.example"),
        ("https://good.example?@evil.example", "good.example"),
        ("https://good.example#@evil.example", "good.example"),
        ("https://user:pass@good.example:8443/x", "good.example:8443"),
        (" good.example/?u=https://evil.example ", "good.example"), ("//[::1]:80/", "[::1]:80"),
        ("https://good.exam\tple/", nil), ("https://good.example\n/", nil), ("https:// a/", nil),
        ("https://good%2eexample/", nil), ("https:good.example", nil), ("https://a:b:1/", nil),
        ("https://a:0/", nil), ("https://[::1/", nil), ("ssh://good.example\\@evil.example", nil),
    ])
    func `The server of an address is the one that browsers connect to`(
        _ text: String, _ host: String?
    ) {
        #expect(LoginAddress(text)?.host == host)
    }

    @Test func `A date of git that is not a number is refused, and stored it has passed`() throws {
        let error = #expect(throws: CLIError.self) {
            _ = try request("protocol=https", "host=a", "password_expiry_utc=soon")
        }
        #expect(error?.code == .usage)
        let stored = GitSecret(parsing: secret("p\npassword_expiry_utc=soon"))
        #expect(stored?.hasExpired == true)
    }

    @Test(arguments: [
        "", "nul", "{", "{\"a\":1}x", "{\"a\":1}\0", "{'a':1}", "{\"a\":\"\\u0000\"}", "[1,]",
        "\u{1}", "{\"a\":\"b\nc\"}", String(repeating: "[", count: 100_000),
    ])
    func `What is not strict JSON without null bytes is refused`(_ text: String) {
        let error = #expect(throws: CLIError.self) {
            var reader = try JSONReader(secret(text), called: "it")
            try reader.document { (_, _) throws(CLIError) in }
        }
        #expect(error?.code == .damaged && error?.message.hasPrefix("it is not JSON") == true)
    }

    @Test(arguments: [
        ("\u{1B}[2J", #""\u001b[2J""#), ("\u{9B}2J", #""\u009b2J""#),
        ("a\u{202E}b", #""a\u202eb""#),
        ("\u{E0041}", #""\udb40\udc41""#), ("é\u{1F511}", "\"é\u{1F511}\""),
        ("\u{7F}", #""\u007f""#),
    ])
    func `Nothing in a string of JSON acts on a terminal`(_ text: String, _ json: String) {
        var written = SecretText()
        written.appendJSONString(text)
        #expect(ValetClientsCommandTests.text(written.value()) == json)
    }

    @Test func `Strings of JSON keep every character`() throws {
        let characters = "\"\\/\u{8}\u{c}\n\r\t\u{1}\u{7f}é\u{1F511}"
        var document = SecretText()
        document.append("{\"a\":")
        document.appendJSONString(characters)
        document.append(",\"b\":\"\\ud83d\\udd11\\\\u0000\"}")
        var found: [String] = []
        var reader = try JSONReader(document.value(), called: "it")
        try reader.document { (_, reader) throws(CLIError) in
            found.append(try reader.string().publicText ?? "nothing")
        }
        #expect(found == [characters, "\u{1F511}\\u0000"])
    }

    @Test(arguments: 0..<8)
    func `Random changes of what clients send never end the process`(_ seed: UInt64) {
        var random = SplitMix(state: seed)
        let samples = [
            "protocol=https\nhost=a:80\nusername=u\npassword=p\ncapability[]=authtype\n\n",
            "p\nauthtype=Bearer\npassword_expiry_utc=99\noauth_refresh_token=t",
            #"{"ServerURL":"https://a/b","Username":"u","Secret":"\u00e9\ud83d\udd11"}"#,
        ]
        for _ in 0..<300 {
            let bytes = random.mutation(of: Array(samples[Int(random.next() % 3)].utf8))
            _ = try? GitRequest(parsing: bytes.span)
            _ = GitSecret(parsing: SecretValue(copying: bytes.span))
            _ = try? DockerCredentials.place(String(decoding: bytes, as: UTF8.self))
            let value = SecretValue(copying: bytes.span)
            _ = try? AWSKeySet(parsing: value, called: "it")
            _ = try? DockerConfig.items(in: value)
        }
    }
}

/// A generator of numbers that repeats itself (SplitMix64).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// The bytes with up to four of them changed, removed or repeated.
    mutating func mutation(of bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...Int(next() % 4) where !bytes.isEmpty {
            let place = Int(next() % UInt64(bytes.count))
            switch next() % 4 {
            case 0: bytes[place] = UInt8(truncatingIfNeeded: next())
            case 1: bytes.remove(at: place)
            case 2: bytes.removeSubrange(place...)
            default: bytes += bytes[place...].prefix(64)
            }
        }
        return bytes
    }
}
