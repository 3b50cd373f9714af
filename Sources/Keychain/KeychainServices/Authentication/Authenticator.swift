// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSystem

/// Proves the user's presence. A session asks it when an item demands a proof.
/// `LAContext` holds a ``ContextAuthenticator``; tests have others.
///
/// Calls block. They run on the thread that asked for the item, never inside a transaction and
/// never under the keychain's lock.
package protocol Authenticator: Sendable {
    /// Gets proof that opens items with these access controls.
    ///
    /// - Parameters:
    ///   - demands: The access controls, each once, at least one. If the proof meets only some of
    ///     them, the session asks again for the rest.
    ///   - reason: The application's reason; nil if it gives none.
    ///   - store: The keychain, which makes the proof:
    ///     ``ItemStore/presenceProof(passcode:)`` and ``ItemStore/presenceProof(fingerprint:)``.
    ///   - deadline: When to give up asking.
    /// - Returns: The proof, which may include an earlier proof that still counts.
    /// - Throws: ``KeychainFailure``: `userCancelled`; `authenticationFailed` if authentication did
    ///   not succeed, or cannot succeed here; `interactionNotAllowed` if the user cannot be asked;
    ///   `timedOut`.
    func proof(
        for demands: [AccessControl], reason: String?, store: ItemStore?, deadline: Deadline
    ) throws(KeychainFailure) -> PresenceProof

    /// The fingers that are enrolled now on each reader: at most 255 bytes, which differ after
    /// every change (docs/FORMAT.md §5.4). Does not ask the user.
    ///
    /// - Returns: One element for each reader with fingers; the reader that is used first comes
    ///   first.
    /// - Throws: ``KeychainFailure`` if the readers do not answer.
    func enrolments(until deadline: Deadline) throws(KeychainFailure) -> [[UInt8]]

    /// The earlier proof that still counts; nil for none.
    var rememberedProof: PresenceProof? { get }

    /// Gets the passwords that open the boxes of items, from the application or else from the user.
    ///
    /// - Parameters:
    ///   - locks: The locks of the boxes, at least one.
    ///   - isComplete: Whether all locks must be opened. If not, the user is not asked.
    /// - Returns: Each password stretched for a box that it opens.
    /// - Throws: Like ``proof(for:reason:store:deadline:)``; `authenticationFailed` for wrong
    ///   passwords.
    func passwords(
        opening locks: [PassphraseBox], isComplete: Bool, _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> [StretchedPassword]

    /// Gets a password for new values from the application, or else from the user, who enters it
    /// twice.
    ///
    /// - Throws: Like ``proof(for:reason:store:deadline:)``.
    func newPassword(
        _ stretching: PasscodeStretching, _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> StretchedPassword
}

/// How a call may get an application's password.
package struct PasswordInquiry: Sendable {
    /// The application's reason; nil if it gives none.
    package let reason: String?
    package let mayAsk: Bool
    package let deadline: Deadline

    package init(reason: String?, mayAsk: Bool, deadline: Deadline) {
        (self.reason, self.mayAsk, self.deadline) = (reason, mayAsk, deadline)
    }
}

/// An object that an application made and keeps: the value of `kSecUseAuthenticationContext`
/// (spec/secitem.md §10.5).
package protocol AuthenticationContext: AnyObject, Sendable {
    /// The authenticator that the object holds. Once the object is invalidated, the authenticator
    /// remembers nothing, and the authenticator's calls throw `authenticationFailed`.
    var asking: any Authenticator { get }
}

/// Whether and how a call may ask the user (spec/secitem.md §10.5).
package struct AuthenticationPolicy: Sendable {
    /// The values of `kSecUseAuthenticationUI`.
    package enum UserInterface: Hashable, Sendable {
        case allow
        /// The call asks no questions: items that need the user are `interactionNotAllowed`.
        case fail
        /// The call asks no questions: items that need the user are left out.
        case skip
    }

    package var userInterface: UserInterface
    package var reason: String?
    /// The authenticator; nil for a new ``ContextAuthenticator``, which remembers nothing.
    package var authenticator: (any Authenticator)?

    package init(
        _ userInterface: UserInterface = .allow, reason: String? = nil,
        authenticator: (any Authenticator)? = nil
    ) {
        self.userInterface = userInterface
        self.reason = reason
        self.authenticator = authenticator
    }

    package var chosenAuthenticator: any Authenticator {
        authenticator ?? ContextAuthenticator(.ofProcess, store: nil)
    }
}
