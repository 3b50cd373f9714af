// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainStore
internal import ValetSealing

/// The former values of a person's secrets, which the `valet` command keeps. No library sees them.
extension KeychainSession {
    /// The former values of the items that `queries` describe, the last one first.
    package func formerItems(_ queries: [ItemQuery]) throws(KeychainFailure) -> [FormerItem] {
        guard let first = queries.first else { return [] }
        return try asking(.copy(first, readsValues: false)) { () throws(KeychainFailure) in
            try store.formerItems(queries, for: caller)
        }
    }

    /// What `queries` find, without values, and the former values of the items that `described`
    /// describes: all of one moment. Finding none is no error. Does not ask the user.
    package func find(
        _ queries: [ItemQuery], former described: [ItemQuery] = []
    ) throws(KeychainFailure) -> Findings {
        guard let first = queries.first else { return Findings() }
        return try asking(.copy(first, readsValues: false)) { () throws(KeychainFailure) in
            // A list shows items whether or not their fingers are still enrolled.
            switch try store.find(queries, former: described, for: caller, enrolment: .known([])) {
            case .found(let found): return found
            case .absent, .needsPerson: throw KeychainFailure(.internalFault, during: "list items")
            }
        }
    }

    /// The value of one of the ``formerItems(_:)``; nil for an item that had none.
    package func formerValue(_ item: FormerItem) throws(KeychainFailure) -> ItemValue? {
        try asking(.transfer([])) { () throws(KeychainFailure) in try store.formerValue(item) }
    }

    /// Puts one of the ``formerItems(_:)`` back. What it replaces becomes a former value.
    ///
    /// - Parameter present: The item that gets the value; nil if there is none.
    package func restore(
        _ item: FormerItem, over present: ItemVersion? = nil
    ) throws(KeychainFailure) {
        try asking(.transfer([])) { () throws(KeychainFailure) in
            try store.restore([item], over: present, for: caller)
        }
    }

    /// Brings removed ``formerItems(_:)`` back, all or none.
    package func restore(_ items: [FormerItem]) throws(KeychainFailure) {
        try asking(.transfer([])) { () throws(KeychainFailure) in
            try store.restore(items, for: caller)
        }
    }

    /// Searches, and deletes what `choose` chooses of it for good, all in one step: items with
    /// their former values, and other former values. Returns what was found.
    package func purge(
        _ queries: [ItemQuery], former described: [ItemQuery],
        choosing choose: (Findings) -> (items: [StoredItem], former: [FormerItem])
    ) throws(KeychainFailure) -> Findings {
        try asking(.transfer([])) { () throws(KeychainFailure) in
            try store.purge(queries, former: described, for: caller, choosing: choose)
        }
    }

    /// Deletes items and former values for good: all or none.
    ///
    /// - Throws: `itemNotFound` if an item is gone or has changed; `duplicateItem` if one that is
    ///   not among them has one of these former values.
    package func purge(
        _ items: [StoredItem], _ former: [FormerItem]
    ) throws(KeychainFailure) {
        try asking(.transfer([])) { () throws(KeychainFailure) in
            try store.purge(items.map(\.version), former, for: caller)
        }
    }

    /// Deletes the items that match one of the queries: all or none, unless more than 1,000 match
    /// one of them. Returns how many items they were.
    ///
    /// - Parameter isPurging: Whether to delete also all former values that the queries describe.
    package func delete(
        _ queries: [ItemQuery], purging isPurging: Bool
    ) throws(KeychainFailure) -> Int {
        try asking(.transfer([])) { () throws(KeychainFailure) in
            try store.delete(queries, purging: isPurging, for: caller)
        }
    }

    /// The value of a setting of the keychain; its usual value if it is not set.
    package func number(of setting: KeychainSetting) throws(KeychainFailure) -> Int {
        let item = setting.item
        do {
            var query = ItemQuery(item.itemClass, attributes: item.attributes)
            // Items of other protection classes may be locked.
            query.protectionClass = item.protectionClass
            let value = try session(in: setting.groups).value(of: query)
            return value.flatMap(setting.parse) ?? setting.usualValue
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return setting.usualValue
        }
    }

    package func set(_ setting: KeychainSetting, to number: Int) throws(KeychainFailure) {
        try session(in: setting.groups).set(setting.item, value: setting.value(number))
    }

    /// The number of former values of every application, damaged ones included.
    package func formerCount() throws(KeychainFailure) -> Int { try store.formerCount() }

    /// Keeps no former values from now on, and deletes all that are kept, in one step. Returns how
    /// many they were.
    ///
    /// - Parameter agreed: How many the user knows of; nil if nobody was asked.
    package func endHistory(atMost agreed: Int?) throws(KeychainFailure) -> Int {
        let setting = KeychainSetting.history
        return try store.deleteHistory(
            setting: Addition(setting.item, value: setting.value(0)), atMost: agreed,
            for: session(in: setting.groups).caller)
    }

    func session(in groups: [AccessGroup]) -> KeychainSession {
        var session = self
        session.caller = Caller(
            applicationIdentifier: caller.applicationIdentifier, accessGroups: groups)
        return session
    }
}

extension KeychainSetting {
    /// The groups of the setting's item.
    fileprivate var groups: [AccessGroup] { item.accessGroup.map { [$0] } ?? [] }

    /// What the item holds.
    fileprivate func value(_ number: Int) -> SecretValue {
        SecretValue(copying: Array(String(number).utf8).span)
    }
}
