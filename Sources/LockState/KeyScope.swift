// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import Sealing

/// Which of a keychain's two payloads: docs/FORMAT.md §10.
enum KeyScope: UInt8, CaseIterable, Hashable, Sendable {
    /// Keys that a lock takes away.
    case whileUnlocked = 0x75  // u
    /// Keys that stay from the first unlock on.
    case afterFirstUnlock = 0x66  // f

    /// The classes that have to be there, in the order of their numbers.
    var requiredClasses: [ProtectionClass] {
        switch self {
        case .whileUnlocked: [.whenUnlocked, .whenUnlockedThisDeviceOnly]
        case .afterFirstUnlock:
            [
                .afterFirstUnlock, .always, .afterFirstUnlockThisDeviceOnly,
                .alwaysThisDeviceOnly,
            ]
        }
    }

    /// The class that may be there: recovery opens no key of it.
    var optionalClass: ProtectionClass? {
        self == .whileUnlocked ? .whenPasscodeSetThisDeviceOnly : nil
    }

    /// The name of the payload of a keychain in the user keyring.
    func description(of keychainID: KeychainID) -> String {
        "valet:1:\(keychainID):\(Character(Unicode.Scalar(rawValue)))"
    }
}
