// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel

/// The application on whose behalf a call is made.
package struct Caller: Hashable, Sendable {
    /// The name of the application, and of its own group.
    package let applicationIdentifier: String
    /// The groups that it may use. By default new items go to the first one that is not `token`.
    package let accessGroups: [AccessGroup]
    /// The advice in the failure of a call that needs a group that the caller lacks.
    package var groupAdvice: Advice?
    /// Whether values that the caller replaces or deletes become former values. Only commands that
    /// a person runs keep them: what a program deletes is gone.
    package var keepsHistory = false
    /// Whether the former values of what the caller deletes go as well.
    private(set) var purgesHistory = false

    /// A caller. Without `accessGroups` it has one group, named like the application.
    package init(
        applicationIdentifier: String, accessGroups: [AccessGroup] = [],
        groupAdvice: Advice? = nil
    ) {
        self.applicationIdentifier = applicationIdentifier
        self.accessGroups =
            accessGroups.isEmpty ? [AccessGroup(applicationIdentifier)] : accessGroups
        self.groupAdvice = groupAdvice
    }
}

extension Caller {
    /// The same caller, who deletes items with their former values.
    var purging: Caller {
        var caller = self
        (caller.keepsHistory, caller.purgesHistory) = (false, true)
        return caller
    }
}

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
    ///   for a caller without a group to write to.
    package func groups(
        changing group: AccessGroup?, during operation: String
    ) throws(KeychainFailure) -> [AccessGroup] {
        // A caller without a group to write to has nothing to change (spec/secitem.md §5.1).
        let first = try self.group(writing: group, during: operation)
        return group == nil ? accessGroups.filter { $0 != .token } : [first]
    }

    /// The group that a new or moved item goes to.
    ///
    /// - Throws: ``KeychainFailure/Code/missingEntitlement`` for a group that the caller lacks, and
    ///   without any group that it may write.
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
            advice: groupAdvice)
    }
}
