// SPDX-License-Identifier: Apache-2.0

extension ApplicationIdentity {
    /// What to do to get a group that the application lacks.
    var groupHint: String {
        switch (source, entitlementsPath) {
        case (.entitlements(let path), _):
            "list the group under keychain-access-groups in \(path)"
        case (_, let path?):
            "name the group in ValetKeychain.configure, or create \(path), a property list that "
                + "has it under keychain-access-groups"
        case (_, nil): "name the group in ValetKeychain.configure"
        }
    }
}
