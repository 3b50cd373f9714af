// SPDX-License-Identifier: Apache-2.0

public import ValetKeychainServices

// Codes without a public text, and names for `errSecParam` and others that only Apple's own
// programs use: so that code builds (spec/secitem.md §1.8, §1.9).

/// An internal fault.
public let errSecInternal: OSStatus = -26276
/// The policy forbids it.
public let errSecPolicyDenied: OSStatus = -26270
/// A person has to prove who they are; no caller sees it.
public let errSecAuthNeeded: OSStatus = -25330
/// The answer comes later; no caller sees it.
public let errSecWaitForCallback: OSStatus = -34017
/// The keychain is being brought to a newer form; no caller sees it.
public let errSecUpgradePending: OSStatus = -34019
/// ``errSecUnimplemented`` for an operation.
public let errSecUnsupportedOperation: OSStatus = -4
/// ``errSecDecode`` for a key.
public let errSecInvalidKey: OSStatus = -26275
/// ``errSecDecode`` for a certificate.
public let errSecInvalidCertificate: OSStatus = -26275
/// ``errSecParam`` for a key of a dictionary.
public let errSecItemInvalidKey: OSStatus = -50
/// ``errSecParam`` for the type of a key.
public let errSecItemInvalidKeyType: OSStatus = -50
/// ``errSecParam`` for a value.
public let errSecItemInvalidValue: OSStatus = -50
/// ``errSecParam`` for a class that is missing.
public let errSecItemClassMissing: OSStatus = -50
/// ``errSecParam`` for a match key.
public let errSecItemMatchUnsupported: OSStatus = -50
/// ``errSecParam`` for keys that do not go together.
public let errSecItemIllegalQuery: OSStatus = -50
/// ``errSecParam`` for a list of items.
public let errSecUseItemListUnsupported: OSStatus = -50
/// ``errSecParam`` for data.
public let errSecReturnDataUnsupported: OSStatus = -50
/// ``errSecParam`` for attributes.
public let errSecReturnAttributesUnsupported: OSStatus = -50
/// ``errSecParam`` for an object.
public let errSecReturnRefUnsupported: OSStatus = -50
/// ``errSecParam`` for a persistent reference.
public let errSecReturnPersistentRefUnsupported: OSStatus = -50
/// ``errSecParam`` for a result without a place.
public let errSecReturnMissingPointer: OSStatus = -50
/// ``errSecParam`` for a limit.
public let errSecMatchLimitUnsupported: OSStatus = -50
/// ``errSecParam`` for an object to search by.
public let errSecValueRefUnsupported: OSStatus = -50
/// ``errSecParam`` for a persistent reference to search by.
public let errSecValuePersistentRefUnsupported: OSStatus = -50
/// ``errSecParam`` for a padding.
public let errSecUnsupportedPadding: OSStatus = -50
