// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Values of kSecAttrAccessible: when an item may be read.

// The same texts as objects, which the compiler prefers, are documented in CoreFoundationNames.

@_disfavoredOverload public let kSecAttrAccessibleWhenUnlocked = "ak"
@_disfavoredOverload public let kSecAttrAccessibleAfterFirstUnlock = "ck"
@_disfavoredOverload public let kSecAttrAccessibleAlways = "dk"
@_disfavoredOverload public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly = "aku"
@_disfavoredOverload public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = "cku"
@_disfavoredOverload public let kSecAttrAccessibleAlwaysThisDeviceOnly = "dku"
@_disfavoredOverload public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly = "akpu"
