// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeychainStore
package import ValetSystem

/// Asks a person to prove who they are.
///
/// Calls block. They are made from whatever thread asked for the item, never inside a transaction
/// and never under the keychain's lock.
package protocol Authenticator: Sendable {
    /// Has a person prove what opens items with these access controls.
    ///
    /// - Parameters:
    ///   - demands: What is demanded, each once: at least one. All of it has to be proved; who
    ///     proves a part of it is asked again for the rest.
    ///   - reason: What the application says that it is for; nil if it does not.
    ///   - store: The keychain, which makes the proof of what was given:
    ///     ``ItemStore/presenceProof(passcode:)`` and ``ItemStore/presenceProof(fingerprint:)``.
    ///   - deadline: When to give up asking.
    /// - Returns: The proof; what was proved before may be in it, and nobody is asked then.
    /// - Throws: ``KeychainFailure``: `userCancelled`, `authenticationFailed` if it was tried and
    ///   did not work, or cannot work here; `interactionNotAllowed` if nobody can be asked;
    ///   `timedOut`.
    func proof(
        for demands: [AccessControl], reason: String?, store: ItemStore, deadline: Deadline
    ) throws(KeychainFailure) -> PresenceProof

    /// What the fingers are that are enrolled at this moment, on each reader: bytes, at most 255,
    /// that are others after every change (docs/FORMAT.md §5.4). Asks nobody, and is bounded in
    /// time.
    ///
    /// - Returns: The reader that is asked first is the first. None if none has a finger, or there
    ///   is no reader.
    /// - Throws: ``KeychainFailure`` if that cannot be found out.
    func enrolments() throws(KeychainFailure) -> [[UInt8]]

    /// What was proved before and still counts, without asking; nil for nothing.
    var rememberedProof: PresenceProof? { get }

    /// Gets the passwords that open the boxes of items: the application's own, else a person's.
    ///
    /// - Parameter locks: At least one; all of them have to be opened.
    /// - Returns: Each password stretched for a box that it opens.
    /// - Throws: As ``proof(for:reason:store:deadline:)``: `authenticationFailed` for wrong ones.
    func passwords(
        opening locks: [PasswordLock], _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> [StretchedPassword]

    /// Those of ``passwords(opening:_:)`` that nobody has to be asked for; none if there are none.
    func givenPasswords(
        opening locks: [PasswordLock], _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> [StretchedPassword]

    /// Gets a password for values that have none: the application's own, else a person's, who
    /// enters it twice.
    ///
    /// - Throws: As ``proof(for:reason:store:deadline:)``.
    func newPassword(
        _ stretching: PasscodeStretching, _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> StretchedPassword
}

/// How a call may get an application's password.
package struct PasswordInquiry: Sendable {
    /// What the application says that it is for; nil if it does not.
    package let reason: String?
    /// Whether a person may be asked.
    package let mayAsk: Bool
    /// When to give up.
    package let deadline: Deadline

    /// An inquiry of a call.
    package init(reason: String?, mayAsk: Bool, deadline: Deadline) {
        (self.reason, self.mayAsk, self.deadline) = (reason, mayAsk, deadline)
    }
}

extension Authenticator {
    /// Nothing.
    package var rememberedProof: PresenceProof? { nil }

    /// None.
    package func givenPasswords(
        opening locks: [PasswordLock], _ inquiry: PasswordInquiry
    ) throws(KeychainFailure) -> [StretchedPassword] { [] }
}

/// An authenticator that an application made and keeps: the value of
/// `kSecUseAuthenticationContext` (spec/secitem.md §10.5).
///
/// One that was invalidated remembers nothing, and its proofs are `authenticationFailed`.
package protocol AuthenticationContext: AnyObject, Authenticator {}
