// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetCLI
import ValetSealing

@testable import ValetClientsCommand

/// A small export of a program, in the form of its documentation, and the items of its entries.
struct MakerExport: CustomTestStringConvertible, Sendable {
    let program: String
    /// What a person is told.
    let form: String
    let text: String
    /// One for each entry.
    let items: [String]
    /// What is not imported, in part or as a whole.
    var skipped: [String] = []

    var testDescription: String { program }

    fileprivate static func table(
        _ program: String, _ lines: [String], of maker: String? = "a browser", _ items: [String],
        skipping columns: [String] = []
    ) -> MakerExport {
        MakerExport(
            program: program, form: "a table of logins" + (maker.map { " of \($0)" } ?? ""),
            text: lines.joined(separator: "\n") + "\n", items: items,
            skipped: columns.isEmpty
                ? []
                : [
                    "columns \(columns.map { "'\($0)'" }.joined(separator: ", ")): they are not "
                        + "imported"
                ])
    }

    fileprivate static func json(
        _ program: String, _ form: String, _ text: String, _ items: [String],
        skipping skipped: [String] = []
    ) -> MakerExport {
        MakerExport(program: program, form: form, text: text, items: items, skipped: skipped)
    }

    static let all = browsers + managers + keePass + bitwarden + onePassword + older

    private static let browsers: [MakerExport] =
        ["Chrome", "Edge", "Brave", "Opera", "Vivaldi"].map { program in
            table(
                program,
                [
                    "name,url,username,password,note",
                    "a.example,https://a.example/login,ann,p,",
                    "b.example,https://b.example/,ben,q,hi",
                ],
                [
                    "internet a.example ann = p [url https://a.example/login]",
                    "internet b.example ben = q [note! hi]",
                ])
        } + [
            table(
                "an older Chrome",
                ["name,url,username,password", "app,android://abc==@com.x/,ann,p"],
                ["internet com.x ann = p [url! android://abc==@com.x/]"]),
            table(
                "Firefox",
                [
                    #""url","username","password","httpRealm","formActionOrigin","guid","#
                        + #""timeCreated","timeLastUsed","timePasswordChanged""#,
                    #""https://a.example","ann","p",,"https://a.example","{1}","1","2","3""#,
                    #""https://b.example:8443","ben","q","Site",,"{2}","1","2","3""#,
                ], of: "Firefox",
                ["internet a.example ann = p", "internet b.example ben = q"],
                skipping: [
                    "formActionOrigin", "guid", "timeCreated", "timeLastUsed",
                    "timePasswordChanged",
                ]),
            table(
                "Safari and Apple Passwords",
                [
                    "Title,URL,Username,Password,Notes,OTPAuth",
                    "A (ann),https://a.example/,ann,p,,",
                    "B,https://b.example/,ben,q,n,otpauth://totp/B?secret=AB",
                ], of: "Apple Passwords",
                [
                    "internet a.example ann = p",
                    "internet b.example ben = q [otp! otpauth://totp/B?secret=AB, note! n]",
                ]),
        ]

