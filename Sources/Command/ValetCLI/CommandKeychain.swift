// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainServices
internal import ValetKeychainStore

/// The keychain as one application sees it. A verb that finds it locked unlocks it:
/// ``CommandUnlocking``.
struct CommandKeychain {
    var session: KeychainSession
    let unlocking: CommandUnlocking

    var applicationIdentifier: String { session.caller.applicationIdentifier }

    /// Makes a request of ``session``. If the keychain is locked, unlocks it and asks again.
    func attempt<R>(
        _ request: @autoclosure () throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        try unlocking.run(request)
    }

    /// The matching items, with all their attributes: for queries that match few. Finding none is
    /// no error.
    ///
    /// - Throws: `damaged` if a damaged item may match.
    func items(_ query: ItemQuery) throws(KeychainFailure) -> [StoredItem] {
        try found(query)?.items ?? []
    }

    /// Whether an item matches.
    ///
    /// - Throws: `damaged` if nothing but damaged items matches.
    func contains(_ query: ItemQuery) throws(KeychainFailure) -> Bool {
        try found(query)?.hasItem() ?? false
    }

    private func found(_ query: ItemQuery) throws(KeychainFailure) -> FoundItems<StoredItem>? {
        do {
            return try attempt(session.attributes(of: query))
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return nil
        }
    }

    /// ``items(_:)`` of several queries.
    func items(_ queries: [ItemQuery]) throws(KeychainFailure) -> [StoredItem] {
        var items: [StoredItem] = []
        for query in queries { items += try self.items(query) }
        return items
    }

    /// Passes the items that match to `body`, without their values, until it returns false. Leaves
    /// out canaries, which are no secrets. Finding none is no error.
    ///
    /// - Parameter query: nil for the items of every application.
    /// - Returns: Why the search has left items out; nil if it has not.
    func forEachItem(
        _ query: ItemQuery?, _ body: (ListedItem) -> Bool
    ) throws(KeychainFailure) -> KeychainFailure? {
        var walk = try attempt(walk(query))
        var omission: KeychainFailure?
        while !walk.isAtEnd {
            let found = try attempt(next(of: &walk, query)).readable(noting: &omission)
            for item in found.map(ListedItem.init) where !item.isCanary {
                guard body(item) else { return omission }
            }
        }
        return omission
    }

    private func walk(_ query: ItemQuery?) throws(KeychainFailure) -> ItemWalk {
        guard let query else { return try session.store.walkEverything() }
        return try session.walk(query)
    }

    private func next(
        of walk: inout ItemWalk, _ query: ItemQuery?
    ) throws(KeychainFailure) -> FoundItems<StoredItem> {
        guard let query else { return try session.store.next(of: &walk) }
        return try session.next(of: &walk, query)
    }
}

extension StoredItem {
    /// The account, as `list` shows it.
    var name: String { ListedItem.text(attributes[.account]) }
    /// The valet, service or server.
    var owner: ItemOwner { ItemOwner(itemClass, attributes, in: accessGroup) }
}

extension KeychainStatus {
    /// Whether each process keeps its own opened keys.
    var isUnlockedByProcess: Bool { lockStateProvider == "process" }
}
