// SPDX-License-Identifier: Apache-2.0

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Classes of items. The strings are those of Apple's systems and part of stored data.

// The same texts as objects, which the compiler prefers, are documented in CoreFoundationNames.

@_disfavoredOverload public let kSecClass = "class"
@_disfavoredOverload public let kSecClassGenericPassword = "genp"
@_disfavoredOverload public let kSecClassInternetPassword = "inet"
@_disfavoredOverload public let kSecClassCertificate = "cert"
@_disfavoredOverload public let kSecClassKey = "keys"
@_disfavoredOverload public let kSecClassIdentity = "idnt"
