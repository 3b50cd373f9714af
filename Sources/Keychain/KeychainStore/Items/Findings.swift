// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSystem

// What several queries find at one moment. To a person, the valets of one application and
// identifier are one place, and each has a query of its own. Searched one after the other, they
// would miss an item that another program moves from one to the next, or find it twice.

/// What queries find at one moment: items without their values, and former values.
package struct Findings: Sendable {
    /// What each query finds, in the order of the queries.
    package let each: [FoundItems<StoredItem>]
    /// The former values, the last one first.
    package let former: [FormerItem]

    package init(each: [FoundItems<StoredItem>] = [], former: [FormerItem] = []) {
        (self.each, self.former) = (each, former)
    }

    fileprivate static func none(for queries: [ItemQuery]) -> Findings {
        Findings(each: queries.map { _ in FoundItems() })
    }

    /// What all queries find.
    package var items: FoundItems<StoredItem> { FoundItems(joining: each) }
}

extension ItemStore {
    private static let finding = "look for items"

    /// What `queries` find, and the former values of the items that `described` describes. Opens
    /// no value, and does not ask the user.
    ///
    /// - Parameter enrolment: The fingers that are enrolled: an item that is bound to others is
    ///   left out. If it is unknown, the result may be a demand to find out.
    /// - Throws: ``KeychainFailure``: `locked` if one of them is locked, `missingEntitlement`.
    package func find(
        _ queries: [ItemQuery], former described: [ItemQuery] = [], for caller: Caller,
        enrolment: PresenceAccess.Enrolment = .known([])
    ) throws(KeychainFailure) -> ItemResult<Findings> {
        let groups = try queries.map { (query) throws(KeychainFailure) in
            try caller.groups(searching: query.accessGroup, during: Self.finding)
        }
        let formerGroups = try described.map { (query) throws(KeychainFailure) in
            try caller.groups(searching: query.accessGroup, during: Self.finding)
        }
        let found = try readRows(Self.finding) { (snapshot) throws(KeychainFailure) in
            let (state, store) = (snapshot.state, snapshot.store)
            return try translating(Self.finding) { () throws(SystemError) in
                let former = try state.former(Array(zip(described, formerGroups)), store)
                let rows = try zip(queries, groups).map { (search) throws(SystemError) in
                    (query: search.0, found: try state.find(search.0, search.1, store))
                }
                snapshot.end()
                return try state.open(rows, enrolment).map { Findings(each: $0, former: former) }
            }
        }
        return found ?? .found(.none(for: queries))
    }

    /// The former values of the items that `queries` describe, the last one first.
    ///
    /// - Throws: ``KeychainFailure``: `locked` if one of them is locked, `missingEntitlement`.
    package func formerItems(
        _ queries: [ItemQuery], for caller: Caller
    ) throws(KeychainFailure) -> [FormerItem] {
        guard case .found(let found) = try find([], former: queries, for: caller) else { return [] }
        return found.former
    }

    /// Searches, and deletes what `choose` chooses of it for good: items with all their former
    /// values, and other former values. All in one transaction.
    ///
    /// - Returns: What was found.
    /// - Throws: As ``find(_:former:for:enrolment:)`` and ``purge(_:_:for:)``.
    package func purge(
        _ queries: [ItemQuery], former described: [ItemQuery], for caller: Caller,
        choosing choose: (Findings) -> (items: [StoredItem], former: [FormerItem])
    ) throws(KeychainFailure) -> Findings {
        let findings = try writeRows("remove items") { (rows) throws(KeychainFailure) in
            let transaction = ItemTransaction(rows, caller.purging)
            let findings = try transaction.find(queries, former: described)
            let chosen = choose(findings)
            try transaction.purge(chosen.items.map(\.version), chosen.former)
            return findings
        }
        return findings ?? .none(for: queries)
    }
}

extension ItemTransaction {
    /// As ``ItemStore/find(_:former:for:enrolment:)``, among the items that the caller may change.
    fileprivate func find(
        _ queries: [ItemQuery], former described: [ItemQuery]
    ) throws(KeychainFailure) -> Findings {
        let searches = try queries.map { (query) throws(KeychainFailure) in
            (query, try caller.groups(changing: query.accessGroup, during: operation))
        }
        let formerSearches = try described.map { (query) throws(KeychainFailure) in
            (query, try caller.groups(changing: query.accessGroup, during: operation))
        }
        return try translating(operation) { () throws(SystemError) in
            let former = try state.former(formerSearches, rows.store)
            let found = try searches.map { (search) throws(SystemError) in
                (query: search.0, found: try state.find(search.0, search.1, rows.store))
            }
            guard case .found(let each) = try state.open(found, .known([])) else {
                throw .row(.needsPerson)
            }
            return Findings(each: each, former: former)
        }
    }
}

extension RowKeys {
    /// Opens what each query has found.
    fileprivate func open(
        _ rows: [(query: ItemQuery, found: [FoundRow])], _ enrolment: PresenceAccess.Enrolment
    ) throws(SystemError) -> ItemResult<[FoundItems<StoredItem>]> {
        let access = PresenceAccess(.naming, enrolment: enrolment)
        var (each, demands) = ([FoundItems<StoredItem>](), [PresenceDemand]())
        for row in rows {
            let opener = RowOpener(
                query: row.query, parts: .attributes, state: self, access: access)
            switch try opener.open(row.found) {
            case .found(let items): each.append(items)
            case .absent: each.append(FoundItems())
            case .needsPerson(let demand): demands.append(demand)
            }
        }
        return PresenceDemand(demands).map { .needsPerson($0) } ?? .found(each)
    }
}
