// SPDX-License-Identifier: Apache-2.0

/// Verifies a finger of the person at this machine, through fprintd.
///
/// The answer is a policy decision of trusted software: fprintd, the bus, and this process. It
/// decrypts nothing. Calls wait for a person: never make them on the cooperative thread pool.
///
/// The package calls of this module throw this error: the operation, the reason why no finger was
/// recognised, and the remedy, if there is one.
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
        /// fprintd or the bus ended during the call.
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
        /// The caller used the cancellation.
        case cancelled
        /// The bus or fprintd belongs to the wrong user: its answers prove nothing.
        case untrusted
        /// The process has more rights than its caller: no one is asked.
        case elevated
        /// `VALET_INTERACTION=never`: no one is asked.
        case interactionOff
        /// The user has no name in the user database, and fprintd identifies users by name.
        case unknownUser
        /// The reader failed.
        case readerFailed
        /// fprintd's answer does not follow its interface.
        case malformed
    }

    /// What the caller can do about it.
    package let code: Code
    /// The operation, such as "verify the finger".
    package let operation: String
    /// The remedy, for a person.
    package let hint: String?
    /// The error of the bus that caused this one.
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
        case .serviceAbsent: "the fingerprint service is missing"
        case .serviceEnded: "the fingerprint service ended"
        case .busAbsent: "there is no system bus"
        case .libraryAbsent: "libsystemd cannot be loaded"
        case .claimed: "another program uses the fingerprint reader"
        case .notPermitted: "this session may not use the fingerprint reader"
        case .timedOut: "no finger was put on the reader in time"
        case .cancelled: "cancelled"
        case .untrusted: "the fingerprint service belongs to the wrong user"
        case .elevated: "the program has more rights than its caller"
        case .interactionOff: "questions are turned off"
        case .unknownUser: "the user has no name"
        case .readerFailed: "the fingerprint reader failed"
        case .malformed: "the answer of the fingerprint service is invalid"
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

extension FingerprintError {
    /// Translates an error of the bus, or an error of fprintd that came over it.
    init(_ error: SystemBusError) {
        self.init(
            Code(error.code), during: error.operation, hint: error.hint, underlying: error)
    }
}

extension FingerprintError.Code {
    fileprivate init(_ code: SystemBusError.Code) {
        switch code {
        case .libraryAbsent: self = .libraryAbsent
        case .busAbsent: self = .busAbsent
        case .untrusted: self = .untrusted
        case .serviceAbsent: self = .serviceAbsent
        case .serviceEnded, .disconnected: self = .serviceEnded
        case .timedOut: self = .timedOut
        case .cancelled: self = .cancelled
        case .malformed: self = .malformed
        case .refused(let name): self.init(errorName: name)
        case .other: self = .readerFailed
        }
    }

    /// The errors of fprintd (see its file net.reactivated.Fprint.Device.xml) and of the bus.
    private init(errorName name: String) {
        switch name {
        case "net.reactivated.Fprint.Error.AlreadyInUse": self = .claimed
        case "net.reactivated.Fprint.Error.NoEnrolledPrints": self = .nobodyEnrolled
        case "net.reactivated.Fprint.Error.PermissionDenied",
            "org.freedesktop.DBus.Error.AccessDenied":
            self = .notPermitted
        // fprintd removes the object of an unplugged reader.
        case "net.reactivated.Fprint.Error.NoSuchDevice",
            "org.freedesktop.DBus.Error.UnknownObject",
            "org.freedesktop.DBus.Error.UnknownMethod":
            self = .unplugged
        default: self = .readerFailed
        }
    }
}
