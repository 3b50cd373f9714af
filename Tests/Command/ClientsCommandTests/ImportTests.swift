// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetCLI
import ValetKeychainModel
import ValetSealing

@testable import ValetClientsCommand

@Suite struct `What is imported` {
    private func lines(_ found: ImportedItems) -> [String] {
        found.items.map { shown($0) }
    }

    private func csv(_ input: String) throws(CLIError) -> ImportedItems {
        try LoginTable.items(in: secret(input), .ofCommand)
    }

    private func dotenv(_ input: String) throws(CLIError) -> [String] {
        try DotenvText.items(in: secret(input), .ofCommand).items.map {
            "\($0.description.name)=\(text($0.value) ?? "")"
        }
    }

    @Test(arguments: [
        ("name,url,username,password,note\nA,https://a.example:8443/x,ann,p,\n", "a.example"),
        (
            "\"url\",\"username\",\"password\",\"httpRealm\",\"guid\"\r\n"
                + "\"https://a.example\",\"ann\",\"p\",,\"{1}\"\r\n", "a.example"
        ),
        (
            "folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,"
                + "login_password,login_totp\n,,login,A,,,0,https://a.example,ann,p,\n", "a.example"
        ),
        (
            "\u{FEFF}Title,Url,Username,Password,OTPAuth,Favorite\n"
                + "A,https://u@a.example/?q,ann,p,,false\n", "a.example"
        ),
    ])
    func `Each password manager's columns are known`(_ table: String, _ host: String) throws {
        let found = try csv(table)
        #expect(found.items.map(\.description.owner) == [host])
        #expect(found.items.map { text($0.value) } == ["p"])
    }

