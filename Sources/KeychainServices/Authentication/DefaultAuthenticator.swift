// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSystem

/// The authenticator of calls that name none: a new context for each, which remembers nothing.
package struct DefaultAuthenticator: Authenticator {
    /// The one of this process.
    package static let forProcess: any Authenticator = DefaultAuthenticator()

    /// Asks a person.
    package func proof(
        for demands: [AccessControl], reason: String?, store: ItemStore, deadline: Deadline
    ) throws(KeychainFailure) -> PresenceProof {
        try ContextState(.ofProcess, store: nil)
            .proof(for: demands, reason: reason, in: store, until: deadline)
    }

    /// Asks a person for passwords.
    package func passwords(
        opening locks: [PasswordLock], _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> [StretchedPassword] {
        try ContextState(.ofProcess, store: nil)
            .passwords(opening: locks, isComplete: true, inquiry)
    }

    /// Asks a person for a new password.
    package func newPassword(
        _ stretching: PasscodeStretching, _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> StretchedPassword {
        try ContextState(.ofProcess, store: nil).newPassword(stretching, inquiry)
    }

    /// The fingers that are enrolled.
    package func enrolments() throws(KeychainFailure) -> [[UInt8]] {
        ContextState(.ofProcess, store: nil).enrolments
    }
}
