// SPDX-License-Identifier: Apache-2.0

internal import Database
package import KeychainModel
package import SecretMemory

/// What a search found.
package struct FoundItems: Sendable {
    package var items: [StoredItem] = []
    /// Set when rows that matched are damaged; they are not among the items.
    package var damage: KeychainFailure?
}

extension ItemStore {
    private static let copying = "read items"
    private static let reading = "read an item"

    /// The items that match: at least one, at most the query's limit, in the order of adding.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if none matches, `damaged` if nothing but
    ///   damaged items does, `missingEntitlement`.
    package func copy(
        _ query: ItemQuery, _ parts: ItemParts, for caller: Caller
    ) throws(KeychainFailure) -> FoundItems {
        let groups = try caller.groups(searching: query.accessGroup, during: Self.copying)
        let found = try reading(Self.copying) { (engine, deadline) throws(KeychainFailure) in
            let (rows, state) = try engine.rows(query, groups, Self.copying, deadline)
            return RowOpener(query: query, parts: parts, state: state).open(rows)
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

    /// The value of the item that matches; of the first, if several do.
    ///
    /// A query that names the whole primary key takes the fast path: one statement, one opening.
    /// - Returns: nil for an item without a value.
    /// - Throws: As ``copy(_:_:for:)``.
    package func value(
        of query: ItemQuery, for caller: Caller
    ) throws(KeychainFailure) -> SecretValue? {
        guard query.isExact else {
            var query = query
            query.limit = 1
            return try copy(query, .value, for: caller).items.first?.value
        }
        let groups = try caller.groups(searching: query.accessGroup, during: Self.reading)
        let found: FoundValue?? = try reading(Self.reading) {
            (engine, deadline) throws(KeychainFailure) -> FoundValue? in
            for group in groups {
                let found = try engine.value(query, group, Self.reading, deadline)
                if let found { return found }
            }
            return nil as FoundValue?
        }
        guard let found = found.flatMap({ $0 }) else {
            throw KeychainFailure(.itemNotFound, during: Self.reading)
        }
        return found.value
    }
}

extension ItemQuery {
    /// Whether the query is nothing but one primary key.
    var isExact: Bool {
        reference == nil && hostOrSubdomainOfHost == nil && synchronizable != .any
            && namesPrimaryKey && attributes.count == itemClass.settableKeyAttributeCount
    }
}

extension ItemClass {
    /// How many attributes of the primary key a caller can set.
    var settableKeyAttributeCount: Int {
        switch self {
        case .genericPassword: 2
        case .internetPassword: 7
        }
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
