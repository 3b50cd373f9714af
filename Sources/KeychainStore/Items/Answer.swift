// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainKeys
package import ValetKeychainModel
package import ValetKeychainRows

/// What a call that may need a person comes to.
package enum Answer<Result: Sendable>: Sendable {
    /// What was asked for.
    case done(Result)
    /// Nothing was done: these have to be proved first, all of them. Each is there once, with the
    /// fingers that it is bound to.
    case authenticationRequired([AccessControl])
    /// Nothing was done: these passwords are needed first.
    case passwordRequired(PasswordDemand)

    /// The result, where no user can be asked.
    ///
    /// - Throws: ``KeychainFailure/Code/interactionNotAllowed``.
    func get(_ operation: String) throws(KeychainFailure) -> Result {
        switch self {
        case .done(let result): return result
        case .authenticationRequired, .passwordRequired:
            throw KeychainFailure(.interactionNotAllowed, during: operation)
        }
    }
}
