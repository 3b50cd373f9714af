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
    func items(_ query: ItemQuery) throws(KeychainFailure) -> [StoredItem] {
        do {
            return try attempt(session.attributes(of: query)).items
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return []
        }
    }

    /// All items that match, with all their attributes. Finding none is no error.
    ///
    /// - Throws: Also if one of them is damaged.
    func allItems(_ queries: [ItemQuery]) throws(CLIError) -> [StoredItem] {
        var items: [StoredItem] = []
        for query in queries {
            do throws(KeychainFailure) {
                let found = try attempt(session.attributes(of: query))
                if let damage = found.damage { throw damage }
                items += found.items
            } catch {
                guard error.code == .itemNotFound else { throw CLIError(error) }
            }
        }
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
            let found = try attempt(next(of: &walk, query))
            omission = omission ?? found.damage
            for item in found.items.map(ListedItem.init) where !item.isCanary {
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
