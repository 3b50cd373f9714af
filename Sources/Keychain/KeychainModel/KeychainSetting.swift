// SPDX-License-Identifier: Apache-2.0

/// A number that the `valet` command keeps in the keychain, in an item of a group of its own:
/// docs/FORMAT.md §8.2.
package enum KeychainSetting: String, CaseIterable, Sendable {
    /// How many former values of each item are kept.
    case history

    fileprivate static let group = AccessGroup("valet.settings")

    /// The item that stores the setting, as a decimal number.
    package var item: NewItem {
        NewItem(
            .genericPassword,
            attributes: [.service: .text(Self.group.rawValue), .account: .text(rawValue)],
            accessGroup: Self.group, protectionClass: .afterFirstUnlockThisDeviceOnly)
    }

    package var values: ClosedRange<Int> { 0...10 }
    package var usualValue: Int { 3 }
}

extension AccessGroup {
    /// Whether items of the group are the keychain's own, which no list shows and no count counts.
    package var isOfKeychain: Bool { self == KeychainSetting.group }
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
