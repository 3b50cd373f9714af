// SPDX-License-Identifier: Apache-2.0

internal import ValetCLI
internal import ValetKeychainModel
internal import ValetSealing

/// An entry of a password manager: a login, a note or a card.
struct ImportedLogin {
    var source: String
    var name: String?
    var username: String?
    private(set) var urls: [String] = []
    var realm = ""
    var password: SecretValue?
    var notes: SecretValue?
    var otp: SecretValue?
    /// Further parts by name.
    private(set) var fields: [(name: String, value: SecretValue, isSecret: Bool)] = []
    /// Why parts of it are not imported.
    var losses: [String] = []

    init(source: String) {
        self.source = source
    }

    /// Adds a further part.
    ///
    /// - Parameter isSecret: False if the source shows it as plain text.
    /// - Throws: ``ExitCode/usage`` for one too many.
    mutating func addField(
        _ name: String, _ value: SecretValue, isSecret: Bool = true
    ) throws(CLIError) {
        guard fields.count < ImportedItems.maximumCount else { throw ImportedItems.tooMany }
        fields.append((name, value, isSecret))
    }

    /// Adds an address.
    ///
    /// - Throws: ``ExitCode/usage`` for one too many.
    mutating func addURL(_ url: String) throws(CLIError) {
        guard urls.count < Self.maximumURLCount else {
            throw .usage("\(source) has more than \(Self.maximumURLCount) addresses")
        }
        urls.append(url)
    }

    private static let maximumURLCount = 1_000

    /// Notes a part that is not imported, each reason once.
    mutating func lose(_ reason: String) {
        let limit = 100
        let isLast = losses.count == limit - 1
        guard losses.count < limit, !losses.contains(reason) else { return }
        losses.append(isLast ? "further parts of it are not imported" : reason)
    }

    /// Adds the addresses of a field in which some programs separate them by commas.
    ///
    /// An address may have a comma itself. Splitting there would give the password to a server that
    /// somebody else has put into a link. So a later part is an address of its own only if it
    /// begins with a scheme, and never after a question mark or a hash sign.
    mutating func addURLs(in text: String) throws(CLIError) {
        var urls: [[UInt8]] = []
        for part in text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        {
            let hasScheme = LoginAddress(String(decoding: part, as: UTF8.self))?.scheme != nil
            if urls.isEmpty {
                urls.append(Array(part))
            } else if hasScheme, !urls[urls.count - 1].contains(where: { "?#".utf8.contains($0) }) {
                urls.append(Array(part))
            } else {
                if hasScheme {
                    losses.append("an address after a question mark may be part of another one")
                }
                urls[urls.count - 1] += [UInt8(ascii: ",")] + part
            }
        }
        for url in urls { try addURL(String(decoding: url, as: UTF8.self)) }
    }

    /// What it is called in messages.
    var title: String { name.map { "\($0) (\(source))" } ?? source }

    /// Whether there is anything beside the name.
    fileprivate var hasContent: Bool {
        password != nil || notes != nil || otp != nil || !fields.isEmpty || !addresses.isEmpty
            || username?.isEmpty == false
    }

    /// The addresses that are not empty, each once.
    fileprivate var addresses: [String] {
        var known: Set<[UInt8]> = []
        return urls.filter { url in
            !url.utf8.allSatisfy { $0 == 0x20 } && known.insert(Array(url.utf8)).inserted
        }
    }

    /// The address that its password is for, and the server: the first one of the web, else the
    /// first one that names a server.
    fileprivate var server: (url: String, place: LoginPlace)? {
        let named = addresses.compactMap { url in Self.place(url).map { (url, $0) } }
        return named.first { $0.1.scheme == "https" || $0.1.scheme == "http" } ?? named.first
    }

    /// All parts beside the password.
    ///
    /// - Parameter server: The address whose server and whose user name are attributes of the item;
    ///   nil for a secret.
    fileprivate func parts(_ server: String?) -> ImportedFields {
        var parts = ImportedFields()
        if server == nil {
            if let username, !username.isEmpty { parts.add(.username, username) }
            if !realm.isEmpty {
                parts.add("realm", SecretValue(copying: Array(realm.utf8).span), isSecret: false)
            }
        } else {
            for name in [FieldName.username.text, "label"] { parts.reserve(name) }
        }
        addAddresses(to: &parts, server)
        if let otp { parts.add(FieldName.otp.text, otp.asOneTimeAddress) }
        if let notes { parts.add(FieldName.note.text, notes) }
        for field in fields { parts.add(field.name, field.value, isSecret: field.isSecret) }
        return parts
    }

    /// Adds what the attributes of the item do not say of the addresses.
    private func addAddresses(to parts: inout ImportedFields, _ server: String?) {
        var count = 0
        if let server {
            count = 1
            if Self.hasMore(server) {
                addAddress(server, FieldName.url.text, to: &parts)
            } else {
                parts.reserve(FieldName.url.text)
            }
        }
        for url in addresses where url != server {
            count += 1
            let name = FieldName.url.text
            addAddress(url, count == 1 ? name : "\(name) \(count)", to: &parts)
        }
    }

