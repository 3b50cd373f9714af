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
        DesktopItem.collection(ofService: service).map { path(of: item, in: $0) }
    }

    private static func path(of item: StoredItem, in collection: String) -> ItemPath {
        ItemPath(collection: collection, id: Hexadecimal.text(item.reference.itemID))
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

    func ids(having attributes: [LookupName: String]?) throws(KeychainFailure) -> [String] {
        guard let attributes, !attributes.isEmpty else {
            // A list of all may be short of damaged items. A search may not: a program that finds
            // nothing stores a new item.
            let found = try unlessLocked { () throws(KeychainFailure) in
                try references(query).itemsReportingDamage()
            }
            return (found ?? []).map { Hexadecimal.text($0.itemID) }
        }
        guard try isLocked() else {
            return try opened(query, having: attributes).map {
                Hexadecimal.text($0.reference.itemID)
            }
        }
        return try closed(attributes).map { Hexadecimal.text($0.itemID) }
    }

    private func references(
        _ query: ItemQuery, lookupCount: Int? = nil
    ) throws(KeychainFailure) -> FoundItems<PersistentReference> {
        // More than anybody looks at one by one.
        let limit = 100_000
        try checkQuick(query)
        return try session.store.references(
            query, for: session.caller, lookupCount: lookupCount, limit: limit)
    }

    /// The items with these attributes, as far as a locked keychain shows. It does not show which
    /// items have no schema: of these, a search with the general one finds those whose other
    /// attributes it names all.
    private func closed(
        _ attributes: [LookupName: String]
    ) throws(KeychainFailure) -> [PersistentReference] {
        var query = query
        guard let lookup = LookupAttributes(attributes) else { return [] }
        query.attributes[.lookupAttributes] = lookup.attributeValue
        let found = try references(query).items
        guard attributes.haveGeneralSchema else { return found }
        let others = attributes.withoutGeneralSchema
        query.attributes[.lookupAttributes] = DesktopItem.lookupValue(others)
        return try found + references(query, lookupCount: others.count).items
    }

    /// The paths of the items with these attributes in all collections of the keychain. There must
    /// be at least one attribute.
    ///
    /// - Throws: `locked`; `damaged` if a damaged item may have these attributes.
    func paths(having attributes: [LookupName: String]) throws(KeychainFailure) -> [ItemPath] {
        let query = ItemQuery(.genericPassword, accessGroup: DesktopItem.group)
        // Thousands of items have the same few services.
        var collections: [String: String?] = [:]
        return try opened(query, having: attributes).compactMap { item in
            guard let service = item.attributes[.service]?.text else { return nil }
            let collection =
                collections[service] ?? DesktopItem.collection(ofService: service)
            collections[service] = .some(collection)
            return collection.map { Self.path(of: item, in: $0) }
        }
    }

    /// The items that match `query` and have these attributes, with the same schema first: a
    /// program that takes one item takes the first.
    private func opened(
        _ query: ItemQuery, having wanted: [LookupName: String]
    ) throws(KeychainFailure) -> [StoredItem] {
        var query = query
        guard LookupAttributes(wanted) != nil else { return [] }
        let searched = wanted.withoutGeneralSchema
        if !searched.isEmpty {
            query.attributes[.lookupAttributes] = DesktopItem.lookupValue(searched)
        }
        let found = try opened(query)
        guard wanted.haveGeneralSchema else { return found }
        let lookups = found.map { DesktopItem.lookup($0.attributes) }
        let matches = zip(found, lookups).filter { $0.1.areFound(by: wanted) }
        let (same, others) = (
            matches.filter(\.1.haveGeneralSchema), matches.filter { !$0.1.haveGeneralSchema }
        )
        return (same + others).map(\.0)
    }

    private func opened(_ query: ItemQuery) throws(KeychainFailure) -> [StoredItem] {
        try checkQuick(query)
        let found = try existing { () throws(KeychainFailure) in
            try session.attributes(of: query).items
        }
        return found ?? []
    }

    /// - Throws: `timedOut` if a quick call would look at many items, or at large ones.
    private func checkQuick(_ query: ItemQuery) throws(KeychainFailure) {
        guard isQuick else { return }
        let areFew = try session.store.areFew(
            query, for: session.caller, count: Holdings.quickCount,
            byteCount: Holdings.quickByteCount)
        if !areFew { throw KeychainFailure(.timedOut, during: "look at many items") }
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
        guard let query = query(id) else { return nil }
        try checkQuick(query)
        return try session.item(query).map(SecretRecord.init)
    }

    func secret(
        of id: String
    ) throws(KeychainFailure) -> (value: SecretValue, contentType: String)? {
        guard let query = query(id) else {
            guard PostponedSearch(id: id) == nil else {
                throw KeychainFailure(.locked, during: "read a secret")
            }
            return nil
        }
        try checkQuick(query)
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

    static let tooMany = KeychainFailure(
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

/// The result of `body`; nil if it finds no item, and before the first unlock, when neither items
/// nor collections can be found.
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
