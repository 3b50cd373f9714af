// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

/// The four calls on items.
enum SecItemCall: CaseIterable {
    case add, copyMatching, update, delete

    /// What a failure says was being done.
    var operation: String {
        switch self {
        case .add: "add an item"
        case .copyMatching: "read items"
        case .update: "update items"
        case .delete: "delete items"
        }
    }

    /// A failure of this call that the dictionary itself is the reason for.
    func failure(_ code: KeychainFailure.Code, _ message: String) -> KeychainFailure {
        KeychainFailure(code, during: operation, message: message)
    }
}