    private static let managers: [MakerExport] = [
        table(
            "LastPass",
            [
                "url,username,password,totp,extra,name,grouping,fav",
                "https://a.example,ann,p,,,A,Work,0",
                "http://sn,,,,\"NoteType:Server\nHost:h\",N,,0",
            ], of: "LastPass",
            ["internet a.example ann = p", "valet default N =  [note! NoteType:Server\nHost:h]"],
            skipping: ["grouping", "fav"]),
        table(
            "Dashlane's logins",
            [
                "username,username2,username3,title,password,note,url,category,otpUrl",
                "ann,a@x,,A,p,n,https://a.example,Web,otpauth://totp/A?secret=AB",
            ], of: "Dashlane",
            [
                "internet a.example ann = p [otp! otpauth://totp/A?secret=AB, note! n, "
                    + "username2 a@x]"
            ], skipping: ["category"]),
        table(
            "Dashlane's notes", ["title,note", "N,secret"], of: nil,
            ["valet default N =  [note! secret]"]),
        table(
            "Dashlane's payments",
            [
                "type,account_name,account_holder,cc_number,code,expiration_month,expiration_year,"
                    + "routing_number,account_number,country,issuing_bank,note,name",
                "bank,B,Ann,,,,,1,2,US,I,,",
            ], of: "Dashlane",
            [
                "valet default B =  [account_holder! Ann, routing_number! 1, account_number! 2, "
                    + "country! US, issuing_bank! I]"
            ], skipping: ["type"]),
        table(
            "NordPass",
            [
                "name,url,additional_urls,username,password,note,cardholdername,cardnumber,cvc,pin,"
                    + "expirydate,zipcode,folder,full_name,phone_number,email,address1,address2,"
                    + "city,country,state,type,custom_fields",
                "A,https://a.example,,ann,p,,,,,,,,,,,,,,,,,password,\"[{\"\"type\"\":\"\"text\"\","
                    + "\"\"label\"\":\"\"Seat\"\",\"\"value\"\":\"\"9\"\"}]\"",
                "C,,,,,,Ann,4111,1,,12/30,,,,,,,,,,,credit_card,",
            ], of: "NordPass",
            [
                "internet a.example ann = p [Seat 9]",
                "valet default C =  [cardholdername! Ann, cardnumber! 4111, cvc! 1, "
                    + "expirydate! 12/30]",
            ], skipping: ["type"]),
        table(
            "Proton Pass",
            [
                "type,name,url,email,username,password,note,totp,createTime,modifyTime,vault",
                "login,A,https://a.example,,ann,p,,otpauth://totp/A?secret=AB,1,2,Personal",
                "note,N,,,,,secret,,1,2,Personal", "alias,L,,l@x,,,,,1,2,Personal",
            ], of: "Proton Pass",
            [
                "internet a.example ann = p [otp! otpauth://totp/A?secret=AB]",
                "valet default N =  [note! secret]", "valet default L =  [username l@x]",
            ], skipping: ["type", "createTime", "modifyTime", "vault"]),
        table(
            "RoboForm",
            [
                "Name,Url,MatchUrl,Login,Pwd,Note,Folder,RfFieldsV2",
                "A,https://a.example,https://a.example,ann,p,n,/,",
            ], of: "RoboForm", ["internet a.example ann = p [note! n]"],
            skipping: ["MatchUrl", "Folder"]),
        table(
            "Enpass",
            [
                #""Title","Field","Value","Field","Value","Field","Value","Note""#,
                #""A","Username","ann","Password","p","Website","https://a.example","n""#,
                #""W","Pin","1","secret""#,
            ], of: "Enpass",
            [
                "internet a.example ann = p [note! n]",
                "valet default W =  [note! secret, Pin! 1]",
            ]),
        table(
            "Keeper, with names of columns",
            [
                LoginHeader.ofKeeper, "Web,A,ann,p,https://a.example,n,,PIN,9",
                "Web,B,ben,q,https://b.example,,,",
            ], of: "Keeper",
            ["internet a.example ann = p [note! n, PIN! 9]", "internet b.example ben = q"],
            skipping: ["Folder"]),
        table(
            "SafeInCloud",
            [
                "Title,Login,Password,Website,2FA,Notes", "A,ann,p,https://a.example,,n",
            ], of: nil, ["internet a.example ann = p [note! n]"]),
        table(
            "Passbolt",
            [
                "Group,Title,Username,Password,URL,Notes,TOTP", ",A,ann,p,https://a.example,n,",
            ], of: "KeePassXC", ["internet a.example ann = p [note! n]"]),
        table(
            "Norton",
            [
                "username,password,url,title,notes,favorite", "ann,p,https://a.example,A,n,false",
            ], of: nil, ["internet a.example ann = p [note! n]"], skipping: ["favorite"]),
        table(
            "Avira", ["name,website,username,password", "A,https://a.example,ann,p"], of: nil,
            ["internet a.example ann = p"]),
    ]

