// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSealing

/// The former values of a person's secrets, which the `valet` command keeps. No library sees them.
extension KeychainSession {
    /// The former values of the items that `query` describes, the newest first: their attributes,
    /// with the date when each value was set.
    ///
    /// - Throws: Like ``copy(_:_:_:)``, except `itemNotFound`; `damaged` if one of them is damaged,
    ///   because it may be the newest.
    package func formerItems(_ query: ItemQuery) throws(KeychainFailure) -> [StoredItem] {
        var slots = query
        slots.accessGroup = nil
        slots.limit = nil
        slots.synchronizable = .localOnly
        do {
            let session = session(
                reaching: query.accessGroup.map { [$0] } ?? caller.accessGroups,
                query.synchronizable)
            return try session.attributes(of: slots).items
                .sorted { $0.logicalTime > $1.logicalTime }
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return []
        }
    }

    /// The value of one of the ``formerItems(_:)``.
    ///
    /// - Throws: `itemNotFound` if it is gone.
    package func formerValue(_ item: StoredItem) throws(KeychainFailure) -> SecretValue? {
        try session(reaching: [item]).value(of: ItemQuery(item.reference))
    }

    /// Puts one of the ``formerItems(_:)`` back, and keeps the value that it replaces.
    package func restore(_ item: StoredItem) throws(KeychainFailure) {
        let session = session(reaching: [item])
        try asking(.transfer([])) { () throws(KeychainFailure) in
            try store.restore(item.version, for: session.caller)
        }
    }

    /// Deletes items and former values for good: all or none.
    package func purge(_ items: [StoredItem]) throws(KeychainFailure) {
        var session = session(reaching: items)
        session.caller.keepsHistory = false
        try session.perform(ItemTransfer(deletions: items.map(\.version)))
    }

    /// The value of a setting of the keychain; its usual value if it is not set.
    package func number(of setting: KeychainSetting) throws(KeychainFailure) -> Int {
        let item = setting.item
        do {
            var query = ItemQuery(item.itemClass, attributes: item.attributes)
            // Items of other protection classes may be locked.
            query.protectionClass = item.protectionClass
            let value = try session(in: item.accessGroup.map { [$0] } ?? []).value(of: query)
            return value.flatMap(setting.parse) ?? setting.usualValue
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return setting.usualValue
        }
    }

    package func set(_ setting: KeychainSetting, to number: Int) throws(KeychainFailure) {
        let item = setting.item
        let value = SecretValue(copying: Array(String(number).utf8).span)
        try session(in: item.accessGroup.map { [$0] } ?? []).set(item, value: value)
    }

    private func session(
        reaching groups: [AccessGroup], _ kinds: ItemQuery.Synchronizable
    ) -> KeychainSession {
        let kinds = [false, true].filter { $0 ? kinds != .localOnly : kinds != .synchronizedOnly }
        return session(
            in: groups.flatMap { group in
                kinds.flatMap { FormerValueSlot.all(of: group, isSynchronizable: $0) }
                    .map(\.accessGroup)
            })
    }

    private func session(reaching items: [StoredItem]) -> KeychainSession {
        session(in: caller.accessGroups + items.map(\.accessGroup))
    }

    private func session(in groups: [AccessGroup]) -> KeychainSession {
        var session = self
        session.caller = Caller(
            applicationIdentifier: caller.applicationIdentifier, accessGroups: groups)
        session.caller.keepsHistory = caller.keepsHistory
        return session
    }
}
