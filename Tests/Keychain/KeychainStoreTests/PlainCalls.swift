// SPDX-License-Identifier: Apache-2.0

import ValetKeychainModel
import ValetSealing

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

// The store's calls for tests in which no user is asked: what needs the user is a failure.

extension ItemStore {
    /// What was found.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound`, `interactionNotAllowed`.
    func get<Found>(_ result: ItemResult<Found>) throws(KeychainFailure) -> Found {
        switch result {
        case .found(let found): return found
        case .absent: throw keychain.notFound("test")
        case .needsPerson: throw KeychainFailure(.interactionNotAllowed, during: "test")
        }
    }

    func copy(
        _ query: ItemQuery, _ parts: ItemParts, for caller: Caller
    ) throws(KeychainFailure) -> FoundItems<StoredItem> {
        try get(copy(query, parts, for: caller, PresenceAccess(.demanding)))
    }

    func contains(_ query: ItemQuery, for caller: Caller) throws(KeychainFailure) -> Bool {
        try get(contains(query, for: caller, enrolment: .unknown))
    }

    func contains(_ name: PasswordName, for caller: Caller) throws(KeychainFailure) -> Bool {
        try get(contains(name, for: caller, enrolment: .unknown))
    }

    func value(
        of query: ItemQuery, for caller: Caller
    ) throws(KeychainFailure) -> SecretValue? {
        try get(value(of: query, for: caller, PresenceAccess(.demanding)))
    }

    func value(
        of name: PasswordName, for caller: Caller
    ) throws(KeychainFailure) -> SecretValue? {
        try get(value(of: name, for: caller, PresenceAccess(.demanding)))
    }

    /// Reads by name as a session does: the fast path, and else a search.
    func value(
        of name: PasswordName, for caller: Caller, _ access: PresenceAccess
    ) throws(KeychainFailure) -> ItemResult<SecretValue?> {
        let found = try lookUp(name, for: caller, access.proof)
        if case .found = found { return found }
        return try value(of: name.query, for: caller, access)
    }

    func update(
        _ query: ItemQuery, _ changes: ItemChanges, value: SecretValue?, for caller: Caller
    ) throws(KeychainFailure) -> Int {
        let update = ItemUpdate(query: query, changes: changes, value: value)
        return try get(self.update(update, for: caller, PresenceAccess(.demanding)))
    }

    @discardableResult
    func add(_ addition: Addition, for caller: Caller) throws(KeychainFailure) -> StoredItem {
        switch try add(addition, for: caller, PresenceAccess(.naming)) {
        case .found(let item): return item
        case .absent: throw KeychainFailure(.internalFault, during: "test")
        case .needsPerson(.newPassword):
            throw KeychainFailure(PresenceDemand.newPassword, during: "test")
        case .needsPerson: throw KeychainFailure(.duplicateItem, during: "test")
        }
    }
}

extension FoundItems {
    /// The items that can be read, beside the damage that the search met.
    var parts: (items: [Item], damage: KeychainFailure?) {
        var damage: KeychainFailure?
        return (readable(noting: &damage), damage)
    }
}