    @Test func `Quoted fields keep commas, quotation marks and lines`() throws {
        let table = "name,password\n\"a,b\",\"p\"\"1\"\"\n2\"\n\nlast,x"
        #expect(
            lines(try csv(table)) == ["valet default a,b = p\"1\"\n2", "valet default last = x"])
    }

    @Test(arguments: [
        "", "name\n", "name,password\na\n", "name,password\na,b,c\n", "name,password\n\"a",
        "name,password\n\"a\"b,c\n", "name,password\na\"b,c\n",
    ])
    func `A table that is not CSV with passwords is refused`(_ table: String) {
        let error = #expect(throws: CLIError.self) { _ = try csv(table) }
        #expect(error?.code == .damaged)
    }

    @Test func `Notes, one-time passwords and further addresses are imported, too`() throws {
        let table =
            "name,login_uri,login_username,login_password,login_totp,notes\n"
            + "A,\"https://a.example,https://b.example\",ann,p,abcd 2345,n\n,,,,,\nB,,,,,\n"
        let found = try csv(table)
        #expect(
            lines(found) == [
                "internet a.example ann = p [url 2 https://b.example, "
                    + "otp! otpauth://totp/?secret=abcd2345, note! n]"
            ])
        #expect(
            found.skipped.map(\.reason) == ["it has no name and no address", "it is empty"])
    }

    @Test(arguments: [
        ("url", "https://good.example/r?to=x,https://evil.example/", 1),
        ("url", "https://good.example/r,evil.example", 1),
        ("login_uri", "https://good.example/r?to=x,evil.example/", 1),
        ("login_uri", "https://good.example/r?to=x,https://evil.example/", 1),
        ("login_uri", "https://good.example/,https://b.example", 2),
        ("login_uri", "https://good.example/,b.example", 1),
    ])
    func `A comma in an address adds no server that the address does not name`(
        _ column: String, _ url: String, _ count: Int
    ) throws {
        let found = try csv("name,\(column),username,password\nA,\"\(url)\",ann,p\n")
        let item = try #require(found.items.first)
        #expect(shown(item).hasPrefix("internet good.example ann = p"))
        let urls = item.fields?.list.map(\.name) ?? []
        #expect(found.items.count == 1 && urls == [count == 1 ? "url" : "url 2"])
        let isCut = column == "login_uri" && url.contains("?to=x,https:")
        #expect(found.skipped.count == (isCut ? 1 : 0))
    }

    @Test func `Parts of a login that cannot be imported are reported`() throws {
        let table = "name,url,fields,password\nA,https://a%20b/,pin: 1,p\n"
        let found = try csv(table)
        #expect(lines(found) == ["valet default A = p [url https://a%20b/]"])
        #expect(found.skipped.count == 1)
        let card = #"{"items":[{"name":"C","notes":"n","card":{"number":"1"}}]}"#
        let items = try JSONExport.items(in: secret(card), .ofCommand)
        #expect(lines(items) == ["valet default C =  [note! n, number! 1]"])
    }

    private func export(_ members: String) throws(CLIError) -> ImportedItems {
        let document = "{\"format\":\"valet-export-1\",\"items\":[\(members)]}"
        return try JSONExport.items(in: secret(document), .ofCommand)
    }

    @Test(arguments: [
        #""accessibility":"when-passcode-set-thisdevice-only""#, #""accessibility":1"#,
        #""cloud":1"#, #""cloud":true,"accessibility":"when-unlocked-this-device-only""#,
        #""port":-1"#, #""port":65536"#, #""port":1000000000000"#, #""port":1e3"#,
        #""port":99999999999999999999"#, #""port":"1""#, #""value":{"a":1}"#, #""value":1"#,
        #""base64":"AAA=""#, #""server":1"#, #""server":null"#, #""label":{"base64":"A"}"#,
        #""label":{"base64":"AAA=","a":1}"#, #""class":"key""#, #""unknown":1"#, #""value":"q""#,
    ])
    func `An export with words or types that no export has is refused`(_ member: String) throws {
        let name = String(member.dropFirst().prefix { $0 != "\"" })
        let members = [
            "class": #""class":"internet-password""#, "value": #""value":"p""#,
        ].filter { $0.key != name || member == #""value":"q""# }.values
        let error = #expect(throws: CLIError.self) {
            _ = try export("{" + (Array(members) + [member]).joined(separator: ",") + "}")
        }
        #expect(error?.code == .damaged)
    }

    @Test func `An export keeps fields, and refuses those that no export has`() throws {
        func fields(_ list: String) throws(CLIError) -> String? {
            try export(#"{"class":"generic-password","value":"p","fields":\#(list)}"#).items.first
                .map { shown($0) }
        }
        #expect(
            try fields(
                #"[{"name":"a","secret":true,"value":"b"},"#
                    + #"{"name":"c","secret":false,"base64":"ZA=="}]"#
            )?.hasSuffix("= p [a! b, c d]") == true)
        for wrong in [
            "1", "[1]", "[{}]", #"[{"name":"a","value":"b"}]"#, #"[{"name":"a","secret":true}]"#,
            #"[{"name":"","secret":true,"value":"b"}]"#,
            #"[{"name":"a","secret":true,"value":"b","more":1}]"#,
            #"[{"name":"a","secret":true,"value":"b"},{"name":"a","secret":true,"value":"b"}]"#,
        ] {
            let error = #expect(throws: CLIError.self) { _ = try fields(wrong) }
            #expect(error?.code == .damaged)
        }
    }

    @Test(arguments: ProtectionClass.allCases)
    func `An export keeps every accessibility`(_ protectionClass: ProtectionClass) throws {
        let found = try export(
            #"{"class":"generic-password","value":"p","accessibility":"\#(protectionClass.word)"}"#)
        #expect(found.items.first?.accessibility == protectionClass)
    }

    @Test func `Numbers and bytes of an export stay what they are`() throws {
        let item = try #require(
            try export(
                #"{"class":"generic-password","value":"p","generic":{"base64":"AP8="},"#
                    + #""creator":7,"label":""}"#
            ).items.first)
        #expect(item.attributes[.generic] == .bytes([0, 255]))
        #expect(item.attributes[.creator] == .number(7))
        #expect(item.attributes[.label] == .text(""))
        #expect(item.isCloud == false)
    }

    @Test func `Variables are read as shells read them, and nothing is expanded`() throws {
        let input =
            "# c\nA=1\n export B = two words # c\nC='$x\\n'\nD=\"a\\nb\\\"\\$c\\x\"\nE=\nF=a#b\r\n"
            + "G=\"two\nlines\" # c\n"
        #expect(
            try dotenv(input) == [
                "A=1", "B=two words", "C=$x\\n", "D=a\nb\"$c\\x", "E=", "F=a#b", "G=two\nlines",
            ])
    }

    @Test func `Names of variables may have what shells do not take`() throws {
        #expect(
            try dotenv("a.b-c=1\nexport 1A=2\nv=valet://x/y/z\n")
                == ["a.b-c=1", "1A=2", "v=valet://x/y/z"])
    }

    @Test(arguments: ["A b", "A:b", "A B=c", "A='b", "A=\"b", "A='b'c", "=a", "export =a"])
    func `Lines that set no variable are refused`(_ input: String) {
        let error = #expect(throws: CLIError.self) { _ = try dotenv(input) }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("line 1") == true)
    }

    @Test func `A netrc file's machines become internet passwords`() throws {
        let input =
            "machine a.example login ann password \"p \\\" q\"\n# c\nmacdef init\ncd /\n\n"
            + "machine b.example\n\tlogin ben\n\tpassword p#2\nmachine c.example login x\n"
            + "default login anonymous password x"
        let found = try NetrcText.items(in: secret(input))
        #expect(
            lines(found) == ["internet a.example ann = p \" q", "internet b.example ben = p#2"])
        #expect(
            found.skipped.map(\.reason) == [
                "macros are not imported", "it has no password", "it names no machine",
            ])
        let hash = "machine a login u password #s3\ndefault login anonymous password x"
        #expect(
            lines(try NetrcText.items(in: secret(hash))) == ["internet a u = #s3"])
        let error = #expect(throws: CLIError.self) {
            _ = try NetrcText.items(in: secret("machine a\nhunter2"))
        }
        #expect(error?.message.contains("hunter2") == false)
    }

    static let dump = """
        keychain: "/Users/ann/Library/Keychains/login.keychain-db"
        version: 512
        class: "genp"
        attributes:
            0x00000007 <blob>="a label"
            0x00000008 <blob>=<NULL>
            "acct"<blob>=0xC3A9  "\\303\\251"
            "cdat"<timedate>=0x32303231  "2021\\000"
            "svce"<blob>="a "service""
        data:
        0x610A62  "a\\012b"
        keychain: "/Users/ann/Library/Keychains/login.keychain-db"
        version: 512
        class: "inet"
        attributes:
            "acct"<blob>="ann"
            "atyp"<blob>="dflt"
            "port"<uint32>=0x000001BB
            "ptcl"<uint32>="htps"
            "srvr"<blob>="example.com"
        data:
        "pass"word"
        keychain: "/Users/ann/Library/Keychains/login.keychain-db"
        version: 512
        class: 0x0000000F
        attributes:
        data:

        """

    @Test func `A dump of a keychain of macOS keeps every attribute that names an item`() throws {
        let found = try KeychainDump.items(in: secret(Self.dump))
        #expect(
            lines(found) == [
                "generic a \"service\" é = a\nb", "internet example.com ann = pass\"word",
            ])
        let attributes = try #require(found.items.last).attributes
        #expect(attributes[.port] == .number(0))
        #expect(attributes[.protocol] == .text("htps"))
        #expect(attributes[.path] == .text(""))
        #expect(found.skipped.map(\.reason) == ["it is not a password"])
        for wrong in ["", "hello\n", "keychain: \"a\"\ndata:\nsecret\n", "data:\n0x6\n"] {
            let error = #expect(throws: CLIError.self) {
                _ = try KeychainDump.items(in: secret(wrong))
            }
            #expect(error?.code == .damaged)
        }
    }

    @Test func `An object's members and a Bitwarden export are told apart`() throws {
        let members = try JSONExport.items(in: secret(#"{"a":"1","b":2,"c":"é"}"#), .ofCommand)
        #expect(lines(members) == ["valet default a = 1", "valet default c = é"])
        #expect(members.skipped.map(\.source) == ["b"])
        let bitwarden = #"""
            {"encrypted":false,"folders":[],"items":[{"type":1,"name":"A","notes":null,
            "fields":[{"name":"pin","value":"12","type":1}],"login":{"username":"ann",
            "password":"p","totp":null,"uris":[{"match":null,"uri":"https://a.example"}]}},
            {"type":2,"name":"Note","notes":"n","secureNote":{"type":0}},
            {"type":3,"name":"Card","card":{"number":"1"}}]}
            """#
        let logins = try JSONExport.items(in: secret(bitwarden), .ofCommand)
        #expect(
            lines(logins) == [
                "internet a.example ann = p [pin! 12]", "valet default Note =  [note! n]",
                "valet default Card =  [number! 1]",
            ])
        #expect(logins.skipped.isEmpty)
        for wrong in [#"{"encrypted":true,"items":[]}"#, "[", "\"a\"", "1", "{} {}"] {
            let error = #expect(throws: CLIError.self) {
                _ = try JSONExport.items(in: secret(wrong), .ofCommand)
            }
            #expect(error?.code == .damaged)
        }
    }
}
