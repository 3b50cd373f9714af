// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import ValetKeychainModel

/// Why a call of a valet failed.
///
/// The raw values are part of the Objective-C interface and never change.
#if canImport(ObjectiveC)
    @objc(VALKeychainError)
#endif
public enum KeychainError: Int, CaseIterable, Error, Sendable {
    /// The keychain cannot be used: it is locked, damaged, busy, full or missing.
    case couldNotAccessKeychain
    /// The user declined or could not authenticate.
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

extension KeychainError: CustomStringConvertible {
    /// The error for `status`, an `OSStatus` of the SecItem functions.
    ///
    /// `userCancelled` stands for both cancelling and failing to authenticate. Statuses without a
    /// case of their own become `couldNotAccessKeychain`.
    public init(status: Int32) {
        let number = KeychainFailure.Code(status: status).keychainErrorNumber
        self = KeychainError(rawValue: number) ?? .couldNotAccessKeychain
    }

    init(_ failure: KeychainFailure) {
        self = KeychainError(rawValue: failure.code.keychainErrorNumber) ?? .couldNotAccessKeychain
    }

    /// `KeychainError.` and the name of the case.
    public var description: String {
        switch self {
        case .couldNotAccessKeychain: "KeychainError.couldNotAccessKeychain"
        case .userCancelled: "KeychainError.userCancelled"
        case .itemNotFound: "KeychainError.itemNotFound"
        case .missingEntitlement: "KeychainError.missingEntitlement"
        case .emptyKey: "KeychainError.emptyKey"
        case .emptyValue: "KeychainError.emptyValue"
        }
    }
}
