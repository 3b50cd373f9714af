// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

/// A collection, besides its items.
struct CollectionRecord: Sendable {
    let name: String
    var label: String
    /// Seconds since 1970; 0 for the collection that is always there.
    var created: UInt64 = 0
    /// When the label last changed, in seconds since 1970.
    var modified: UInt64 = 0
}

/// The collections of the keychain, and their aliases. Both are items without values, which are
/// readable from the first unlock on.
struct CollectionList: Sendable {
    /// The collection that is always there. Its aliases are `default` and `login`.
    static let login = DesktopItem.usualCollection
    static let session = "session"

    /// The services of their items.
    static let (collections, aliases) = ("collections", "aliases")

    /// The prefix of the names of shared groups. No other collection's name has it.
    static let sharedPrefix = "group_"

    let session: KeychainSession

    private func query(_ service: String, _ account: String? = nil) -> ItemQuery {
        var query = ItemQuery(
            .genericPassword, attributes: [.service: .text(service)],
            accessGroup: DesktopItem.group)
        if let account { query.attributes[.account] = .text(account) }
        return query
    }

    private func put(
        _ service: String, _ account: String, _ attributes: ItemAttributes
    ) throws(KeychainFailure) {
        guard attributes[.label]?.text.map(DesktopItem.isLabel) ?? true,
            DesktopItem.isLabel(account)
        else {
            throw KeychainFailure(
                .invalidRequest, during: "store a collection", message: DesktopItem.limits)
        }
        let known = query(service, account)
        let isThere = try existing { () throws(KeychainFailure) in
            try session.update(known, ItemChanges(attributes: attributes))
        }
        guard isThere == nil else { return }
        var item = NewItem(
            .genericPassword, attributes: known.attributes, accessGroup: DesktopItem.group,
            protectionClass: .afterFirstUnlock)
        item.attributes = item.attributes.overwritten(by: attributes)
        try session.add(item, value: nil)
    }

    /// All collections of the keychain, the one that is always there first.
    func all() throws(KeychainFailure) -> [CollectionRecord] {
        var records = [CollectionRecord(name: Self.login, label: "Login")]
        do {
            let found = try existing { () throws(KeychainFailure) in
                try session.attributes(of: query(Self.collections)).items
            }
            for item in found ?? [] {
                guard let name = item.attributes[.account]?.text else { continue }
                let dates = SecretRecord(item)
                let record = CollectionRecord(
                    name: name, label: dates.label, created: dates.created,
                    modified: dates.modified)
                if name == Self.login { records[0] = record } else { records.append(record) }
            }
        } catch {
            // Before the first unlock, the other collections cannot be read.
            guard error.code == .locked else { throw error }
        }
        return records
    }

    func record(of name: String) throws(KeychainFailure) -> CollectionRecord? {
        if name == Self.session { return CollectionRecord(name: name, label: "Session") }
        return try all().first { $0.name == name }
    }

    /// A name on the bus for a new collection with that label.
    func newName(_ label: String) throws(KeychainFailure) -> String {
        let taken = Set(try all().map(\.name)).union([Self.session])
        var stem = Self.plain(String(label.prefix(64)))
        if stem.isEmpty { stem = "collection" }
        if stem.hasPrefix(Self.sharedPrefix) { stem = "_" + stem }
        var (name, number) = (stem, 1)
        while taken.contains(name) {
            number += 1
            name = "\(stem)_\(number)"
        }
        return name
    }

    /// Makes a collection with a new name. Unless `alias` is empty, it then names this collection
    /// and no other.
    func create(
        _ name: String, label: String, alias: String
    ) throws(KeychainFailure) {
        try put(Self.collections, name, [.label: .text(label)])
        if !alias.isEmpty { try setAlias(alias, to: name) }
    }

    /// A text as an element of an object path: all but ASCII letters and digits become underscores.
    static func plain(_ text: String) -> String {
        String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    }

    func setLabel(_ label: String, of name: String) throws(KeychainFailure) {
        try put(Self.collections, name, [.label: .text(label)])
    }

    /// Deletes a collection with its items and aliases. Of the one that is always there only the
    /// items and the label go.
    func delete(_ name: String) throws(KeychainFailure) {
        try KeychainItems(session, collection: name).deleteAll()
        for (alias, target) in try storedAliases() where target == name {
            try setAlias(alias, to: nil)
        }
        _ = try existing { () throws(KeychainFailure) in
            try session.delete(query(Self.collections, name))
        }
    }

    /// The collection that an alias names; nil for none.
    func target(ofAlias alias: String) throws(KeychainFailure) -> String? {
        if alias == Self.session { return Self.session }
        let target = try storedAliases()[alias]
        if let target, try record(of: target) != nil { return target }
        return alias == "default" || alias == Self.login ? Self.login : nil
    }

    func setAlias(_ alias: String, to name: String?) throws(KeychainFailure) {
        if let name { return try put(Self.aliases, alias, [.label: .text(name)]) }
        _ = try existing { () throws(KeychainFailure) in
            try session.delete(query(Self.aliases, alias))
        }
    }

    private func storedAliases() throws(KeychainFailure) -> [String: String] {
        let found = try existing { () throws(KeychainFailure) -> [(String, String)] in
            try session.attributes(of: query(Self.aliases)).items.compactMap { item in
                guard let alias = item.attributes[.account]?.text,
                    let name = item.attributes[.label]?.text
                else { return nil }
                return (alias, name)
            }
        }
        return Dictionary(found ?? [], uniquingKeysWith: { first, _ in first })
    }
}