    private func addAddress(_ url: String, _ name: String, to parts: inout ImportedFields) {
        // Before an at sign there may be a password.
        let isSecret = url.utf8.contains(UInt8(ascii: "@"))
        parts.add(name, SecretValue(copying: Array(url.utf8).span), isSecret: isSecret)
    }

    /// Whether an address has more than a server.
    private static func hasMore(_ url: String) -> Bool {
        guard let address = LoginAddress(url) else { return true }
        return address.hasUser || !["", "/"].contains(address.rest)
    }

    /// The server of an address; nil for text that names none.
    static func place(_ url: String) -> LoginPlace? {
        guard let address = LoginAddress(url),
            address.scheme != nil || address.host.utf8.contains(UInt8(ascii: "."))
        else { return nil }
        return LoginPlace(scheme: address.scheme ?? "https", host: address.host, path: "")
    }
}

/// Turns entries into items: one of each. An entry with an address and a password is an internet
/// password, each other one a secret; all else of it are fields. Entries of one name that differ
/// get different names, in the order of the source, so that a second import of the same source
/// finds what the first has stored.
struct LoginItems {
    private(set) var found = ImportedItems()
    private let scope: Scope
    /// The secrets by their names.
    private var secrets: [String: ItemValue] = [:]
    /// How many entries have a name.
    private var counts: [String: Int] = [:]
    private var logins: [Login: ItemValue] = [:]

    /// The key that distinguishes internet passwords.
    private struct Login: Hashable {
        let place: LoginPlace
        let username: String
        let realm: String

        init(_ login: ImportedLogin, at place: LoginPlace) {
            (self.place, username, realm) = (place, login.username ?? "", login.realm)
        }
    }

    init(_ scope: Scope) {
        self.scope = scope
    }

    mutating func skip(_ source: String, _ reason: String) { found.skip(source, reason) }

    mutating func add(_ login: ImportedLogin) throws(CLIError) {
        try found.checkCount()
        let (source, server) = (login.title, login.server)
        let fallback = server?.place.host ?? login.addresses.first ?? login.username
        guard let name = login.name ?? fallback, !name.isEmpty else {
            return skip(source, "it has no name and no address")
        }
        for loss in login.losses { skip(source, loss) }
        guard login.hasContent else {
            if login.losses.isEmpty { skip(source, "it is empty") }
            return
        }
        if let password = login.password, let server {
            let parts = login.parts(server.url)
            let whole = ItemValue(password, parts.all ?? EntryFields())
            let key = Login(login, at: server.place)
            if let other = logins[key], !other.isEqual(to: whole) {
                let name = try addSecret(login, name)
                let isSame = other.value.isEqual(to: password)
                skip(
                    source,
                    "another entry has \(isSame ? "" : "another password for ")its server and user "
                        + "name; this one is the secret '\(name)'")
            } else {
                logins[key] = whole
                try addLogin(login, server.place, whole, parts)
            }
        } else {
            _ = try addSecret(login, name)
        }
    }

    private mutating func addLogin(
        _ login: ImportedLogin, _ place: LoginPlace, _ whole: ItemValue, _ parts: ImportedFields
    ) throws(CLIError) {
        var item = ImportedItem(
            place, account: login.username ?? "", kind: .form, whole.value, from: login.title)
        item.attributes[.securityDomain] = .text(login.realm)
        if let name = login.name { item.attributes[.label] = .text(name) }
        try add(item, parts)
    }

    /// Adds an entry as a secret, and returns its name: `key`, or if another entry has that name,
    /// `key` with the user name or a number.
    private mutating func addSecret(
        _ login: ImportedLogin, _ key: String
    ) throws(CLIError) -> String {
        let parts = login.parts(nil)
        let value = login.password ?? SecretValue(SecretBytes(byteCount: 0))
        let whole = ItemValue(value, parts.all ?? EntryFields())
        var name = key
        // The same entry twice counts as one.
        while let other = secrets[name], !other.isEqual(to: whole) {
            if name == key, let username = login.username, !username.isEmpty {
                name = "\(key) (\(username))"
            } else {
                counts[key, default: 1] += 1
                name = "\(key) (\(counts[key, default: 1]))"
            }
        }
        secrets[name] = whole
        try add(ImportedItem(name, value, in: scope, from: login.title), parts)
        return name
    }

    private mutating func add(_ item: ImportedItem, _ parts: ImportedFields) throws(CLIError) {
        var item = item
        item.fields = parts.all
        try found.add(item)
        guard parts.leftCount > 0 else { return }
        skip(
            item.source,
            "\(parts.leftCount) of its fields are not imported: a secret has at most "
                + "\(EntryFields.maximalCount)")
    }
}
