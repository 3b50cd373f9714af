// SPDX-License-Identifier: Apache-2.0

internal import Database
package import KeychainModel
package import SecretMemory

/// What a search found.
package struct FoundItems: Sendable {
    /// What could be opened, in the order of ``ItemStore/copy(_:_:for:)``.
    package var items: [StoredItem] = []
    /// Set when rows that matched are damaged; they are not among the items.
    package var damage: KeychainFailure?
}

extension ItemStore {
    private static let copying = "read items"
    private static let reading = "read an item"

    /// The items that match: at least one, at most the query's limit.
    ///
    /// They come group by group, in the order of the caller's groups; in each in the order of
    /// adding. Where the query names all of a primary key, the local item comes before the
    /// synchronized one, and each before those that have a view hint or a token, too.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if none matches, `damaged` if nothing but
    ///   damaged items does, `missingEntitlement`.
    package func copy(
        _ query: ItemQuery, _ parts: ItemParts, for caller: Caller
    ) throws(KeychainFailure) -> FoundItems {
        let groups = try caller.groups(searching: query.accessGroup, during: Self.copying)
        let found = try reading(Self.copying) { (engine, deadline) throws(KeychainFailure) in
            let (rows, state) = try engine.rows(query, groups, Self.copying, deadline)
            let found = try translating(Self.copying) {
                try RowOpener(query: query, parts: parts, state: state).open(rows)
            }
            engine.renewIfUsed(state.facts, deadline)
            return found
        }
        guard let found, !found.items.isEmpty else {
            throw found?.damage ?? KeychainFailure(.itemNotFound, during: Self.copying)
        }
        return found
    }

    /// Whether an item matches; opens nothing that it need not open.
    package func contains(
        _ query: ItemQuery, for caller: Caller
    ) throws(KeychainFailure) -> Bool {
        var query = query
        query.limit = 1
        do throws(KeychainFailure) {
            return try !copy(query, [], for: caller).items.isEmpty
        } catch {
            if error.code == .itemNotFound { return false }
            throw error
        }
    }

    /// The value of the first item that matches.
    ///
    /// - Returns: nil for an item without a value.
    /// - Throws: As ``copy(_:_:for:)``.
    package func value(
        of query: ItemQuery, for caller: Caller
    ) throws(KeychainFailure) -> SecretValue? {
        var query = query
        query.limit = 1
        return try copy(query, .value, for: caller).items.first?.value
    }

    /// The value of the item of that name: the fast path, one statement and one opening.
    ///
    /// - Returns: nil for an item without a value.
    /// - Throws: As ``copy(_:_:for:)``.
    package func value(
        of name: PasswordName, for caller: Caller
    ) throws(KeychainFailure) -> SecretValue? {
        if let found = try find(name, opening: true, caller) { return found.value }
        // There may be one with a view hint or a token.
        return try value(of: name.query, for: caller)
    }

    /// Whether there is an item of that name; opens nothing.
    package func contains(
        _ name: PasswordName, for caller: Caller
    ) throws(KeychainFailure) -> Bool {
        if try find(name, opening: false, caller) != nil { return true }
        return try contains(name.query, for: caller)
    }

    private func find(
        _ name: PasswordName, opening: Bool, _ caller: Caller
    ) throws(KeychainFailure) -> FoundValue? {
        let found: FoundValue?? = try reading(Self.reading) {
            (engine, deadline) throws(KeychainFailure) -> FoundValue? in
            let groups =
                name.service.accessGroup == nil
                ? caller.accessGroups
                : try caller.groups(searching: name.service.accessGroup, during: Self.reading)
            for group in groups {
                let found = try engine.value(name, group, opening: opening, deadline)
                if let found { return found }
            }
            return nil
        }
        return found.flatMap { $0 }
    }
}

extension Engine {
    /// All rows that match, before anything is opened, with the keys that open them.
    fileprivate func rows(
        _ query: ItemQuery, _ groups: [AccessGroup], _ operation: String, _ deadline: Deadline
    ) throws(KeychainFailure) -> (rows: [FoundRow], state: KeychainState) {
        try read(operation, deadline) { (store, state) throws(KeychainFailure) in
            try translating(operation) {
                (try state.find(query, groups, store), state)
            }
        }
    }
}
