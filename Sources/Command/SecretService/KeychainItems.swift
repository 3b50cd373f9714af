// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing
internal import ValetSystem

/// The items of a collection that is kept in the keychain: docs/SECRET-SERVICE.md, "In the
/// keychain".
struct KeychainItems: SecretItems {
    let session: KeychainSession
    /// The service of its items.
    private let service: String

    /// Whether a search fails, with `timedOut`, if it finds more than ``Holdings/quickCount``.
    private let isQuick: Bool

    init(_ session: KeychainSession, collection: String, isQuick: Bool = false) {
        self.session = session
        service = DesktopItem.service(ofCollection: collection)
        self.isQuick = isQuick
    }

    /// The path of an item with that service; nil if it is in no collection.
    static func path(of item: StoredItem, service: String) -> ItemPath? {
        DesktopItem.collection(ofService: service).map { collection in
            ItemPath(collection: collection, id: Hexadecimal.text(item.reference.itemID))
        }
    }

    var query: ItemQuery {
        ItemQuery(
            .genericPassword, attributes: [.service: .text(service)], accessGroup: DesktopItem.group
        )
    }

    /// nil if `id` is malformed.
    private func query(_ id: String) -> ItemQuery? {
        guard let reference = Self.reference(id) else { return nil }
        var query = ItemQuery(reference)
        (query.accessGroup, query.attributes) = (DesktopItem.group, [.service: .text(service)])
        return query
    }

    /// nil if `id` is malformed.
    static func reference(_ id: String) -> PersistentReference? {
        guard let bytes = Hexadecimal.bytes(id), bytes.count == 16 else { return nil }
        return PersistentReference(itemClass: .genericPassword, itemID: bytes)
    }

    func isLocked() throws(KeychainFailure) -> Bool { try session.isLocked() }

    func ids(having attributes: [String: String]?) throws(KeychainFailure) -> [String] {
        var query = query
        // More than anybody looks at one by one.
        let limit = 100_000
        if let attributes, !attributes.isEmpty {
            guard let lookup = LookupAttributes(attributes) else { return [] }
            query.attributes[.lookupAttributes] = lookup.attributeValue
            let isLocked = try isLocked()
            if !isLocked { return try opened(query).map { Hexadecimal.text($0.reference.itemID) } }
        }
        // A program that searches may store a new item if there is none. All items are a list.
        guard query.attributes[.lookupAttributes] == nil else {
            return try references(query, limit).items.map { Hexadecimal.text($0.itemID) }
        }
        let found = try unlessLocked { () throws(KeychainFailure) in
            try references(query, limit).itemsReportingDamage()
        }
        return (found ?? []).map { Hexadecimal.text($0.itemID) }
    }

    private func references(
        _ query: ItemQuery, _ limit: Int
    ) throws(KeychainFailure) -> FoundItems<PersistentReference> {
        try session.store.references(query, for: session.caller, limit: limit)
    }

    /// The paths of the items with these attributes in all collections of the keychain. There must
    /// be at least one attribute.
    ///
    /// - Throws: `locked`; `damaged` if a damaged item may have these attributes.
    func paths(having attributes: [String: String]) throws(KeychainFailure) -> [ItemPath] {
        guard let lookup = LookupAttributes(attributes) else { return [] }
        let query = ItemQuery(
            .genericPassword, attributes: [.lookupAttributes: lookup.attributeValue],
            accessGroup: DesktopItem.group)
        return try opened(query).compactMap { item in
            item.attributes[.service]?.text.flatMap { Self.path(of: item, service: $0) }
        }
    }

    private func opened(_ query: ItemQuery) throws(KeychainFailure) -> [StoredItem] {
        var query = query
        if isQuick { query.limit = Holdings.quickCount + 1 }
        let found = try existing { () throws(KeychainFailure) in
            try session.attributes(of: query).items
        }
        if let limit = query.limit, found?.count == limit {
            throw KeychainFailure(.timedOut, during: "look at many items")
        }
        return found ?? []
    }

    /// Before the first unlock, when no item can be found, there may be one of any id.
    func exists(_ id: String) throws(KeychainFailure) -> Bool {
        // No item has the id of a search.
        guard PostponedSearch(id: id) == nil else { return true }
        do {
            return try session.exists(query(id))
        } catch {
            guard error.code == .locked else { throw error }
            return true
        }
    }

    func record(of id: String) throws(KeychainFailure) -> SecretRecord? {
        try session.item(query(id)).map(SecretRecord.init)
    }

