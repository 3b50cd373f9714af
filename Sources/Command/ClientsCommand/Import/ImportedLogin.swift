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
    /// Further secrets by name.
    private(set) var fields: [(name: String, value: SecretValue)] = []
    /// Why parts of it are not imported.
    var losses: [String] = []

    init(source: String) {
        self.source = source
    }

    /// Adds a further secret.
    ///
    /// - Throws: ``ExitCode/usage`` for one too many.
    mutating func addField(_ name: String, _ value: SecretValue) throws(CLIError) {
        guard fields.count < ImportedItems.maximumCount else { throw ImportedItems.tooMany }
        fields.append((name.isEmpty ? "field" : name, value))
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

    /// Whether it has something to keep.
    fileprivate var hasSecret: Bool {
        password != nil || notes != nil || otp != nil || !fields.isEmpty
    }

    /// The server of an address; nil for text that names none.
    static func place(_ url: String) -> LoginPlace? {
        guard let address = LoginAddress(url),
            address.scheme != nil || address.host.utf8.contains(UInt8(ascii: "."))
        else { return nil }
        return LoginPlace(scheme: address.scheme ?? "https", host: address.host, path: "")
    }
}

/// Turns entries into items: a password for each address, and secrets with the entry's name for all
/// else. Entries of one name that differ get different names, in the order of the source, so that a
/// second import of the same source finds what the first has stored.
struct LoginItems {
    private(set) var found = ImportedItems()
    private let scope: Scope
    /// The secrets by their names.
    private var secrets: [String: SecretValue] = [:]
    /// The names of entries that have secrets, and how many entries have each.
    private var entries: [String: Int] = [:]
    private var passwords: [Login: SecretValue] = [:]

    /// The key that distinguishes internet passwords.
    private struct Login: Hashable {
        let place: LoginPlace
        let username: String
        let realm: String
    }

    init(_ scope: Scope) {
        self.scope = scope
    }

    mutating func skip(_ source: String, _ reason: String) { found.skip(source, reason) }

    mutating func add(_ login: ImportedLogin) throws(CLIError) {
        try found.checkCount()
        var login = login
        let places = places(of: &login)
        let source = login.title
        guard let key = login.name ?? places.first?.host ?? login.username, !key.isEmpty else {
            return skip(source, "it has no name and no address")
        }
        guard login.hasSecret || !login.losses.isEmpty else {
            return skip(source, "it has no secret")
        }
        var secrets: [(suffix: String, value: SecretValue)] = []
        let isTaken = try addPassword(of: login, at: places, source)
        if let password = login.password, places.isEmpty || isTaken {
            secrets.append(("", password))
        }
        if let username = login.username, !username.isEmpty,
            places.isEmpty || isTaken || login.password == nil, login.hasSecret
        {
            secrets.append(("username", SecretValue(copying: Array(username.utf8).span)))
        }
        if let notes = login.notes { secrets.append(("notes", notes)) }
        if let otp = login.otp { secrets.append(("otp", Self.otpauth(otp))) }
        if login.password == nil, !places.isEmpty {
            login.losses.append("its address is not imported without a password")
        }
        secrets = Self.distinct(secrets + login.fields.map { ($0.name, $0.value) })
        let name = try add(secrets, key, login.username ?? "", source)
        if isTaken {
            login.losses.append(
                "another entry has another password for its server and user name; "
                    + "this one is the secret '\(name)'")
        }
        for loss in login.losses { skip(source, loss) }
    }

    private func places(of login: inout ImportedLogin) -> [LoginPlace] {
        var places: [LoginPlace] = []
        for url in login.urls where !url.utf8.allSatisfy({ $0 == 0x20 }) {
            guard let place = ImportedLogin.place(url) else {
                login.losses.append("one of its addresses names no server")
                continue
            }
            if !places.contains(place) { places.append(place) }
        }
        return places
    }

    /// Adds the password for each server. Returns whether a server has another password already.
    private mutating func addPassword(
        of login: ImportedLogin, at places: [LoginPlace], _ source: String
    ) throws(CLIError) -> Bool {
        guard let password = login.password else { return false }
        var isTaken = false
        for place in places {
            let username = login.username ?? ""
            let key = Login(place: place, username: username, realm: login.realm)
            guard passwords[key, default: password].isEqual(to: password) else {
                isTaken = true
                continue
            }
            passwords[key] = password
            var item = ImportedItem(place, account: username, kind: .form, password, from: source)
            item.attributes[.securityDomain] = .text(login.realm)
            if let name = login.name { item.attributes[.label] = .text(name) }
            try found.add(item)
        }
        return isTaken
    }

    /// Makes the names of an entry's parts distinct.
    private static func distinct(
        _ secrets: [(suffix: String, value: SecretValue)]
    ) -> [(suffix: String, value: SecretValue)] {
        var taken: Set<String> = []
        var counts: [String: Int] = [:]
        return secrets.map { (suffix, value) in
            var candidate = suffix
            while !taken.insert(candidate).inserted {
                counts[suffix, default: 1] += 1
                candidate = "\(suffix) (\(counts[suffix, default: 1]))"
            }
            return (candidate, value)
        }
    }

    /// Adds the secrets of an entry, and returns the entry's name: `key`, or if another entry has
    /// that name, `key` with the user name or a number.
    private mutating func add(
        _ new: [(suffix: String, value: SecretValue)], _ key: String, _ username: String,
        _ source: String
    ) throws(CLIError) -> String {
        guard !new.isEmpty else { return key }
        func path(_ entry: String, _ suffix: String) -> String {
            suffix.isEmpty ? entry : "\(entry)/\(suffix)"
        }
        var name = key
        let withUser = "\(key) (\(username))"
        while true {
            // The same entry twice counts as one.
            let isSame = new.allSatisfy {
                secrets[path(name, $0.suffix)]?.isEqual(to: $0.value) == true
            }
            let isFree =
                entries[name] == nil
                && new.allSatisfy { secrets[path(name, $0.suffix)] == nil }
            if isSame || isFree { break }
            if name == key, !username.isEmpty {
                name = withUser
            } else {
                let number = max(entries[key, default: 1], 1) + 1
                entries[key] = number
                name = "\(key) (\(number))"
            }
        }
        entries[name] = entries[name, default: 1]
        for (suffix, value) in new {
            secrets[path(name, suffix)] = value
            try found.add(ImportedItem(path(name, suffix), value, in: scope, from: source))
        }
        return name
    }

    /// The value as an address `otpauth:`: some programs export the seed alone.
    private static func otpauth(_ value: SecretValue) -> SecretValue {
        let isSeed = value.withBytes { bytes in
            bytes.indices.allSatisfy { index in
                switch bytes[index] {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "2")...UInt8(ascii: "7"), UInt8(ascii: "="), UInt8(ascii: " "):
                    true
                default: false
                }
            }
        }
        guard isSeed else { return value }
        var text = SecretText()
        text.append("otpauth://totp/?secret=")
        value.withBytes { bytes in
            for index in bytes.indices
            where bytes[index] != UInt8(ascii: " ") && bytes[index] != UInt8(ascii: "=") {
                text.append(bytes[index])
            }
        }
        return text.value()
    }
}
