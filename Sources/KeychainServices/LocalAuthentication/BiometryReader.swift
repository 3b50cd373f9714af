// SPDX-License-Identifier: Apache-2.0

package import ValetSystem
package import ValetUserPresence

/// The readers of fingers, as far as authentication needs them.
///
/// Calls block, and are done by their deadline. They may be made from every thread.
package protocol BiometryReader: Sendable {
    /// What they can do now. Asks nobody.
    func state(until deadline: Deadline) -> BiometryState

    /// Waits for a finger that is enrolled: three times, where it is another one's; a finger that
    /// was not seen well does not count.
    ///
    /// - Parameters:
    ///   - enrolment: Which reader is to be used: the one that had these fingers a moment ago; nil,
    ///     and if none has them any more, for the first.
    ///   - cancellation: Ends the waiting from outside, as its listener is told; the answer
    ///     is then `cancelled`.
    ///   - tell: Gets a line for the person once the reader waits, which says what to do, and one
    ///     after each try that was of no use, which says why.
    /// - Returns: What was enrolled while the finger matched: 1 to 255 bytes that are others after
    ///   every change.
    func verify(
        _ enrolment: [UInt8]?, until deadline: Deadline, cancellation: PromptCancellation,
        tell: (String) -> Void
    ) throws(BiometryFailure) -> [UInt8]
}

/// What a reader can do.
package enum BiometryState: Hashable, Sendable {
    /// There is none, or nothing answers for it.
    case noReader
    /// There is one, and the person has no finger in it.
    case notEnrolled
    /// There were too many tries; only the passcode helps.
    case lockedOut
    /// Fingers are enrolled on these readers, at least one: of each 1 to 255 bytes that are others
    /// after every change (docs/FORMAT.md §5.4), that of the reader which is used first first.
    case enrolled([[UInt8]])
}

/// Why no finger was accepted.
package enum BiometryFailure: Error, Hashable, Sendable {
    /// Three times it was none that is enrolled.
    case noMatch
    /// There were too many tries.
    case lockedOut
    /// There is no reader, or it is gone.
    case noReader
    /// The person has no finger in it.
    case notEnrolled
    /// The person declined, or the waiting was ended from outside.
    case cancelled
    /// The deadline has passed.
    case timedOut
}
