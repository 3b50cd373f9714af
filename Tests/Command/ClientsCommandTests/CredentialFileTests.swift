// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetCLI
import ValetKeychainModel
import ValetSealing

@testable import ValetClientsCommand

@Suite struct `What other helpers keep in files` {
    /// The items as "server:port/path account = value", or "service account = value".
    private func lines(_ found: ImportedItems) -> [String] {
        found.items.map { item in
            func text(_ attribute: Attribute) -> String { item.attributes[attribute]?.asText ?? "" }
            let place = LoginPlace(item.attributes)
            let name = place.map { "\($0.scheme)://\($0.host)/\($0.path ?? "")" } ?? text(.service)
            let value = ValetClientsCommandTests.text(item.value) ?? "bytes"
            return "\(name) \(text(.account)) = \(value)"
        }
    }

    // MARK: git

    private func git(_ input: String) throws -> ImportedItems {
        var found = ImportedItems()
        try GitStore.add(secret(input), to: &found)
        return found
    }

    @Test(
        arguments: [
            ("https://ann:p@github.example", "https://github.example/ ann = p"),
            ("https://ann:p@GitHub.Example:443/\r\n", "https://github.example/ ann = p"),
            ("http://ann:p@a:8080/org/one.git/", "http://a:8080/org/one.git ann = p"),
            ("https://a%40b:%2f%3A%25%0@x", nil),
            ("https://a%40b:p%2f%3a%25@x", "https://x/ a@b = p/:%"),
            ("https://:p@a", "https://a/  = p"), ("https://u:@a", "https://a/ u = "),
            ("https://u:p@[2001:DB8::1]:8443", "https://[2001:db8::1]:8443/ u = p"),
            ("https://u:p:q@a", "https://a/ u = p:q"),
            ("cert://:pass@/etc/cert.pem", "cert:///etc/cert.pem  = pass"),
            ("https://u@a", nil), ("https://a", nil), ("u:p@a", nil), ("://u:p@a", nil),
            ("https://a/u:p@b", nil), ("https://u:p%0Aq@a", nil), ("https://u%00:p@a", nil),
            ("https://u:p%0dq@a", nil), ("https://u:p@", nil), ("htps://u:p@a", nil),
            ("hunter2", nil),
            ("https://u:%ff@a", "https://a/ u = bytes"), ("https://%ff:p@a", nil),
        ] as [(String, String?)])
    func `git's store has a line for each password`(_ line: String, _ item: String?) throws {
        let found = try git("# comment\n\n" + line)
        #expect(lines(found) == [item].compactMap { $0 })
        #expect(found.skipped.count == (item == nil ? 1 : 0))
        #expect(found.skipped.allSatisfy { $0.source == "line 3" && !$0.reason.contains("hunter") })
    }

