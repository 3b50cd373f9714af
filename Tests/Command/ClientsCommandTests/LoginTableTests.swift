// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetCLI
import ValetKeychainModel
import ValetSealing

@testable import ValetClientsCommand

/// An item as "kind owner name = value", and its fields: "[note! secret, url shown]".
func shown(_ item: ImportedItem) -> String {
    let (kind, owner, name) = item.description
    let value = text(item.value) ?? "bytes"
    let fields = (item.fields?.list ?? []).map { field in
        "\(field.name)\(field.isSecret ? "!" : "") \(text(field.value) ?? "bytes")"
    }
    let list = fields.isEmpty ? "" : " [\(fields.joined(separator: ", "))]"
    return "\(kind) \(owner) \(name) = \(value)\(list)"
}

/// The items, and what is skipped as "source: reason".
func shown(_ found: ImportedItems) -> (items: [String], skipped: [String]) {
    let items = found.items.map { shown($0) }
    return (items, found.skipped.map { "\($0.source): \($0.reason)" })
}

/// An export of a program: a table, and what becomes of it.
struct Export: CustomTestStringConvertible, Sendable {
    let program: String
    let table: String
    let items: [String]
    var columns: [String] = []

    var testDescription: String { program }

    static let all: [Export] = [
        Export(
            program: "Chrome, Edge, Brave",
            table: "name,url,username,password,note\nA,https://a.example,ann,p,n\n",
            items: ["internet a.example ann = p [note! n]"]),
        Export(
            program: "Firefox",
            table:
                "\"url\",\"username\",\"password\",\"httpRealm\",\"formActionOrigin\",\"guid\"\r\n"
                + "\"https://a.example\",\"ann\",\"p\",,\"https://a.example\",\"{1}\"\r\n",
            items: ["internet a.example ann = p"], columns: ["formActionOrigin", "guid"]),
        Export(
            program: "Apple Passwords",
            table: "Title,URL,Username,Password,Notes,OTPAuth\n"
                + "A,https://a.example/,ann,p,n,otpauth://totp/x?secret=AB\n",
            items: ["internet a.example ann = p [otp! otpauth://totp/x?secret=AB, note! n]"]),
        Export(
            program: "Bitwarden",
            table: "folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,"
                + "login_password,login_totp\nWork,,login,A,n,,0,https://a.example,ann,p,AB\n",
            items: ["internet a.example ann = p [otp! otpauth://totp/?secret=AB, note! n]"],
            columns: ["folder", "type", "reprompt"]),
        Export(
            program: "1Password",
            table: "Title,Url,Username,Password,OTPAuth,Favorite,Archived,Tags,Notes\n"
                + "A,https://a.example,ann,p,,false,false,home,n\n",
            items: ["internet a.example ann = p [note! n]"],
            columns: ["Favorite", "Tags"]),
        Export(
            program: "KeePassXC",
            table: "\"Group\",\"Title\",\"Username\",\"Password\",\"URL\",\"Notes\",\"TOTP\"\n"
                + "\"Root\",\"A\",\"ann\",\"p\",\"https://a.example\",\"\",\"otpauth://totp/A\"\n",
            items: ["internet a.example ann = p [otp! otpauth://totp/A]"],
            columns: ["Group"]),
        Export(
            program: "KeePass 1 and 2",
            table: "\"Account\",\"Login Name\",\"Password\",\"Web Site\",\"Comments\"\n"
                + #""A","ann","a\"b\\c\\","https://a.example","n\n""# + "\n",
            items: [#"internet a.example ann = a"b\c\ [note! n\n]"#]),
        Export(
            program: "LastPass",
            table: "url,username,password,totp,extra,name,grouping,fav\n"
                + "https://a.example,ann,p,AB,n,A,Web,0\nhttp://sn,,,,secret,Note,Notes,0\n",
            items: [
                "internet a.example ann = p [otp! otpauth://totp/?secret=AB, note! n]",
                "valet default Note =  [note! secret]",
            ], columns: ["grouping", "fav"]),
        Export(
            program: "Dashlane",
            table: "username,username2,username3,title,password,note,url,category,otpUrl\n"
                + "ann,ann2,,A,p,,https://a.example,Web,otpauth://totp/A\n",
            items: ["internet a.example ann = p [otp! otpauth://totp/A, username2 ann2]"],
            columns: ["category"]),
        Export(
            program: "Dashlane's cards",
            table: "type,account_name,account_holder,cc_number,code,expiration_month,"
                + "expiration_year,note\npayment_card,A,Ann,4111,123,12,30,n\n",
            items: [
                "valet default A =  [note! n, account_holder! Ann, cc_number! 4111, code! 123, "
                    + "expiration_month! 12, expiration_year! 30]"
            ], columns: ["type"]),
        Export(
            program: "NordPass",
            table: "name,url,additional_urls,username,password,note,cardnumber,pin,folder,email,"
                + "custom_fields\nA,https://a.example,\"[\"\"https://b.example\"\"]\",ann,p,,,,,,"
                + "\"[{\"\"label\"\":\"\"pin\"\",\"\"value\"\":\"\"9\"\"}]\"\n"
                + "Visa,,,,,,4111,12,,,\n",
            items: [
                "internet a.example ann = p [url 2 https://b.example, pin! 9]",
                "valet default Visa =  [cardnumber! 4111, pin! 12]",
            ]),
        Export(
            program: "Proton Pass",
            table: "type,name,url,email,username,password,note,totp,createTime,modifyTime,vault\n"
                + "login,A,\"https://a.example,https://b.example\",a@x,,p,,AB,1,1,Mine\n"
                + "login,B,https://c.example,b@x,ben,q,,,1,1,Mine\n",
            items: [
                "internet a.example a@x = p [url 2 https://b.example, "
                    + "otp! otpauth://totp/?secret=AB]",
                "internet c.example ben = q [email b@x]",
            ], columns: ["type", "createTime", "modifyTime", "vault"]),
        Export(
            program: "RoboForm",
            table: "Name,Url,MatchUrl,Login,Pwd,Note,Folder,RfFieldsV2\n"
                + "A,https://a.example,https://a.example,ann,p,n,/Web,\n",
            items: ["internet a.example ann = p [note! n]"],
            columns: ["MatchUrl", "Folder"]),
        Export(
            program: "Enpass",
            table: "\"Title\",\"Field\",\"Value\",\"Field\",\"Value\",\"Note\"\n"
                + "\"A\",\"Username\",\"ann\",\"Password\",\"p\",\"Website\",\"https://a.example\","
                + "\"PIN\",\"9\",\"TOTP\",\"AB\",\"n\"\n\"Note\",\"secret\"\n",
            items: [
                "internet a.example ann = p [otp! otpauth://totp/?secret=AB, note! n, PIN! 9]",
                "valet default Note =  [note! secret]",
            ]),
        Export(
            program: "Keeper",
            table: "Folder,Title,Login,Password,Website Address,Notes,Shared Folder,Custom Fields\n"
                + "Web,A,ann,p,https://a.example,n,,TFC:Keeper,otpauth://totp/A,pin,9\n"
                + "Web,B,ben,q,https://b.example,,,\n",
            items: [
                "internet a.example ann = p [otp! otpauth://totp/A, note! n, pin! 9]",
                "internet b.example ben = q",
            ], columns: ["Folder"]),
    ]
}

@Suite struct `A table of logins` {
    private func csv(_ table: String) throws(CLIError) -> ImportedItems {
        try LoginTable.items(in: secret(table), .ofCommand)
    }

    // Promise: 4.4
    @Test(arguments: Export.all)
    func `A table of logins of every program becomes items, and what does not is named`(
        _ export: Export
    ) throws {
        let (items, skipped) = shown(try csv(export.table))
        #expect(items == export.items)
        let names = export.columns.map { "'\($0)'" }.joined(separator: ", ")
        #expect(skipped == (names.isEmpty ? [] : ["columns \(names): they are not imported"]))
    }

    // Promise: 4.4
    @Test(arguments: [
        ("Group", "Root/Recycle Bin", true), ("Group", "Root/Papierkorb/Alt", true),
        ("Group", "Root/Recycle", false), ("Group", "", false), ("Archived", "true", true),
        ("Archived", "false", false), ("Archived", "", false), ("Trashed", "1", true),
    ])
    func `An entry that was deleted or archived is named, and takes no other one's place`(
        _ column: String, _ word: String, _ isOld: Bool
    ) throws {
        let (items, skipped) = shown(
            try csv(
                "\"\(column)\",Title,Username,Password,URL\n"
                    + "\"\(word)\",A,ann,old,https://a.example\n,A,ann,new,https://a.example\n"))
        #expect(items.first == "internet a.example ann = \(isOld ? "new" : "old")")
        #expect(items.count == (isOld ? 1 : 2))
        #expect(skipped.contains { $0.hasPrefix("A (line 2): it is ") } == isOld)
    }

    @Test func `An export of an extension of Firefox has the address as 'hostname'`() throws {
        let (items, _) = shown(
            try csv(
                "hostname,username,password,formSubmitURL,httpRealm,usernameField,passwordField\n"
                    + "https://a.example,ann,p,https://a.example,,u,p\n"))
        #expect(items == ["internet a.example ann = p"])
    }

    @Test func `A table of logins names a column that no program is known to have`() throws {
        let (items, skipped) = shown(
            try csv("name,password,Colour of the key,empty\nA,p,red,\nB,q,,\n"))
        #expect(items == ["valet default A = p", "valet default B = q"])
        #expect(skipped == ["columns 'Colour of the key': they are not imported"])
    }

    @Test func `A table of logins keeps a second column of one kind`() throws {
        let (items, _) = shown(
            try csv("title,name,password,pwd,notes,comment\nA,Other,p,q,n,m\n"))
        #expect(
            items == [
                "valet default A = p [note! n, name Other, pwd! q, note (2)! m]"
            ])
    }

    @Test func `A table of logins keeps entries of one name apart`() throws {
        let table = """
            name,url,username,password,notes
            Google,https://a.example,ann,p1,n1
            Google,https://a.example,ben,p2,n2
            Google,https://a.example,ben,p3,n3
            Google,,,p4,
            Google,,,p5,
            Google,https://a.example,ann,p1,n1
            Google,https://a.example,ann,p1,n9

            """
        let (items, skipped) = shown(try csv(table))
        #expect(
            items == [
                "internet a.example ann = p1 [note! n1]", "internet a.example ben = p2 [note! n2]",
                "valet default Google = p3 [username ben, url https://a.example, note! n3]",
                "valet default Google (2) = p4", "valet default Google (3) = p5",
                "internet a.example ann = p1 [note! n1]",
                "valet default Google (ann) = p1 [username ann, url https://a.example, note! n9]",
            ])
        #expect(
            skipped == [
                "Google (line 4): another entry has another password for its server and user "
                    + "name; this one is the secret 'Google'",
                "Google (line 8): another entry has its server and user name; this one is the "
                    + "secret 'Google (ann)'",
            ])
    }

    @Test func `A table of logins keeps all of an address, and shows no password in it`() throws {
        let (items, _) = shown(
            try csv(
                "name,login_uri,login_username,login_password\n"
                    + "A,\"androidapp://x.y,https://a.example/in,https://u:w@b.example\",ann,p\n"
                    + "B,no address,ben,q\nC,https://c.example,cat,\n"))
        #expect(
            items == [
                "internet a.example ann = p [url https://a.example/in, "
                    + "url 2 androidapp://x.y, url 3! https://u:w@b.example]",
                "valet default B = q [username ben, url no address]",
                "valet default C =  [username cat, url https://c.example]",
            ])
    }

    @Test(
        arguments: [
            ";", "\t", ",",
        ], ["", "sep=", "\"sep="])
    func `A table of logins may have other separators, and a line that names them`(
        _ separator: String, _ mark: String
    ) throws {
        let end = mark.hasPrefix("\"") ? "\"" : ""
        let first = mark.isEmpty ? "" : "\(mark)\(separator)\(end)\r\n"
        let table = "name,url,username,password\r\n\"A;,\t\",https://a.example,ann,p\r\n"
        let plain = table.replacing(#"A;,"# + "\t", with: "#")
        let found = try csv(
            first + plain.replacing(",", with: separator).replacing("#", with: "A;,\t"))
        #expect(shown(found).items == ["internet a.example ann = p"])
        #expect(found.items.first?.attributes[.label] == .text("A;,\t"))
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func `A table of logins may have any line ends, and errors name the line of the row`(
        _ end: String
    ) throws {
        let rows = ["name,password", "\"A", "B\",p", "C,p,x"]
        let error = #expect(throws: CLIError.self) {
            _ = try csv(rows.joined(separator: end) + end)
        }
        #expect(error?.code == .damaged)
        let isCounted = end != "\r"
        #expect(
            error?.message
                == "the CSV, line \(isCounted ? 4 : 3): 3 fields, where the first row has 2")
    }

    @Test func `A table of logins without names of columns is refused, and is not shown`() {
        let error = #expect(throws: CLIError.self) {
            _ = try csv("Web,A,ann,hunter2,https://a.example,n,\n")
        }
        #expect(error?.code == .damaged)
        #expect(error?.message == "line 1 of the CSV does not name columns of logins")
        #expect(error?.hint?.contains("Keeper") == true)
    }

    @Test func `A table of logins that is neither UTF-8 nor UTF-16 is refused with the reason`() {
        let bytes = Array("name,password\ncaf".utf8) + [0xE9] + Array(",p\n".utf8)
        let error = #expect(throws: CLIError.self) {
            _ = try LoginTable.items(in: SecretValue(copying: bytes.span), .ofCommand)
        }
        #expect(error?.message == "the CSV is neither UTF-8 nor UTF-16")
    }
}

