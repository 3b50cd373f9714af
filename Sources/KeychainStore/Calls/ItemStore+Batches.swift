// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSecretMemory
internal import ValetSystem

/// Several items in one transaction.
extension ItemStore {
    fileprivate static let readingSeveral = "read several items"
    private static let settingSeveral = "set several items"

    /// The values of the items of these names, all as they were at one moment.
    ///
    /// - Returns: By account; an item that is not there, or has no value, is missing.
    /// - Throws: ``KeychainFailure``: `damaged` if one of them cannot be read, `locked`,
    ///   `interactionNotAllowed` if one needs a person, `missingEntitlement`.
    package func values(
        of accounts: Set<String>, in service: PasswordService, for caller: Caller
    ) throws(KeychainFailure) -> [String: SecretValue] {
        let groups = try caller.groups(searching: service.accessGroup, during: Self.readingSeveral)
        let found = try reading(Self.readingSeveral) { (engine, deadline) throws(KeychainFailure) in
            let (rows, state) = try engine.rows(accounts, service, groups, deadline)
            return try translating(Self.readingSeveral) {
                var values: [String: SecretValue] = [:]
                for (account, found) in rows {
                    let query = PasswordName(account, in: service).query
                    let access = PersonAccess(.demanding)
                    let opened = try RowOpener(
                        query: query, parts: .value, state: state, access: access
                    ).open(found)
                    guard opened.closedCount == 0 else { throw RowFailure.needsPerson }
                    if let damage = opened.damage, opened.items.isEmpty { throw damage }
                    values[account] = opened.items.first?.value
                }
                return values
            }
        }
        return found ?? [:]
    }

    /// Sets all items as ``set(_:for:)`` sets one, or does nothing.
    ///
    /// - Throws: As ``set(_:for:)``.
    package func set(
        _ additions: [Addition], for caller: Caller
    ) throws(KeychainFailure) {
        guard !additions.isEmpty else { return }
        _ = try write(Self.settingSeveral, creating: true, caller) { (access) in
            for addition in additions { try access.set(addition, for: caller) }
        }
    }
}

extension Engine {
    /// The rows of each account, before anything is opened, with the keys that open them.
    fileprivate func rows(
        _ accounts: Set<String>, _ service: PasswordService, _ groups: [AccessGroup],
        _ deadline: Deadline
    ) throws(KeychainFailure) -> (rows: [(String, [FoundRow])], state: KeychainState) {
        let operation = ItemStore.readingSeveral
        return try read(operation, deadline) { (store, state) throws(KeychainFailure) in
            try translating(operation) {
                let rows = try accounts.map { account in
                    let query = PasswordName(account, in: service).query
                    return (account, try state.find(query, groups, store))
                }
                return (rows, state)
            }
        }
    }
}
