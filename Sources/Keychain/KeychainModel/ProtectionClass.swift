// SPDX-License-Identifier: Apache-2.0

/// When an item may be read (`kSecAttrAccessible…`; spec/secitem.md §1.3, §9).
///
/// Every other spelling of an accessibility is made from this type: SecItem's codes, the enums of
/// `Valet` and `KeychainSwift`, the words of the command. The raw values are stored in rows:
/// docs/FORMAT.md §5.
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

    /// The class with this code; nil for any other text.
    package init?(code: String) {
        guard let match = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = match
    }

    /// The name at the end of a valet's service name. Stored, so it never changes: docs/FORMAT.md
    /// §8.1.
    package var storedName: String {
        switch self {
        case .whenUnlocked: "AccessibleWhenUnlocked"
        case .afterFirstUnlock: "AccessibleAfterFirstUnlock"
        case .always: "AccessibleAlways"
        case .whenUnlockedThisDeviceOnly: "AccessibleWhenUnlockedThisDeviceOnly"
        case .afterFirstUnlockThisDeviceOnly: "AccessibleAfterFirstUnlockThisDeviceOnly"
        case .alwaysThisDeviceOnly: "AccessibleAlwaysThisDeviceOnly"
        case .whenPasscodeSetThisDeviceOnly: "AccessibleWhenPasscodeSetThisDeviceOnly"
        }
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

    package var scope: KeyScope {
        switch self {
        case .whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly:
            .whileUnlocked
        case .afterFirstUnlock, .always, .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly:
            .afterFirstUnlock
        }
    }

    package var isRetired: Bool { self == .always || self == .alwaysThisDeviceOnly }

    package var isClosedWhileLocked: Bool { scope == .whileUnlocked }
}

/// The keys that a lock or an unlock changes together: docs/FORMAT.md §4.7. The raw values name
/// scopes in the kernel: docs/FORMAT.md §10.4.
package enum KeyScope: UInt8, CaseIterable, Hashable, Sendable {
    /// The keys of classes ak, aku and akpu: open while the keychain is unlocked. `u`.
    case whileUnlocked = 0x75
    /// The keys of classes ck, cku, dk and dku, and the index key: open from the first unlock on.
    /// `f`.
    case afterFirstUnlock = 0x66
}

extension Set<KeyScope> {
    package static var all: Set<KeyScope> { [.whileUnlocked, .afterFirstUnlock] }
}