@Suite struct `The encoding of an input` {
    private func decoded(_ bytes: [UInt8]) throws(CLIError) -> String? {
        text(try InputText.decoded(SecretValue(copying: bytes.span), "it"))
    }

    private static func utf16(_ text: String, littleEndian: Bool, mark: Bool = true) -> [UInt8] {
        ((mark ? [0xFEFF] : []) + Array(text.utf16)).flatMap { unit -> [UInt8] in
            let pair = [UInt8(unit >> 8), UInt8(unit & 255)]
            return littleEndian ? pair.reversed() : pair
        }
    }

    @Test(arguments: ["", "a", "é\u{1F511}\u{FEFF}\r\n"])
    func `The encoding of an input is UTF-8 or UTF-16, and its mark is dropped`(_ text: String)
        throws
    {
        #expect(try decoded(Array(text.utf8)) == text)
        #expect(try decoded([0xEF, 0xBB, 0xBF] + Array(text.utf8)) == text)
        #expect(try decoded(Self.utf16(text, littleEndian: true)) == text)
        #expect(try decoded(Self.utf16(text, littleEndian: false)) == text)
    }

    @Test(arguments: [
        utf16("a", littleEndian: true, mark: false), utf16("a", littleEndian: false, mark: false),
        [0xFF, 0xFE, 0], [0xFF, 0xFE, 0, 0xD8], [0xFF, 0xFE, 0, 0xDC],
        [0xFF, 0xFE, 0, 0xD8, 0x61, 0], [0xFF, 0xFE, 0, 0, 0x61, 0, 0, 0], [0, 0, 0xFE, 0xFF],
    ])
    func `The encoding of an input that cannot be read is named as the cause`(_ bytes: [UInt8]) {
        let error = #expect(throws: CLIError.self) { _ = try decoded(bytes) }
        #expect(error?.code == .damaged)
        #expect(error?.hint == "save it again as UTF-8")
        #expect(error?.message.hasPrefix("it is ") == true)
    }
}