    private static let keePass: [MakerExport] = [
        table(
            "KeePassXC",
            [
                #""Group","Title","Username","Password","URL","Notes","TOTP","Icon","#
                    + #""Last Modified","Created""#,
                #""Root","A","ann","p","https://a.example","n","otpauth://totp/A?secret=AB","0","#
                    + #""x","y""#,
            ], of: "KeePassXC",
            ["internet a.example ann = p [otp! otpauth://totp/A?secret=AB, note! n]"],
            skipping: ["Group", "Icon", "Last Modified", "Created"]),
        table(
            "KeePass 1",
            [
                #""Account","Login Name","Password","Web Site","Comments""#,
                #""A","ann","a\"b","https://a.example","""#,
            ], of: "KeePass", [#"internet a.example ann = a"b"#]),
        table(
            "KeePass 2",
            [
                #""Account","Login Name","Password","Web Site","Comments""#,
                #""A","ann","p","https://a.example","n""#,
            ], of: "KeePass", ["internet a.example ann = p [note! n]"]),
        table(
            "Strongbox",
            [
                "Title,Username,Email,Password,URL,TOTP,Notes,Recycled",
                "A,ann,a@x,p,https://a.example,,n,",
            ], of: nil, ["internet a.example ann = p [note! n, email a@x]"]),
    ]

    private static let bitwarden: [MakerExport] = [
        table(
            "Bitwarden's CSV",
            [
                "folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,"
                    + "login_password,login_totp",
                "Web,1,login,A,n,,0,\"https://a.example,https://b.example\",ann,p,AB",
                ",,note,N,secret,,0,,,,",
            ], of: "Bitwarden",
            [
                "internet a.example ann = p [url 2 https://b.example, "
                    + "otp! otpauth://totp/?secret=AB, note! n]",
                "valet default N =  [note! secret]",
            ], skipping: ["folder", "favorite", "type", "reprompt"]),
        json(
            "Bitwarden's JSON: a login", "JSON of Bitwarden",
            #"""
            {"encrypted":false,"folders":[{"id":"f","name":"Web"}],"items":[{"id":"1",
            "organizationId":null,"folderId":null,"type":1,"reprompt":0,"name":"A","notes":"n",
            "favorite":false,"fields":[{"name":"Seat","value":"9","type":0},{"name":"PIN",
            "value":"8","type":1},{"name":"On","value":"true","type":2}],"login":{"uris":[{"match":
            null,"uri":"https://a.example"}],"username":"ann","password":"p","totp":"AB"},
            "collectionIds":null}]}
            """#,
            [
                "internet a.example ann = p [otp! otpauth://totp/?secret=AB, note! n, Seat 9, "
                    + "PIN! 8, On true]"
            ], skipping: ["members 'id': they are not imported"]),
        json(
            "Bitwarden's JSON: a card, an identity, a note and a key", "JSON of Bitwarden",
            #"""
            {"encrypted":false,"folders":[],"items":[
            {"type":3,"name":"C","card":{"cardholderName":"Ann","brand":"Visa","number":"4111",
            "expMonth":"1","expYear":"2030","code":"123"}},
            {"type":4,"name":"I","identity":{"title":null,"firstName":"Ann","ssn":"1"}},
            {"type":2,"name":"N","notes":"secret","secureNote":{"type":0}},
            {"type":5,"name":"K","sshKey":{"privateKey":"k","publicKey":"l","keyFingerprint":"m"}}]}
            """#,
            [
                "valet default C =  [cardholderName! Ann, brand! Visa, number! 4111, expMonth! 1, "
                    + "expYear! 2030, code! 123]",
                "valet default I =  [firstName! Ann, ssn! 1]",
                "valet default N =  [note! secret]",
                "valet default K =  [privateKey! k, publicKey! l, keyFingerprint! m]",
            ]),
        json(
            "bw list items", "JSON of Bitwarden",
            #"[{"object":"item","type":1,"name":"A","login":{"username":"ann","password":"p"}}]"#,
            ["valet default A = p [username ann]"]),
    ]

    /// The document of an export of 1Password.
    fileprivate static func vault(_ items: String) -> String {
        #"{"accounts":[{"attrs":{"email":"a@x"},"vaults":[{"attrs":{"name":"P"},"items":["#
            + items + "]}]}]}"
    }

    fileprivate static func item(_ title: String, _ details: String, state: String = "active")
        -> String
    {
        #"{"uuid":"u","createdAt":1,"state":"\#(state)","categoryUuid":"001","overview":"#
            + #"{"title":"\#(title)","subtitle":"s","ps":1,"tags":[]},"details":\#(details)}"#
    }

    private static let onePassword: [MakerExport] = [
        table(
            "1Password's CSV",
            [
                "Title,Url,Username,Password,OTPAuth,Favorite,Archived,Tags,Notes",
                "A,https://a.example,ann,p,otpauth://totp/A?secret=AB,false,false,,n",
            ], of: "1Password",
            ["internet a.example ann = p [otp! otpauth://totp/A?secret=AB, note! n]"],
            skipping: ["Favorite"]),
        json(
            "1Password's 1pux: a login", "an export of 1Password",
            vault(
                #"{"item":{"state":"active","overview":{"title":"A","url":"https://a.example","#
                    + #""urls":[{"label":"w","url":"https://a.example"},"#
                    + #"{"url":"https://b.example"}]}"#
                    + #","details":{"loginFields":[{"value":"ann","name":"u","fieldType":"T","#
                    + #""designation":"username"},{"value":"p","fieldType":"P","designation":"#
                    + #""password"},{"value":"x","name":"more","fieldType":"T"}],"#
                    + #""notesPlain":"n"}}}"#),
            ["internet a.example ann = p [url 2 https://b.example, note! n, more x]"]),
        json(
            "1Password's 1pux: sections", "an export of 1Password",
            vault(
                item(
                    "S",
                    #"""
                    {"sections":[{"title":"T","fields":[{"title":"PIN","value":{"concealed":"9"}},
                    {"title":"one-time password","value":{"totp":"AB"}},
                    {"title":"mail","value":{"email":{"email_address":"a@x","provider":null}}},
                    {"title":"site","value":{"url":"b.example"}},
                    {"title":"born","value":{"date":5}},
                    {"title":"number","value":{"creditCardNumber":"4111"}},
                    {"title":"key","value":{"sshKey":{"privateKey":"k","metadata":{"a":"b"}}}},
                    {"title":"","value":{"string":"s"}},{"title":"empty","value":{"string":""}},
                    {"title":"home","value":{"address":{"street":"S","city":"C","state":""}}}]}]}
                    """#)),
            [
                "valet default S =  [otp! otpauth://totp/?secret=AB, PIN! 9, mail a@x, "
                    + "site b.example, born 5, number! 4111, key! k, field s, home S\nC]"
            ]),
        json(
            "1Password's 1pux: a password, and what is not in use", "an export of 1Password",
            vault(
                [
                    item("P", #"{"password":"q","passwordHistory":[{"value":"o","time":1}]}"#),
                    item("Old", #"{"password":"r"}"#, state: "archived"),
                    item("Odd", #"{"password":"r"}"#, state: "new"),
                    item(
                        "F",
                        #"{"sections":[{"fields":[{"title":"f","value":{"file":{"a":"b"}}}]}]}"#),
                ].joined(separator: ",")),
            ["valet default P = q"],
            skipping: [
                "P (item 1): its old passwords are not imported", "Old (item 2): it is archived",
                "Odd (item 3): its state is not known",
                "F (item 4): a field of the kind 'file' is not imported",
            ]),
    ]
}

extension MakerExport {
    /// What earlier versions, and versions for organizations, write.
    fileprivate static let older: [MakerExport] = [
        table(
            "an older Safari",
            ["Title,URL,Username,Password,OTPAuth", "A,https://a.example/,ann,p,"],
            of: "Apple Passwords", ["internet a.example ann = p"]),
        table(
            "an older LastPass",
            ["url,username,password,extra,name,grouping,fav", "https://a.example,ann,p,n,A,,0"],
            of: "LastPass", ["internet a.example ann = p [note! n]"], skipping: ["fav"]),
        table(
            "an older 1Password",
            [
                "Title,Website,Username,Password,OTPAuth,Favorite,Archived,Tags,Notes",
                "A,https://a.example,ann,p,,false,false,work,",
            ], of: "1Password", ["internet a.example ann = p"], skipping: ["Favorite", "Tags"]),
        table(
            "an older NordPass",
            [
                "name,url,username,password,note,cardholdername,cardnumber,cvc,expirydate,zipcode,"
                    + "folder,full_name,phone_number,email,address1,address2,city,country,state",
                "A,https://a.example,ann,p,n,,,,,,,,,,,,,,", "I,,,,,,,,,1,,Ann,2,a@x,,,C,US,",
            ], of: "NordPass",
            [
                "internet a.example ann = p [note! n]",
                "valet default I =  [username a@x, zipcode! 1, full_name! Ann, phone_number! 2, "
                    + "city! C, country! US]",
            ]),
        table(
            "an older Proton Pass",
            [
                "type,name,url,username,password,note,totp,createTime,modifyTime",
                "login,A,\"https://a.example,https://b.example\",ann,p,,,1,2",
            ], of: "Proton Pass", ["internet a.example ann = p [url 2 https://b.example]"],
            skipping: ["type", "createTime", "modifyTime"]),
        table(
            "an older KeePassXC",
            [
                #""Group","Title","Username","Password","URL","Notes""#,
                #""Root/Web","A","ann","p","https://a.example","two"#, #"lines""#,
            ], of: "KeePassXC", ["internet a.example ann = p [note! two\nlines]"],
            skipping: ["Group"]),
        MakerExport(
            program: "KeePassXC, with a recycle bin", form: "a table of logins of KeePassXC",
            text: "Group,Title,Username,Password,URL,Notes,TOTP\nRoot,A,ann,p,,,\n"
                + "Root/Recycle Bin,A,ann,q,,,\n",
            items: ["valet default A = p [username ann]"],
            skipped: [
                "A (line 3): it is in the recycle bin", "columns 'Group': they are not imported",
            ]),
        table(
            "Dashlane's identities",
            [
                "type,number,name,issue_date,expiration_date,place_of_issue,state",
                "passport,1,Ann,2020-01-01,2030-01-01,US,",
            ], of: "Dashlane",
            [
                "valet default Ann =  [number! 1, issue_date! 2020-01-01, "
                    + "expiration_date! 2030-01-01, place_of_issue! US]"
            ], skipping: ["type"]),
        table(
            "Bitwarden's CSV of an organization",
            [
                "collections,type,name,notes,fields,reprompt,login_uri,login_username,"
                    + "login_password,login_totp", "Team,login,A,,,0,https://a.example,ann,p,",
            ], of: "Bitwarden", ["internet a.example ann = p"],
            skipping: ["collections", "type", "reprompt"]),
        json(
            "Bitwarden's JSON of an organization", "JSON of Bitwarden",
            #"""
            {"encrypted":false,"collections":[{"id":"c","organizationId":"o","name":"Team",
            "externalId":null}],"items":[{"passwordHistory":null,"id":"1","organizationId":"o",
            "folderId":null,"type":1,"reprompt":0,"name":"A","notes":null,"favorite":false,"login":
            {"fido2Credentials":[],"uris":[{"match":null,"uri":"https://a.example/"}],
            "username":"ann","password":"p","totp":null},"collectionIds":["c"]}]}
            """#,
            ["internet a.example ann = p"],
            skipping: [
                "members 'collectionIds', 'id', 'organizationId': they are not imported"
            ]),
        json(
            "1Password's 1pux: a card", "an export of 1Password",
            vault(
                item(
                    "C",
                    #"""
                    {"sections":[{"name":"","fields":[{"title":"number","id":"ccnum","value":
                    {"creditCardNumber":"4111"}},{"title":"type","value":{"creditCardType":"visa"}},
                    {"title":"expiry date","value":{"monthYear":203012}},{"title":
                    "verification number","value":{"concealed":"123"}}]}]}
                    """#)),
            [
                "valet default C =  [number! 4111, type visa, expiry date 203012, "
                    + "verification number! 123]"
            ]),
    ]
}

@Suite struct `An export of a program` {
    // Promise: 4.4
    @Test(arguments: MakerExport.all)
    func `An export of a program is known by its content, and becomes one item for each entry`(
        _ export: MakerExport
    ) throws {
        let input = secret(export.text)
        let form = try FileForm(of: input, called: "it")
        #expect(form.title == export.form)
        let found =
            form == .bitwarden || form == .onePassword
            ? try JSONExport.items(in: input, .ofCommand)
            : try LoginTable.items(in: input, .ofCommand)
        let (items, skipped) = shown(found)
        #expect(items == export.items)
        #expect(skipped == export.skipped)
    }

    @Test func `An export of a program of Keeper has no names of columns`() throws {
        let input = secret("Web,A,ann,p,https://a.example,n,,TFC:Keeper,otpauth://totp/A\n")
        let found = try LoginTable.items(in: input, .ofCommand, under: LoginHeader.ofKeeper)
        let expected = "internet a.example ann = p [otp! otpauth://totp/A, note! n]"
        #expect(shown(found).items == [expected])
    }

    @Test(arguments: [
        ("A=1\n", FileForm.variables), ("# c\n\nexport A.b-c=1\n", .variables),
        ("machine a login b password c\n", .netrc), ("default login a\n", .netrc),
        ("https://u:p@h.example\n", .gitPasswords), ("[default]\nregion = x\n", .awsProfiles),
        ("AWSAccessKeyId=A\n", .awsTable),
        ("User name,Access key ID,Secret access key\n", .awsTable),
        ("keychain: \"/a\"\nversion: 512\n", .dump), (#"{"auths":{}}"#, .docker),
        (#"{"a":"1"}"#, .object), (#" { "format":"valet-export-1","items":[]}"#, .export),
        ("PK\u{3}\u{4}", .archive), ("\u{FEFF}name,password\n", .table(nil)),
    ])
    func `An export of a program is told from other files`(
        _ text: String, _ form: FileForm
    ) throws {
        #expect(try FileForm(of: secret(text), called: "it") == form)
    }

    @Test(arguments: [
        "", "\n", "hello world\n", "a b=c\n", "=a\n", "https://h.example\n",
        "-----BEGIN PGP MESSAGE",
        "<?xml version=\"1.0\"?><KeePassFile/>", "SQLite format 3\0", "Salted__x", "%PDF-1",
        "age-encryption.org/v1\n", "\u{1F}\u{8B}", "{", "-----BEGIN PRIVATE KEY-----",
    ])
    func `An export of a program that is not read is named or refused with a hint`(_ text: String) {
        let bytes = Array(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
        let error = #expect(throws: CLIError.self) {
            _ = try FileForm(of: SecretValue(copying: bytes.span), called: "it")
        }
        #expect(error?.code == .damaged || error?.code == .usage)
        #expect(error?.message.contains("it ") == true || text == "{")
    }
}
