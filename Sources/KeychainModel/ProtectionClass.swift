// SPDX-License-Identifier: Apache-2.0

/// When an item may be read (`kSecAttrAccessible…`; spec/secitem.md §1.3, §9).
///
/// The raw values are stored in rows: docs/FORMAT.md §5.
package enum ProtectionClass: UInt8, CaseIterable, Hashable, Sendable {
    case whenUnlocked = 1
    case afterFirstUnlock = 2
    /// Retired; kept so that its items can be migrated.
    case always = 3
    case whenUnlockedThisDeviceOnly = 4
    case afterFirstUnlockThisDeviceOnly = 5
    /// Retired; kept so that its items can be migrated.
    case alwaysThisDeviceOnly = 6
    case whenPasscodeSetThisDeviceOnly = 7

    /// The code that dictionaries carry: `ak`, `ck`, `dk`, `aku`, `cku`, `dku` or `akpu`.
    package var code: String {
        switch self {
        case .whenUnlocked: "ak"
        case .afterFirstUnlock: "ck"
        case .always: "dk"
        case .whenUnlockedThisDeviceOnly: "aku"
        case .afterFirstUnlockThisDeviceOnly: "cku"
        case .alwaysThisDeviceOnly: "dku"
        case .whenPasscodeSetThisDeviceOnly: "akpu"
        }
    }

    /// The class that `code` names; nil for anything else.
    package init?(code: String) {
        guard let match = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = match
    }

    /// Whether the class key needs the device secret, so that items never leave the device.
    package var isThisDeviceOnly: Bool {
        switch self {
        case .whenUnlocked, .afterFirstUnlock, .always: false
        case .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly,
            .whenPasscodeSetThisDeviceOnly:
            true
        }
    }
}
