// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore
internal import ValetSealing

/// A search before the first unlock, when the keychain cannot read by which names it finds items.
/// It is answered with one locked item, which stands for the first one that the search will find:
/// its id holds the search, so that the service need not remember it.
struct PostponedSearch: Sendable {
    let attributes: [LookupName: String]
    /// Whether it looks into all collections, not only into that of its path.
    let isEverywhere: Bool

    private static let (here, everywhere) = ("search_", "searchall_")
    /// Together with the rest of a path less than sd-bus allows for one, 64 KiB.
    private static let maximalByteCount = 16 << 10

    init(_ attributes: [LookupName: String], isEverywhere: Bool) {
        (self.attributes, self.isEverywhere) = (attributes, isEverywhere)
    }

    /// nil for the id of an item.
    init?(id: String) {
        guard let prefix = [Self.here, Self.everywhere].first(where: id.hasPrefix),
            let bytes = Hexadecimal.bytes(String(id.dropFirst(prefix.count))),
            let attributes = LookupAttributes(.bytes(bytes))
        else { return nil }
        self.init(attributes.values, isEverywhere: prefix == Self.everywhere)
    }

    /// - Throws: `locked` for attributes that do not fit into a path.
    func id() throws(KeychainFailure) -> String {
        guard case .bytes(let bytes)? = LookupAttributes(attributes)?.attributeValue,
            bytes.count <= Self.maximalByteCount
        else { throw KeychainFailure(.locked, during: "look for items") }
        return (isEverywhere ? Self.everywhere : Self.here) + Hexadecimal.text(bytes)
    }
}

extension Holdings {
    /// The item that a path means; the path itself if it is one, and before the first unlock.
    func actual(_ item: ItemPath) throws(KeychainFailure) -> ItemPath {
        try checkTime()
        guard let search = PostponedSearch(id: item.id), try !isBeforeFirstUnlock() else {
            return item
        }
        // Each of the paths of a call may be a search.
        try checkQuick(.max)
        if search.isEverywhere {
            let found = try self.search(search.attributes)
            guard let path = (found.unlocked + found.locked).first,
                case .item(let item)? = ObjectPath(path)
            else { throw Self.noSuchObject }
            return item
        }
        let found = try items(existing: item.collection).ids(having: search.attributes)
        guard let id = found.first else { throw Self.noSuchObject }
        return ItemPath(collection: item.collection, id: id)
    }

    /// The path of the locked item that stands for what a search will find.
    func postponed(
        _ attributes: [LookupName: String], in collection: String? = nil
    ) throws(KeychainFailure) -> ItemPath {
        let search = PostponedSearch(attributes, isEverywhere: collection == nil)
        return ItemPath(collection: collection ?? CollectionList.login, id: try search.id())
    }

    /// The items of one collection that have these attributes.
    func search(
        _ attributes: [LookupName: String], in collection: String
    ) throws(KeychainFailure) -> [ItemPath] {
        let items = try items(existing: collection)
        do {
            return try items.ids(having: attributes).map {
                ItemPath(collection: collection, id: $0)
            }
        } catch {
            guard error.code == .locked, try isBeforeFirstUnlock() else { throw error }
            return [try postponed(attributes, in: collection)]
        }
    }

    /// Whether the keychain cannot even read which collections and items it has.
    func isBeforeFirstUnlock() throws(KeychainFailure) -> Bool {
        try list.session.store.keychain.availability().state == .beforeFirstUnlock
    }
}
