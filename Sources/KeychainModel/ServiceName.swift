// SPDX-License-Identifier: Apache-2.0

/// The service names under which valets keep their items.
///
/// They are part of the stored data: earlier versions on every platform wrote them, so they never
/// change (docs/FORMAT.md §8).
package enum ServiceName {
    /// The kinds of valets, by the name that stored services carry.
    package enum Kind: String, Sendable {
        case valet = "VALValet"
        case synchronizableValet = "VALSynchronizableValet"
        case secureEnclaveValet = "VALSecureEnclaveValet"
        case singlePromptSecureEnclaveValet = "VALSinglePromptSecureEnclaveValet"
    }

    /// The service of a valet of one application.
    package static func standard(_ kind: Kind, identifier: String, accessibility: String) -> String
    {
        "VAL_\(kind.rawValue)_initWithIdentifier:accessibility:_\(identifier)_\(accessibility)"
    }

    /// The service of a valet that applications share; `group` without its prefix.
    package static func sharedGroup(
        _ kind: Kind, group: String, identifier: String?, accessibility: String
    ) -> String {
        let name = identifier.map { "\(group)_\($0)" } ?? group
        return "VAL_\(kind.rawValue)_initWithSharedAccessGroupIdentifier:accessibility:"
            + "_\(name)_\(accessibility)"
    }

    /// The account of the item that proves that a keychain works.
    package static let canaryAccount = "VAL_KeychainCanaryUsername"
    /// The value of that item.
    package static let canaryValue = "VAL_KeychainCanaryPassword"
}
