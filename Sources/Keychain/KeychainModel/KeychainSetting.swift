// SPDX-License-Identifier: Apache-2.0

/// A number that the `valet` command keeps in the keychain, in an item of a group of its own:
/// docs/FORMAT.md §8.2.
package enum KeychainSetting: String, CaseIterable, Sendable {
    /// How many former values of each item are kept.
    case history

    /// The item that stores the setting, as a decimal number.
    package var item: NewItem {
        NewItem(
            .genericPassword,
            attributes: [
                .service: .text(AccessGroup.ofSettings.rawValue), .account: .text(rawValue),
            ],
            accessGroup: .ofSettings, protectionClass: .afterFirstUnlockThisDeviceOnly)
    }

    package var values: ClosedRange<Int> { 0...10 }
    package var usualValue: Int { 3 }
}

extension AccessGroup {
    /// The group of the settings.
    package static let ofSettings = AccessGroup("valet.settings")
    /// The group of what programs may do.
    package static let ofGrants = AccessGroup("valet.grants")

    /// Whether the items are the keychain's own, which no list shows and no count counts.
    package var isOfKeychain: Bool { self == .ofSettings || self == .ofGrants }
}

/// Why a row is in table `former`: docs/FORMAT.md §8.
package enum FormerReason: UInt8, Sendable {
    /// The item got another value.
    case changed = 1
    case removed = 2
    /// Another device replaced or removed it.
    case replaced = 3
    /// The row did not open when it was overwritten, or when the keys were changed.
    case damaged = 4
}