    func secret(
        of id: String
    ) throws(KeychainFailure) -> (value: SecretValue, contentType: String)? {
        guard let query = query(id) else { return nil }
        let found = try existing { () throws(KeychainFailure) in
            try session.copy(query, [.attributes, .value]).items
        }
        guard let item = found?.first else { return nil }
        return (
            item.value ?? SecretValue(SecretBytes(byteCount: 0)), SecretRecord(item).contentType
        )
    }

    func store(
        _ record: SecretRecord, _ value: SecretValue, replacing isReplacing: Bool
    ) throws(KeychainFailure) -> (id: String, wasThere: Bool) {
        let known = DesktopItem.attributes(
            record.attributes, label: record.label, contentType: record.contentType,
            service: service)
        guard var attributes = known else { throw Self.tooMany }
        attributes[.account] = .text(DesktopItem.newAccount())
        let item = NewItem(
            .genericPassword, attributes: attributes, accessGroup: DesktopItem.group)
        guard isReplacing else {
            return (Hexadecimal.text(try session.add(item, value: value).reference.itemID), false)
        }
        let stored = try session.replaceByLookup(item, value: value)
        return (Hexadecimal.text(stored.reference.itemID), stored.wasThere)
    }

    func change(_ id: String, _ change: SecretChange) throws(KeychainFailure) -> Bool {
        guard let query = query(id) else { return false }
        var changes = ItemChanges()
        guard
            [change.label, change.secret?.contentType].compactMap(\.self)
                .allSatisfy(DesktopItem.isLabel)
        else { throw Self.tooMany }
        if let label = change.label { changes.attributes[.label] = .text(label) }
        if let attributes = change.attributes {
            guard let lookup = LookupAttributes(attributes) else { throw Self.tooMany }
            changes.attributes[.lookupAttributes] = lookup.attributeValue
        }
        if let type = change.secret?.contentType { changes.attributes[.generic] = .text(type) }
        let count = try existing { () throws(KeychainFailure) in
            try session.update(query, changes, value: change.secret?.value)
        }
        return count != nil
    }

    func delete(_ id: String) throws(KeychainFailure) -> Bool {
        guard let query = query(id) else { return false }
        return try existing { () throws(KeychainFailure) in try session.delete(query) } != nil
    }

    private static let tooMany = KeychainFailure(
        .invalidRequest, during: "store a secret", message: DesktopItem.limits)
}

extension LockState {
    /// Whether a passcode has to open items.
    var isLocked: Bool { self == .locked || self == .beforeFirstUnlock }
}

extension KeychainSession {
    func isLocked() throws(KeychainFailure) -> Bool {
        try store.keychain.availability().state.isLocked
    }

    /// Whether `query` finds an item, also in a locked keychain. A nil query finds none.
    func exists(_ query: ItemQuery?) throws(KeychainFailure) -> Bool {
        guard let query else { return false }
        return try store.references(query, for: caller, limit: 1).hasItem()
    }

    /// An item without its value; nil for one that is gone.
    func item(_ query: ItemQuery?) throws(KeychainFailure) -> StoredItem? {
        guard let query else { return nil }
        return try existing { () throws(KeychainFailure) in
            try attributes(of: query).items
        }?.first
    }
}

/// The result of `body`; nil if it finds no item.
func existing<R>(_ body: () throws(KeychainFailure) -> R) throws(KeychainFailure) -> R? {
    do {
        return try body()
    } catch {
        guard error.code == .itemNotFound else { throw error }
        return nil
    }
}

/// The result of `body`; nil if it finds no item, and before the first unlock, when neither items nor
/// collections can be found.
func unlessLocked<R>(_ body: () throws(KeychainFailure) -> R) throws(KeychainFailure) -> R? {
    do {
        return try existing(body)
    } catch {
        guard error.code == .locked else { throw error }
        return nil
    }
}

extension SecretRecord {
    init(_ item: StoredItem) {
        self.init(
            label: item.attributes[.label]?.text ?? "",
            attributes: DesktopItem.lookup(item.attributes),
            contentType: item.attributes[.generic]?.text ?? DesktopItem.usualContentType,
            created: Self.seconds(item.attributes[.creationDate]),
            modified: Self.seconds(item.attributes[.modificationDate]))
    }

    /// Seconds since 1970.
    static func seconds(_ date: AttributeValue?) -> UInt64 {
        let secondsTo2001 = 978_307_200.0
        guard case .date(let seconds)? = date, seconds > -secondsTo2001, seconds < 1e12 else {
            return 0
        }
        return UInt64(seconds + secondsTo2001)
    }
}
