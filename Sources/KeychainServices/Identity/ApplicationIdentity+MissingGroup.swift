// SPDX-License-Identifier: Apache-2.0

package import KeychainModel
internal import KeychainStore

extension ApplicationIdentity {
    /// The failure of a request that names `group`, which the application does not have.
    ///
    /// It names the file, or the call, that would declare the group.
    package func missingGroup(
        _ group: AccessGroup, during operation: String
    ) -> KeychainFailure {
        KeychainFailure(
            .missingEntitlement, during: operation,
            message: "the application \(caller.applicationIdentifier) does not have the access "
                + "group \(group.rawValue)",
            path: entitlementsPath, hint: groupHint)
    }

    /// What to do to get a group that the application lacks.
    var groupHint: String {
        switch (source, entitlementsPath) {
        case (.entitlements(let path), _):
            "list the group under keychain-access-groups in \(path)"
        case (_, let path?):
            "create \(path), a property list that has the group under keychain-access-groups"
        case (_, nil): "name the group in Keychain.configure"
        }
    }
}
