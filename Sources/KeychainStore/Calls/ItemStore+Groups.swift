// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

/// spec/secitem.md §5.2.
extension Caller {
    /// The groups that a search covers.
    ///
    /// - Throws: ``KeychainFailure/Code/missingEntitlement`` for a group that the caller lacks.
    package func groups(
        searching group: AccessGroup?, during operation: String
    ) throws(KeychainFailure) -> [AccessGroup] {
        guard let group else { return accessGroups }
        guard group == .token || accessGroups.contains(group) else {
            throw missing(group, during: operation)
        }
        return [group]
    }

    /// The groups that a call may change items of: at least one.
    ///
    /// - Throws: ``KeychainFailure/Code/missingEntitlement`` for a group that the caller lacks, and
    ///   for a caller that has none to change.
    package func groups(
        changing group: AccessGroup?, during operation: String
    ) throws(KeychainFailure) -> [AccessGroup] {
        // A caller without a group to write to has nothing to change (spec/secitem.md §5.1).
        let first = try self.group(writing: group, during: operation)
        return group == nil ? accessGroups.filter { $0 != .token } : [first]
    }

    /// The group that a new or moved item goes to.
    ///
    /// - Throws: ``KeychainFailure/Code/missingEntitlement`` for a group that the caller lacks.
    package func group(
        writing group: AccessGroup?, during operation: String
    ) throws(KeychainFailure) -> AccessGroup {
        guard let group = group ?? accessGroups.first(where: { $0 != .token }) else {
            throw KeychainFailure(.missingEntitlement, during: operation)
        }
        guard group != .token, accessGroups.contains(group) else {
            throw missing(group, during: operation)
        }
        return group
    }

    private func missing(_ group: AccessGroup, during operation: String) -> KeychainFailure {
        KeychainFailure(
            .missingEntitlement, during: operation,
            message: "\(applicationIdentifier) does not have the access group \(group.rawValue)",
            hint: groupHint)
    }
}