    @Test func `A line of git's store becomes what the helper stores`() throws {
        let attributes = try #require(try git("https://u:p@a.example/x").items.first).attributes
        #expect(
            attributes == [
                .server: .text("a.example"), .protocol: .text("htps"), .port: .number(0),
                .path: .text("x"), .account: .text("u"), .authenticationType: .text("dflt"),
                .securityDomain: .text(""), .label: .text("a.example"),
            ])
    }

    // MARK: docker

    private func docker(_ input: String) throws(CLIError) -> ImportedItems {
        try DockerConfig.items(in: secret(input))
    }

    @Test(
        arguments: [
            (
                #""https://index.docker.io/v1/":{"auth":"YW5uOnA="}"#,
                "https://index.docker.io/v1/ ann = p"
            ),
            (
                #""Registry.Example:443":{"auth":"YW5uOnA6cQ=="}"#,
                "https://registry.example/ ann = p:q"
            ),
            (#""localhost:5000/team":{"auth":"YW5uOg=="}"#, "https://localhost:5000/team ann = "),
            (
                #""r.example":{"auth":"YW5uOg==","identitytoken":"T"}"#,
                "https://r.example/ <token> = T"
            ),
            (
                #""r.example":{"username":"ann","password":"p","email":"e"}"#,
                "https://r.example/ ann = p"
            ),
            (#""r.example":{"auth":"YW5uOnAA"}"#, "https://r.example/ ann = p"),
            (#""r.example":{}"#, nil), (#""r.example":{"auth":""}"#, nil),
            (#""r.example":{"auth":"YW5u"}"#, nil), (#""r.example":{"auth":"OnA="}"#, nil),
            (#""r.example":{"auth":"%%%"}"#, nil), (#""r.example":{"auth":"YW5uOv8="}"#, nil),
            (#""ftp://r.example":{"auth":"YW5uOnA="}"#, nil),
            (#""r.example":{"password":"p"}"#, nil),
        ] as [(String, String?)])
    func `docker's configuration has an entry for each registry`(
        _ entry: String, _ item: String?
    ) throws {
        for config in ["{\"auths\":{\(entry)},\"psFormat\":\"x\"}", "{\(entry)}"] {
            // The older file has nothing but what "auth" is in.
            guard config.contains("auths") || entry.contains("\"auth\":") else { continue }
            let found = try docker(config)
            #expect(lines(found) == [item].compactMap { $0 })
            #expect(found.skipped.count == (item == nil ? 1 : 0))
        }
    }

    @Test(arguments: [
        (".dockerconfigjson", #"{"auths":{"r.example":{"auth":"YW5uOnA="}}}"#),
        (".dockercfg", #"{"r.example":{"auth":"YW5uOnA="}}"#),
    ])
    func `A secret of Kubernetes has docker's configuration`(
        _ name: String, _ config: String
    ) throws {
        let data = Data(config.utf8).base64EncodedString()
        let text = "{\"kind\":\"Secret\",\"metadata\":{},\"data\":{\"\(name)\":\"\(data)\"}}"
        #expect(lines(try docker(text)) == ["https://r.example/ ann = p"])
        let other = text.replacing(name, with: "password")
        #expect(throws: CLIError.self) { _ = try docker(other) }
        #expect(throws: CLIError.self) { _ = try docker(text.replacing(data, with: "%")) }
    }

    @Test func `An entry of docker becomes what the helper stores`() throws {
        let config = #"{"auths":{"https://R.Example/v1/":{"auth":"YW5uOnA="}}}"#
        let attributes = try #require(try docker(config).items.first).attributes
        #expect(
            attributes == [
                .server: .text("r.example"), .protocol: .text("htps"), .port: .number(0),
                .path: .text("v1/"), .account: .text("ann"), .authenticationType: .text(""),
                .securityDomain: .text(""), .label: .text("Docker Credentials"),
                .comment: .text("https://R.Example/v1/"),
            ])
    }

    @Test func `What docker keeps elsewhere is named`() throws {
        let found = try docker(
            #"{"auths":{"a":{},"b":{"registrytoken":"T","auth":"YW5uOnA="}},"#
                + #""credsStore":"desktop","#
                + #""credHelpers":{"c":"ecr-login"},"HttpHeaders":{"X":"secret"}}"#)
        #expect(
            found.skipped.map(\.source) == ["a", "b", "c", "all other registries", "HttpHeaders"])
        #expect(found.skipped.allSatisfy { !$0.reason.contains("secret") })
        #expect(found.items.count == 1)
    }

    @Test(arguments: ["", "[", "{\"auths\":{\"a\":{\"auth\":\"\\u0000\"}}}", "{\"auths\":"])
    func `A configuration that is not JSON is refused`(_ input: String) {
        let error = #expect(throws: CLIError.self) { _ = try docker(input) }
        #expect(error?.code == .damaged)
    }

    @Test(arguments: [
        "[]", "1", "{\"auths\":[1]}", "{\"auths\":{\"a\":1}}", "{\"auths\":null}", "{}",
    ])
    func `A configuration without entries has no passwords`(_ input: String) throws {
        #expect(try docker(input).items.isEmpty)
    }

    // MARK: AWS

    private func aws(_ input: String) throws(CLIError) -> ImportedItems {
        try AWSProfiles.items(in: secret(input))
    }

    private static let keys = #"{"Version":1,"AccessKeyId":"A","SecretAccessKey":"S/+=""#

    @Test func `A profile's keys, token, account and expiration are imported`() throws {
        let found = try aws(
            """
            # comment
            [default]
            aws_access_key_id = A
            aws_secret_access_key=S/+=

            [work] ; comment
              AWS_ACCESS_KEY_ID : A
              aws_secret_access_key = S/+= # comment\r
              aws_session_token = T==
              aws_account_id = 012345678901
              x_security_token_expires = 2030-01-31T12:00:00+01:00
            [profile "my team"]
            aws_access_key_id = A
            aws_secret_access_key = S/+=
            aws_security_token = T
            expiration = 2030-01-31 12:00:00

            """)
        #expect(
            lines(found) == [
                "AWS credentials default = \(Self.keys)}",
                "AWS credentials work = \(Self.keys),\"SessionToken\":\"T==\","
                    + #""Expiration":"2030-01-31T12:00:00+01:00","AccountId":"012345678901"}"#,
                "AWS credentials my team = \(Self.keys),\"SessionToken\":\"T\","
                    + #""Expiration":"2030-01-31T12:00:00Z"}"#,
            ])
        #expect(found.skipped.isEmpty)
    }

    @Test func `What is no key in a profile is named`() throws {
        let found = try aws(
            """
            [profile a]
            region = eu-west-1
            s3 =
              max_concurrent_requests = 20
            role_arn = arn:aws:iam::1:role/r
            [b]
            aws_access_key_id = A
            [c]
            aws_access_key_id = A
            aws_secret_access_key = S
            aws_expiration = soon
            """)
        #expect(found.items.isEmpty)
        #expect(
            found.skipped.map { "\($0.source): \($0.reason)" } == [
                "a: other settings stay in the file: region, s3, role_arn", "a: it has no keys",
                "b: one of its two keys is missing",
                "c: its keys are not UTF-8, or its expiration is no time",
            ])
    }

    @Test func `A profile that occurs twice has the settings of both`() throws {
        let found = try aws("[a]\naws_access_key_id=A\n[b]\n[a]\naws_secret_access_key=S/+=")
        #expect(lines(found) == ["AWS credentials a = \(Self.keys)}"])
    }

    @Test func `A profile with two values of one setting is left out and named`() throws {
        let keys = "aws_access_key_id=A\naws_secret_access_key=S/+=\n"
        for second in ["aws_secret_access_key=T", "aws_secret_access_key="] {
            let found = try aws("[a]\n\(keys)[b]\n\(keys)[a]\n\(second)")
            #expect(lines(found) == ["AWS credentials b = \(Self.keys)}"])
            #expect(
                found.skipped.map { "\($0.source): \($0.reason)" }
                    == ["a: one of its settings has two values"])
        }
        #expect(try lines(aws("[a]\n\(keys)\(keys)")).count == 1)
    }

    @Test(arguments: ["a = b", "[]\n", "[a\n", "[a] b\n", "[a]\nhunter2", "[a]\n=hunter2"])
    func `A file that has no profiles is refused, and not shown`(_ input: String) {
        let error = #expect(throws: CLIError.self) { _ = try aws(input) }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("hunter2") == false)
    }

    @Test(
        arguments: [
            (
                "Access key ID,Secret access key\r\nA,S/+=\r\n",
                ["AWS credentials default = \(keys)}"], 0
            ),
            (
                "User name,Password,Access key ID,Secret access key,Console login link\n"
                    + "ann,pw,A,S/+=,https://012345678901.signin.aws.amazon.com/console\n"
                    + "ben,,A,S/+=,https://012345678901.signin.aws.amazon.com/console\n",
                [
                    "AWS credentials ann = \(keys)}",
                    "https://012345678901.signin.aws.amazon.com/ ann = pw",
                    "AWS credentials ben = \(keys)}",
                ], 0
            ),
            (
                "User name,Password,Console sign-in URL\nann,\"p,w\",https://x.signin.example/\n",
                ["https://x.signin.example/ ann = p,w"], 0
            ),
            (
                "AWSAccessKeyId=A\r\nAWSSecretKey=S/+=\r\n", ["AWS credentials default = \(keys)}"],
                0
            ),
            ("User name,Access key ID,Secret access key,Notes\nann,A,,n\n", [], 2),
        ] as [(String, [String], Int)])
    func `The console's CSV is read in each of its forms`(
        _ input: String, _ items: [String], _ skippedCount: Int
    ) throws {
        let found = try AWSProfiles.items(inCSV: secret(input), .ofCommand)
        #expect(lines(found) == items)
        #expect(found.skipped.count == skippedCount)
    }

    @Test(arguments: ["", "name,url\na,b\n", "Access key ID,Secret access key\nA\n"])
    func `Another CSV is refused`(_ input: String) {
        let error = #expect(throws: CLIError.self) {
            _ = try AWSProfiles.items(inCSV: secret(input), .ofCommand)
        }
        #expect(error?.code == .damaged)
    }

    // MARK: Keyrings

    @Test(
        arguments: [
            ("git:https://github.example", false, "https://github.example/"),
            ("git:https://GitHub.Example:443/Org/One/", false, "https://github.example/Org/One"),
            ("team:http://a:8080", true, "http://a:8080/"), ("team:https://a", false, nil),
            ("git:ssh://a", false, nil), ("git:a", false, nil), ("gh:github.com", true, nil),
            ("git:https://u@a", false, nil), ("git", true, nil), ("", true, nil),
        ] as [(String, Bool, String?)])
    func `A service of Git Credential Manager names a server`(
        _ service: String, _ isAnyNamespace: Bool, _ place: String?
    ) {
        let item = ImportedItem(
            gitService: service, isAnyNamespace: isAnyNamespace, account: "u", secret("p"),
            from: "x")
        let found = item.flatMap { LoginPlace($0.attributes) }
        #expect(found.map { "\($0.scheme)://\($0.host)/\($0.path ?? "")" } == place)
        if let item { #expect(item.attributes[.authenticationType] == .text("dflt")) }
    }

    private static func dump(_ itemClass: String, _ lines: String...) -> String {
        "keychain: \"k\"\nclass: \"\(itemClass)\"\nattributes:\n"
            + lines.map { "    \($0)\n" }.joined() + "data:\n\"p\"\n"
    }

    @Test(
        arguments: [
            (
                dump(
                    "inet", #"0x00000007 <blob>="Docker Credentials""#, #""acct"<blob>="ann""#,
                    #""path"<blob>="/v1/""#, #""port"<uint32>=0x00000000 "#,
                    #""ptcl"<uint32>="htps""#,
                    #""srvr"<blob>="Index.Docker.io""#, #""atyp"<blob>="dflt""#),
                "https://index.docker.io/v1/ ann = p", ""
            ),
            (
                dump(
                    "genp", #""acct"<blob>="ann""#, #""svce"<blob>="git:https://github.example""#),
                "https://github.example/ ann = p", "dflt"
            ),
            (
                dump(
                    "inet", #""acct"<blob>="ann""#, #""port"<uint32>=0x000001BB"#,
                    #""ptcl"<uint32>="htps""#, #""srvr"<blob>="::1""#, #""atyp"<blob>="dflt""#),
                "https://[::1]/ ann = p", "dflt"
            ),
            (
                dump("genp", #""acct"<blob>="ann""#, #""svce"<blob>="gh:github.com""#),
                "gh:github.com ann = p", nil
            ),
        ] as [(String, String, String?)])
    func `A dump of macOS has the items of other helpers`(
        _ dump: String, _ line: String, _ kind: String?
    ) throws {
        let found = try KeychainDump.items(in: secret(dump))
        #expect(lines(found) == [line])
        #expect(found.items.first?.attributes[.authenticationType]?.asText == kind)
    }
}
