// SPDX-License-Identifier: Apache-2.0

/// What kind of secret an item is (`kSecClass`; spec/secitem.md §1.1).
///
/// The raw values are stored in rows: docs/FORMAT.md §5.
package enum ItemClass: UInt8, CaseIterable, Hashable, Sendable {
    case genericPassword = 1
    case internetPassword = 2

    /// The four ASCII characters that name the class in dictionaries and persistent references.
    package var code: String {
        switch self {
        case .genericPassword: "genp"
        case .internetPassword: "inet"
        }
    }

    /// The class that `code` names; nil for classes that are not passwords.
    package init?(code: String) {
        switch code {
        case "genp": self = .genericPassword
        case "inet": self = .internetPassword
        default: return nil
        }
    }

    /// The attributes that, with access group and synchronizable flag, make an item unique.
    ///
    /// In the order in which they are hashed: spec/secitem.md §2.3, docs/FORMAT.md §6.2.
    package var primaryKeyAttributes: [Attribute] {
        switch self {
        case .genericPassword: Self.genericPasswordKey
        case .internetPassword: Self.internetPasswordKey
        }
    }

    private static let genericPasswordKey: [Attribute] = [
        .service, .syncViewHint, .tokenID, .account,
    ]
    private static let internetPasswordKey: [Attribute] = [
        .securityDomain, .server, .protocol, .authenticationType, .port, .path, .syncViewHint,
        .tokenID, .account,
    ]
}
