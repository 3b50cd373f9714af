// SPDX-License-Identifier: Apache-2.0

import KeychainSwift

func saveAsBefore(_ token: String) -> Bool {
    keychain.set(token, forKey: "token", withAccess: .AccessibleAfterFirstUnlock)
        && keychain.set(token, forKey: "token", withAccess: .AccessibleWhenUnlocked)
        && keychain.set(
            true, forKey: "x", withAccess: .AccessibleAfterFirstUnlockThisDeviceOnly)
}

func description(_ access: KeychainSwiftAccessOptions) -> String {
    switch access {
    case .accessibleWhenUnlocked: return "when unlocked"
    case .accessibleWhenUnlockedThisDeviceOnly: return "when unlocked, here"
    case .accessibleAfterFirstUnlock: return "after first unlock"
    case .accessibleAfterFirstUnlockThisDeviceOnly: return "after first unlock, here"
    case .accessibleWhenPasscodeSetThisDeviceOnly: return "with a passcode, here"
    }
}
