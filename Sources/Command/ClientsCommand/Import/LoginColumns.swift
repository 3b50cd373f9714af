// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI

/// The meaning of a column in a table of logins. Programs have different names for the same things;
/// docs/CLIENTS.md has the same list.
enum LoginColumn: Hashable {
    case name, url, username, password, notes, otp, realm
    /// The path of the folder, which says whether the entry was deleted.
    case folder
    /// Whether the entry was archived or deleted.
    case ended
    /// An email address, which takes the user name's place if there is no user name.
    case email
    /// Addresses that are separated by commas; a JSON array of them.
    case urls, urlList
    /// A secret field with the name of the column, and one that is shown.
    case field, shown
    /// A JSON array of objects with a label and a value.
    case fieldList
    /// From here on, a row has pairs of a label and a value. A last field without a pair is the
    /// notes.
    case pairs
    /// All fields in one text, which cannot be taken apart.
    case fieldText

    /// The columns by their names in lower case.
    private static let known: [(LoginColumn, [String])] = [
        (.name, ["name", "title", "account", "account_name"]),
        (.url, ["url", "website", "web site", "website address", "login_url", "hostname"]),
        (.urls, ["login_uri"]),
        (.urlList, ["additional_urls"]),
        (
            .username,
            [
                "username", "user name", "login", "login name", "login_username", "user",
                "login_name",
            ]
        ),
        (.email, ["email", "e-mail"]),
        (.password, ["password", "login_password", "pwd"]),
        (.notes, ["notes", "note", "extra", "comments", "comment"]),
        (
            .otp,
            [
                "totp", "otp", "otpauth", "otpurl", "otpsecret", "login_totp", "one-time password",
                "tfc:keeper", "2fa",
            ]
        ),
        (.realm, ["httprealm", "realm"]),
        (.folder, ["group", "folder", "grouping"]),
        (.ended, ["archived", "trashed", "deleted", "recycled"]),
        (.shown, ["username2", "username3"]),
        (
            .field,
            [
                "cardholdername", "cardnumber", "cvc", "pin", "expirydate", "zipcode", "full_name",
                "phone_number", "address1", "address2",
                "city", "country", "state", "account_holder", "cc_number", "code",
                "expiration_month", "expiration_year", "routing_number", "account_number",
                "issuing_bank", "number", "issue_date", "expiration_date", "place_of_issue",
            ]
        ),
        (.fieldList, ["custom_fields"]),
        (.pairs, ["custom fields", "field"]),
        (.fieldText, ["fields"]),
    ]
    private static let byName: [String: LoginColumn] = Dictionary(
        uniqueKeysWithValues: known.flatMap { column, names in names.map { ($0, column) } })

    /// The names that KeePass and its successors give the folder of deleted entries.
    private static let bins: Set<String> = [
        "recycle bin", "papierkorb", "corbeille", "papelera", "papelera de reciclaje", "cestino",
        "lixeira", "reciclagem", "prullenbak", "kosz", "koš", "kôš", "lomtár", "papperskorg",
        "papperskorgen", "papirkurv", "roskakori", "корзина", "кошик", "回收站", "資源回收桶",
        "ごみ箱", "휴지통", "çöp kutusu", "coș de reciclare",
    ]

    /// Whether the path of a folder leads into the folder of deleted entries.
    static func isBin(_ folder: String) -> Bool {
        folder.split { $0 == "/" || $0 == "\\" }.contains { bins.contains($0.lowercased()) }
    }

    /// - Returns: nil for a name that no known program gives to a column that is imported.
    init?(named name: String) {
        guard let column = Self.byName[name.lowercased()] else { return nil }
        self = column
    }
}

/// The first row of a table: what its columns hold.
struct LoginHeader {
    let columns: [(name: String, column: LoginColumn?)]

    /// - Throws: ``ExitCode/damaged`` if the row does not name columns of logins.
    init(_ names: [String]) throws(CLIError) {
        let names = names.map { Self.trimmed($0) }
        // Proton Pass separates addresses by commas, as Bitwarden does in a column of its own.
        let isProton = names.contains { $0.lowercased() == "createtime" }
        columns = names.map { name in
            let column = LoginColumn(named: name)
            return (name, column == .url && isProton ? .urls : column)
        }
        let known = Set(columns.compactMap(\.column))
        let secrets: Set<LoginColumn> = [.password, .notes, .otp, .field, .pairs]
        let places: Set<LoginColumn> = [.name, .url, .urls]
        guard !known.isDisjoint(with: secrets), !known.isDisjoint(with: places) else {
            // The message does not quote the row, which may have secrets.
            throw CLIError(
                .damaged, "line 1 of the CSV does not name columns of logins",
                hint: "put a line such as 'name,url,username,password,notes' in front; "
                    + "'--from keeper' reads Keeper's tables, which have none")
        }
    }

    /// Columns that one program alone writes; the first that fits counts.
    private static let signs: [(columns: Set<String>, program: String)] = [
        (["login_uri"], "Bitwarden"), (["formactionorigin"], "Firefox"),
        (["createtime"], "Proton Pass"), (["cardholdername"], "NordPass"),
        (["matchurl"], "RoboForm"), (["shared folder"], "Keeper"), (["grouping"], "LastPass"),
        (["otpauth", "favorite"], "1Password"), (["otpauth", "title"], "Apple Passwords"),
        (["otpurl"], "Dashlane"), (["username2"], "Dashlane"), (["account_name"], "Dashlane"),
        (["place_of_issue"], "Dashlane"), (["group", "title"], "KeePassXC"),
        (["account", "web site"], "KeePass"),
        (["title", "field"], "Enpass"), (["name", "url", "username"], "a browser"),
    ]

    /// The program that writes such columns; nil if none is known.
    var program: String? {
        let names = Set(columns.map { $0.name.lowercased() })
        return Self.signs.first { $0.columns.isSubset(of: names) }?.program
    }

    /// The first row that the tables of Keeper lack.
    static let ofKeeper =
        "Folder,Title,Login,Password,Website Address,Notes,Shared Folder,Custom Fields"

    /// Where pairs begin; nil if no column has them.
    var firstPair: Int? { columns.firstIndex { $0.column == .pairs } }

    /// Whether KeePass 1 has written the table, or KeePass 2 in the format of KeePass 1.
    var isKeePass: Bool {
        columns.map { $0.name.lowercased() } == [
            "account", "login name", "password", "web site", "comments",
        ]
    }

    private static func trimmed(_ name: String) -> String {
        let isSpace: (Character) -> Bool = { $0 == " " }
        let start = name.drop(while: isSpace)
        return String(start.prefix(start.count - start.reversed().prefix(while: isSpace).count))
    }
}
