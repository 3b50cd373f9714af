// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeychainStore
package import ValetSystem
package import ValetUserPresence

/// The means of asking the user: terminal or pinentry, and fingerprint reader.
/// ``ContextAuthenticator`` uses the means of its process; tests replace them.
package struct AuthenticationMeans: Sendable {
    package var asker: PasscodeAsker
    /// Reads fingers; nil where that is not built in.
    package var reader: (any BiometryReader)?
    /// How long a person has, where the caller sets no deadline.
    package var timeLimit: Duration
    package var application: @Sendable () -> String

    /// These means; a person has 60 s by default.
    package init(
        asker: PasscodeAsker, reader: (any BiometryReader)? = nil,
        timeLimit: Duration = .seconds(60), application: @escaping @Sendable () -> String
    ) {
        self.asker = asker
        self.reader = reader
        self.timeLimit = timeLimit
        self.application = application
    }

    /// The means of this process: its terminal or a pinentry. The descriptor of
    /// `$VALET_PASSCODE_FD` is not among them: it unlocks the keychain, but proves no presence.
    package static let ofProcess = AuthenticationMeans(
        asker: .forProcess(readsVariable: false), reader: ProcessReader.value,
        application: { applicationName })

    private static var applicationName: String {
        do {
            return try KeychainSession.current().caller.applicationIdentifier
        } catch {
            // The call that is being authenticated fails for the same reason.
            return "An application"
        }
    }
}

/// The fingerprint readers, as far as authentication needs them.
///
/// Calls block until their deadline at most. Every thread may make them.
package protocol BiometryReader: Sendable {
    /// What the readers can do now. Does not ask the user.
    func state(until deadline: Deadline) -> BiometryState

    /// Waits for an enrolled finger. The user has three tries; a finger that the reader did not see
    /// well does not count.
    ///
    /// - Parameters:
    ///   - enrolment: Selects the reader that had these fingers a moment ago. The first reader is
    ///     used for nil, and if no reader has these fingers any more.
    ///   - cancellation: Ends the waiting from outside, with `cancelled`.
    ///   - tell: Receives lines for the user: instructions once the reader waits, and the reason
    ///     after each failed try.
    /// - Returns: The fingers that were enrolled when one of them matched: 1 to 255 bytes that
    ///   differ after every change.
    /// - Throws: ``SystemError``: `noMatch` after three tries, `nobodyEnrolled`, `biometryLockout`,
    ///   `timedOut`; `cancelled`, also if the user declined. Any other: there is no usable reader.
    func verify(
        _ enrolment: [UInt8]?, until deadline: Deadline, cancellation: Cancellation,
        tell: (String) -> Void
    ) throws(SystemError) -> [UInt8]
}

package enum BiometryState: Hashable, Sendable {
    /// There is no reader, or no service for it answers.
    case noReader
    case notEnrolled
    /// There were too many tries; only the passcode is left.
    case lockedOut
    /// Fingers are enrolled on at least one reader. The array has an element for each such reader:
    /// 1 to 255 bytes that differ after every change (docs/FORMAT.md §5.4). The reader that is used
    /// first comes first.
    case enrolled([[UInt8]])
}
