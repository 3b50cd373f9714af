// SPDX-License-Identifier: Apache-2.0

internal import Foundation

// The declaration stands in this file because its Objective-C name is an attribute under `#if`.

/// Why a valet could not do what it was asked.
///
/// The raw values are part of the Objective-C interface and never change.
#if canImport(ObjectiveC)
    @objc(VALKeychainError)
#endif
public enum KeychainError: Int, CaseIterable, Error, Sendable {
    /// The keychain cannot be used: locked, damaged, busy, full, not there.
    case couldNotAccessKeychain
    /// The person declined, or did not prove who they are.
    case userCancelled
    /// Nothing is stored under that key.
    case itemNotFound
    /// The application may not use that access group.
    case missingEntitlement
    /// The key is empty.
    case emptyKey
    /// The value is empty.
    case emptyValue
}
