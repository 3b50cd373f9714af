// SPDX-License-Identifier: Apache-2.0

// `Valet` keeps secrets by key in sandboxes that an application names.

internal import ValetKeychainModel

extension KeychainError: CustomStringConvertible {
    /// The error that `status`, an `OSStatus` of the SecItem functions, amounts to.
    ///
    /// Cancelling and failing to authenticate are both `userCancelled`; statuses without a case
    /// of their own are `couldNotAccessKeychain`.
    public init(status: Int32) {
        self =
            switch KeychainFailure.Code(status: status) {
            case .itemNotFound: .itemNotFound
            case .userCancelled, .authenticationFailed: .userCancelled
            case .missingEntitlement: .missingEntitlement
            default: .couldNotAccessKeychain
            }
    }

    init(_ failure: KeychainFailure) {
        self.init(status: failure.status)
    }

    /// The error of a call that stores. Such a call asks nobody. So a failed authentication means
    /// that an item could not be bound to a finger, and not that a person declined.
    init(storing failure: KeychainFailure) {
        self =
            failure.code == .authenticationFailed
            ? .couldNotAccessKeychain : KeychainError(failure)
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
