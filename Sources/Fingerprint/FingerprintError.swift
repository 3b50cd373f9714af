// SPDX-License-Identifier: Apache-2.0

/// Verifies a finger of the person at this machine, through fprintd.
///
/// The answer is policy, checked by software that is trusted: fprintd, the bus, and this process.
/// It opens nothing by itself. Calls wait for a person: never make them on the cooperative thread
/// pool.
///
/// This is the one error of the module: what was being done, why no finger was recognised and,
/// where somebody can mend it, how.
package struct FingerprintError: Error, Sendable {
    /// What the caller can do about it.
    @nonexhaustive
    package enum Code: Hashable, Sendable, CaseIterable {
        /// Three scans in a row were of fingers that are not enrolled.
        case noMatch
        /// The reader was unplugged.
        case unplugged
        /// There is no reader.
        case noReader
        /// There is a reader, and the user has no finger enrolled on any.
        case nobodyEnrolled
        /// fprintd is not there.
        case serviceAbsent
        /// fprintd, or the bus, went away meanwhile.
        case serviceEnded
        /// There is no system bus.
        case busAbsent
        /// libsystemd is not installed.
        case libraryAbsent
        /// Another program uses the reader.
        case claimed
        /// polkit does not let this session use the reader.
        case notPermitted
        /// The deadline passed before there was an answer.
        case timedOut
        /// The caller did not want the answer any more.
        case cancelled
        /// The bus or fprintd belongs to another user than it must: its answers prove nothing.
        case untrusted
        /// The process has more rights than its caller: nobody is asked.
        case elevated
        /// `VALET_INTERACTION=never`: nobody is asked.
        case interactionOff
        /// The user has no name in the user database, and fprintd knows names only.
        case unknownUser
        /// The reader failed.
        case readerFailed
        /// fprintd answered what nobody can understand.
        case malformed
    }

    /// What the caller can do about it.
    package let code: Code
    /// What was being done: "verify the finger".
    package let operation: String
    /// What helps, for a person.
    package let hint: String?
    /// The error of the layer below, if one led to this.
    package let underlying: (any Error)?

    init(
        _ code: Code, during operation: String = "verify the finger", hint: String? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.operation = operation
        self.hint = hint ?? code.hint
        self.underlying = underlying
    }
}

extension FingerprintError: CustomStringConvertible {
    /// One lower-case line: operation, reason and cause.
    package var description: String {
        let text = "could not \(operation): \(code.explanation)"
        return underlying.map { "\(text) (\($0))" } ?? text
    }
}

extension FingerprintError.Code {
    /// The reason in words: lower case, no full stop.
    package var explanation: String {
        switch self {
        case .noMatch: "the finger is not recognised"
        case .unplugged: "the fingerprint reader was unplugged"
        case .noReader: "there is no fingerprint reader"
        case .nobodyEnrolled: "no finger is enrolled"
        case .serviceAbsent: "the fingerprint service is not there"
        case .serviceEnded: "the fingerprint service went away"
        case .busAbsent: "there is no system bus"
        case .libraryAbsent: "libsystemd cannot be loaded"
        case .claimed: "another program uses the fingerprint reader"
        case .notPermitted: "this session may not use the fingerprint reader"
        case .timedOut: "nobody put a finger on the reader in time"
        case .cancelled: "cancelled"
        case .untrusted: "the fingerprint service belongs to another user than it must"
        case .elevated: "the program has more rights than its caller"
        case .interactionOff: "questions are turned off"
        case .unknownUser: "the user has no name"
        case .readerFailed: "the fingerprint reader failed"
        case .malformed: "the fingerprint service answered nonsense"
        }
    }

    fileprivate var hint: String? {
        switch self {
        case .noReader: "plug in a fingerprint reader that libfprint supports"
        case .nobodyEnrolled: "run fprintd-enroll"
        case .serviceAbsent: "install the Debian package fprintd"
        case .claimed: "try again when the other program has finished"
        case .notPermitted:
            "log in at this machine, or allow net.reactivated.fprint.device.verify in polkit"
        case .interactionOff: "unset VALET_INTERACTION"
        case .noMatch, .unplugged, .serviceEnded, .busAbsent, .libraryAbsent, .timedOut,
            .cancelled, .untrusted, .elevated, .unknownUser, .readerFailed, .malformed:
            nil
        }
    }
}
