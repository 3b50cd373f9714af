// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetCLI
import ValetSealing

@testable import ValetClientsCommand

/// A reader of what clients send or helpers keep, and inputs to begin with.
struct FuzzedHelper: CustomTestStringConvertible, Sendable {
    let name: String
    let samples: [String]
    /// Pieces that change the meaning of what is around them.
    let pieces: [String]
    let read: @Sendable (SecretValue) throws(CLIError) -> Void

    var testDescription: String { name }

    static let all: [FuzzedHelper] = [
        FuzzedHelper(
            name: "git",
            samples: [
                "protocol=https\nhost=a:80\nusername=u\npassword=p\ncapability[]=authtype\n\n",
                "protocol=https\nhost=[::1]:443\npath=x/y\npassword_expiry_utc=99\n"
                    + "oauth_refresh_token=t\nauthtype=Bearer\ncredential=c\nephemeral=1\n",
            ],
            pieces: ["=", "\n", "\r", "\0", ":", "[", "]", "99999999999999999999", "\u{E9}."],
            read: { (input) throws(CLIError) in
                let request = try input.withBytes { (bytes: Span<UInt8>) throws(CLIError) in
                    try GitRequest(parsing: bytes)
                }
                guard let secret = request.secret else { return }
                // What is stored is read back as it was.
                let stored = GitSecret(parsing: secret.encoded)
                #expect(stored?.secret.isEqual(to: secret.secret) == true)
                #expect(stored?.authtype == secret.authtype)
                #expect(stored?.expiry == secret.expiry)
            }),
        FuzzedHelper(
            name: "a stored password of git",
            samples: ["p", "p\nauthtype=Bearer\npassword_expiry_utc=99\noauth_refresh_token=t"],
            pieces: ["\n", "\r", "\0", "=", "-9223372036854775808", "password_expiry_utc="],
            read: { (input) throws(CLIError) in
                guard let stored = GitSecret(parsing: input) else { return }
                _ = stored.hasExpired
            }),
        FuzzedHelper(
            name: "docker",
            samples: [
                "https://index.docker.io/v1/", "Registry.Example:443/a", "//[2001:DB8::1]:5000",
            ],
            pieces: ["://", "@", ":", "/", "\\", "%2f", "[", "]", "\u{FF0F}", "\u{E9}", "65536"],
            read: { (input) throws(CLIError) in
                guard let url = input.publicText else { return }
                let place = try DockerCredentials.place(url)
                // The form is final.
                #expect(LoginPlace(place.attributes) == place)
            }),
        FuzzedHelper(
            name: "aws",
            samples: [
                #"{"Version":1,"AccessKeyId":"A","SecretAccessKey":"S","SessionToken":"T","#
                    + #""Expiration":"2030-01-31T12:00:00+01:00","AccountId":"1"}"#,
                #"{"roleCredentials":{"accessKeyId":"A","secretAccessKey":"S","expiration":1e12}}"#,
            ],
            pieces: [
                "{", "}", "\"", "\\ud800", "1e999", "-", "99999999999999999999", "null", "W53-7",
            ],
            read: { (input) throws(CLIError) in
                let keys = try AWSKeySet(parsing: input, called: "the input")
                let again = try AWSKeySet(parsing: keys.encoded, called: "the stored value")
                #expect(again.encoded.isEqual(to: keys.encoded))
                #expect(again.end?.seconds == keys.end?.seconds)
            }),
        FuzzedHelper(
            name: "a time",
            samples: ["2030-01-31T12:00:00.5+01:00", "20300131T1200Z", "2030-W05-4"],
            pieces: ["-", ":", "T", "Z", "+", ".", "W", "9999", "99999999999999999999"],
            read: { (input) throws(CLIError) in
                guard let time = input.publicText.flatMap(ISOTime.init) else { return }
                #expect(ISOTime(time.text)?.seconds == time.seconds)
            }),
        FuzzedHelper(
            name: "git's store",
            samples: [
                "https://u:p@GitHub.Example:443/a/b\r\n", "# c\nhttp://a%40b:%2f@[::1]:80/\n",
            ],
            pieces: ["%", "%0", "%0a", "://", "@", ":", "/", "\n", "\0", "\u{E9}"],
            read: { (input) throws(CLIError) in
                var found = ImportedItems()
                try GitStore.add(input, to: &found)
                for item in found.items {
                    #expect(GitSecret(parsing: item.value) != nil)
                    #expect(item.attributes.canonical == item.attributes)
                }
            }),
        FuzzedHelper(
            name: "docker's configuration",
            samples: [
                #"{"auths":{"a.example":{"auth":"YW5uOnA="},"b":{"identitytoken":"t"}}}"#,
                #"{"https://a/v1/":{"auth":"YW5uOnA="},"credHelpers":{"c":"d"},"credsStore":"e"}"#,
            ],
            pieces: [
                "{", "}", "[", "\"", ",", ":", "\"auth\":", "\"auths\":", "=", "null", "\\u0001",
            ],
            read: { (input) throws(CLIError) in _ = try DockerConfig.items(in: input) }),
        FuzzedHelper(
            name: "profiles of AWS",
            samples: [
                "[default]\naws_access_key_id = A\naws_secret_access_key=S # c\n[profile \"b c\"]\n"
                    + "region=x\n  aws_session_token : T\naws_expiration=2030-01-31\n"
            ],
            pieces: ["[", "]", "=", ":", "\n", "\t", "\r", "#", ";", "profile ", "\"", "\0"],
            read: { (input) throws(CLIError) in _ = try AWSProfiles.items(in: input) }),
        FuzzedHelper(
            name: "the CSV of AWS",
            samples: [
                "User name,Password,Access key ID,Secret access key,Console login link\n"
                    + "a,p,A,S,https://1.signin.example/console\n",
                "AWSAccessKeyId=A\r\nAWSSecretKey=S\r\n",
            ],
            pieces: [",", "\"", "\n", "\r", "=", ";", "://", "sep=;\n"],
            read: { (input) throws(CLIError) in
                _ = try AWSProfiles.items(inCSV: input, .ofCommand)
            }),
    ]
}

@Suite struct `Random inputs of helpers` {
    private static let value = "hunter2"

    @Test(arguments: FuzzedHelper.all, 0..<8 as Range<UInt64>)
    func `never end the process, and errors show no value`(_ helper: FuzzedHelper, _ seed: UInt64) {
        var random = SplitMix(state: seed)
        for _ in 0..<fuzzRounds {
            var bytes = Array(helper.samples.randomElement(using: &random)?.utf8 ?? "".utf8)
            for _ in 0...Int(random.next() % 4) {
                let piece = (helper.pieces + [Self.value]).randomElement(using: &random) ?? ""
                let place = Int(random.next() % UInt64(bytes.count + 1))
                bytes.insert(contentsOf: piece.utf8, at: place)
            }
            if random.next() % 2 == 0 { bytes = random.mutation(of: bytes) }
            do throws(CLIError) {
                try helper.read(SecretValue(copying: bytes.span))
            } catch {
                #expect([.usage, .damaged, .failure].contains(error.code))
                #expect(!error.message.contains(Self.value) || error.message.contains("protocol"))
            }
        }
    }
}
