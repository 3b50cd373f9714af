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

extension CollectionRecord {
    /// nil for an item that is no collection.
    fileprivate init?(_ item: StoredItem) {
        guard let name = item.attributes[.account]?.text else { return nil }
        let record = SecretRecord(item)
        self.init(
            name: name, label: record.label, created: record.created, modified: record.modified)
    }
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
    /// Whether to fail, with `timedOut`, if there are many collections.
    var isQuick = false

    /// So many collections, and so many aliases, can be made.
    private static let maximalCount = 1_000

    private func query(_ service: String, _ account: String? = nil) -> ItemQuery {
        var query = ItemQuery(
            .genericPassword, attributes: [.service: .text(service)],
            accessGroup: DesktopItem.group)
        if let account { query.attributes[.account] = .text(account) }
        return query
    }

    /// Stores an item, or gives the one of that name the label.
    private func put(
        _ service: String, _ account: String, label: String
    ) throws(KeychainFailure) {
        guard DesktopItem.isLabel(label), DesktopItem.isLabel(account) else { throw Self.tooLong }
        let isThere = try existing { () throws(KeychainFailure) in
            try session.update(
                query(service, account), ItemChanges(attributes: [.label: .text(label)]))
        }
        if isThere == nil { try session.add(item(service, account, label), value: nil) }
    }

    /// All collections of the keychain, the one that is always there first.
    func all() throws(KeychainFailure) -> [CollectionRecord] {
        var records = [CollectionRecord(name: Self.login, label: "Login")]
        let found = try unlessLocked { () throws(KeychainFailure) in
            try checkQuick(Self.collections)
            return try session.attributes(of: query(Self.collections)).itemsReportingDamage()
        }
        for record in (found ?? []).compactMap(CollectionRecord.init) {
            if record.name == Self.login { records[0] = record } else { records.append(record) }
        }
        return records
    }

    /// Before the first unlock, when no record can be read, there may be a collection of any name,
    /// and the name is all that is known of it.
    func record(of name: String) throws(KeychainFailure) -> CollectionRecord? {
        if name == Self.session { return CollectionRecord(name: name, label: "Session") }
        do {
            let item = try existing { () throws(KeychainFailure) in
                try session.attributes(of: query(Self.collections, name)).items.first
            }
            if let item = item ?? nil { return CollectionRecord(item) }
            return name == Self.login ? CollectionRecord(name: name, label: "Login") : nil
        } catch {
            guard error.code == .locked, Self.plain(name) == name else { throw error }
            return CollectionRecord(name: name, label: name)
        }
    }

    /// A name on the bus for a new collection with that label.
    func newName(_ label: String) throws(KeychainFailure) -> String {
        let taken = Set(try all().map(\.name)).union([Self.session])
        guard taken.count < Self.maximalCount else { throw Self.tooMany }
        var stem = Self.plain(String(String.UnicodeScalarView(label.unicodeScalars.prefix(64))))
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
    /// and no other. Both in one step, or nothing.
    func create(
        _ name: String, label: String, alias: String
    ) throws(KeychainFailure) {
        guard !alias.isEmpty else { return try put(Self.collections, name, label: label) }
        guard DesktopItem.isLabel(label), DesktopItem.isLabel(name), DesktopItem.isLabel(alias)
        else { throw Self.tooLong }
        var transfer = ItemTransfer(
            additions: [Addition(item(Self.collections, name, label), value: nil)])
        let named = item(Self.aliases, alias, name)
        let known = try existing { () throws(KeychainFailure) in
            try session.attributes(of: query(Self.aliases, alias)).items
        }
        if let version = known?.first?.version {
            transfer.changes = [.init(version, to: named, value: nil)]
        } else {
            try checkAliasCount()
            transfer.additions.append(Addition(named, value: nil))
        }
        try session.perform(transfer)
    }

    private func item(_ service: String, _ account: String, _ label: String) -> NewItem {
        var attributes = query(service, account).attributes
        attributes[.label] = .text(label)
        return NewItem(
            .genericPassword, attributes: attributes, accessGroup: DesktopItem.group,
            protectionClass: .afterFirstUnlock)
    }

    /// - Throws: `timedOut` if a quick call would read many collections, or aliases.
    private func checkQuick(_ service: String) throws(KeychainFailure) {
        guard isQuick else { return }
        let areFew = try session.store.areFew(
            query(service), for: session.caller, count: Holdings.quickCount,
            byteCount: Holdings.quickByteCount)
        if !areFew { throw KeychainFailure(.timedOut, during: "list many collections") }
    }

    private func checkAliasCount() throws(KeychainFailure) {
        let mayAdd = try session.store.areFew(
            query(Self.aliases), for: session.caller, count: Self.maximalCount - 1,
            byteCount: .max)
        if !mayAdd { throw Self.tooMany }
    }

    private static let tooMany = KeychainFailure(
        .invalidRequest, during: "store a collection",
        message: "there are \(maximalCount) collections or aliases already")

    private static let tooLong = KeychainFailure(
        .invalidRequest, during: "store a collection", message: DesktopItem.limits)

    /// A text as an element of an object path: all but ASCII letters and digits become underscores.
    static func plain(_ text: String) -> String {
        // To find the characters of any text may take quadratic time.
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { isPlain($0) ? $0 : "_" }))
    }

    private static func isPlain(_ letter: Unicode.Scalar) -> Bool {
        switch letter {
        case "a"..."z", "A"..."Z", "0"..."9": true
        default: false
        }
    }

    func setLabel(_ label: String, of name: String) throws(KeychainFailure) {
        try put(Self.collections, name, label: label)
    }

    /// Deletes a collection with its items and aliases, in one step. Of the one that is always
    /// there only the items and the label go.
    func delete(_ name: String) throws(KeychainFailure) {
        var aliases = query(Self.aliases)
        aliases.attributes[.label] = .text(name)
        let items = KeychainItems(session, collection: name).query
        try session.delete(allOf: [items, aliases, query(Self.collections, name)])
    }

    /// The collection that an alias names; nil for none. Before the first unlock, when no alias can
    /// be read, `default` and `login` name the collection that is always there.
    func target(ofAlias alias: String) throws(KeychainFailure) -> String? {
        if alias.hasSameBytes(as: Self.session) { return Self.session }
        let target = try unlessLocked { () throws(KeychainFailure) in
            try session.attributes(of: query(Self.aliases, alias)).items.first
        }??.attributes[.label]?.text
        if let target, try record(of: target) != nil { return target }
        return ["default", Self.login].contains(where: alias.hasSameBytes) ? Self.login : nil
    }

    /// All aliases that can be part of an object path.
    func aliases() throws(KeychainFailure) -> [String] {
        let found = try unlessLocked { () throws(KeychainFailure) in
            try checkQuick(Self.aliases)
            return try session.attributes(of: query(Self.aliases)).itemsReportingDamage()
        }
        let plain = (found ?? []).compactMap { $0.attributes[.account]?.text }
            .filter { !$0.isEmpty && Self.plain($0).hasSameBytes(as: $0) }
        let names = Set(plain).union(["default", Self.login])
        var known: [String] = []
        for name in names.sorted() {
            if try target(ofAlias: name) != nil { known.append(name) }
        }
        return known
    }

    func setAlias(_ alias: String, to name: String?) throws(KeychainFailure) {
        if let name {
            let isNew = try !session.exists(query(Self.aliases, alias))
            if isNew { try checkAliasCount() }
            return try put(Self.aliases, alias, label: name)
        }
        _ = try existing { () throws(KeychainFailure) in
            try session.delete(query(Self.aliases, alias))
        }
    }
}
