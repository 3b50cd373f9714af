// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel

extension Attribute {
    /// Whether a row keeps a hash of this attribute for searches: docs/FORMAT.md §6.4.
    var isHashed: Bool {
        switch self {
        case .accessGroup, .synchronizable, .accessible, .accessControl, .creationDate,
            .modificationDate:
            false
        default: true
        }
    }
}

extension ItemClass {
    /// The attribute that, beside the account, says what an item is for; its hash is a column.
    var placeAttribute: Attribute {
        switch self {
        case .genericPassword: .service
        case .internetPassword: .server
        }
    }
}
