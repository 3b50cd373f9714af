// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSealing

// Items that programs find by lookup attributes: the Secret Service's.

extension ItemStore {
    /// Changes the item that has exactly the lookup attributes and the service of `addition`; adds
    /// an item if there is none. A changed item keeps its name, its reference and its date of
    /// creation, and gets the other attributes and the value of `addition`. The general schema and
    /// none are the same; an item that has it keeps it.
    ///
    /// - Returns: The item's reference, and whether the item was there before.
    /// - Throws: As ``add(_:for:_:)``, except `duplicateItem`; `locked`; `damaged` if a damaged
    ///   item may have these attributes.
    package func replaceByLookup(
        _ addition: Addition, for caller: Caller
    ) throws(KeychainFailure) -> (reference: PersistentReference, wasThere: Bool) {
        let operation = "store a secret"
        let stored = try shareWrite(
            operation, creating: true, byteCount: addition.byteCount
        ) { (rows) throws(KeychainFailure) in
            try ItemTransaction(rows, caller).replaceByLookup(addition)
        }
        guard let stored else { throw KeychainFailure(.internalFault, during: operation) }
        return stored
    }

    /// The references of the items that match by their hashes, at most `limit`. Opens no item, so
    /// it also works while the keychain is locked.
    ///
    /// - Parameter lookupCount: How many lookup attributes the items have; nil for any number.
    /// - Throws: `missingEntitlement`, and any failure of the keychain itself.
    package func references(
        _ query: ItemQuery, for caller: Caller, lookupCount: Int? = nil, limit: Int
    ) throws(KeychainFailure) -> FoundItems<PersistentReference> {
        let operation = "look for items"
        let groups = try caller.groups(searching: query.accessGroup, during: operation)
        let found = try readRows(operation) { (snapshot) throws(KeychainFailure) in
            try translating(
                snapshot.state.find(query, groups, snapshot.store), during: operation)
        }
        var (references, damage) = ([PersistentReference](), KeychainFailure?.none)
        for row in found ?? [] where references.count < limit {
            switch row {
            case .row(let row):
                guard lookupCount == nil || lookupCount == row.lookupCount else { continue }
                references.append(row.header.reference)
            case .damaged: damage = KeychainFailure(.row(.damagedColumn), during: operation)
            }
        }
        return FoundItems(references, damage: damage)
    }

    /// Whether at most `count` items match by their hashes, with at most `byteCount` bytes
    /// together. Reads no item.
    ///
    /// - Throws: As ``references(_:for:lookupCount:limit:)``.
    package func areFew(
        _ query: ItemQuery, for caller: Caller, count: Int, byteCount: Int
    ) throws(KeychainFailure) -> Bool {
        let operation = "look for items"
        let groups = try caller.groups(searching: query.accessGroup, during: operation)
        let areFew = try readRows(operation) { (snapshot) throws(KeychainFailure) in
            try translating(
                snapshot.state.areFew(
                    query, groups, snapshot.store, count: count, byteCount: byteCount),
                during: operation)
        }
        return areFew ?? true
    }
}

extension ItemTransaction {
    fileprivate func replaceByLookup(
        _ addition: Addition
    ) throws(KeychainFailure) -> (reference: PersistentReference, wasThere: Bool) {
        try check(byteCount: addition.byteCount)
        let item = addition.item
        guard let wanted = LookupAttributes(item.attributes[.lookupAttributes]),
            let searched = LookupAttributes(wanted.values.withoutGeneralSchema)
        else {
            throw KeychainFailure(.invalidRequest, during: operation)
        }
        var query = ItemQuery(item.itemClass, accessGroup: item.accessGroup)
        query.attributes[.service] = item.attributes[.service]
        query.attributes[.lookupAttributes] = searched.attributeValue
        let groups = try caller.groups(changing: query.accessGroup, during: operation)
        let found = try openMatches(query, groups).items.compactMap { match in
            LookupAttributes(match.content.attributes[.lookupAttributes]).map { (match, $0) }
        }
        let match =
            found.first { $0.1 == wanted }
            ?? found.first { $0.1.values.areSameItem(as: wanted.values) }
        if let (match, lookup) = match {
            var kept: [Attribute] = [.account, .service, .creationDate, .modificationDate]
            if lookup.values.haveGeneralSchema { kept.append(.lookupAttributes) }
            let changes = ItemChanges(
                attributes: item.attributes.filter { !kept.contains($0.key) })
            try update(match, changes, value: newValue(of: match, addition.value))
            return (match.row.header.reference, true)
        }
        guard case .found(let added) = try add(addition) else {
            throw KeychainFailure(.duplicateItem, during: operation)
        }
        return (added.reference, false)
    }
}
