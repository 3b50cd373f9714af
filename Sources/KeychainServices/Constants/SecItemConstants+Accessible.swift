// SPDX-License-Identifier: Apache-2.0

// Values of kSecAttrAccessible: when an item may be read.

/// While the keychain is unlocked: the default.
public let kSecAttrAccessibleWhenUnlocked: CFString = "ak"
/// From the first unlocking after a start of the machine on.
public let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"
/// At any time. Retired; kept so that its items can be migrated.
public let kSecAttrAccessibleAlways: CFString = "dk"
/// While the keychain is unlocked, and on no other device.
public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"
/// From the first unlocking after a start on, and on no other device.
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
/// At any time, and on no other device. Retired; kept so that its items can be migrated.
public let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"
/// While the keychain is unlocked and has a passcode, and on no other device.
public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"
