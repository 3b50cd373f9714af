// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

// Verifies a finger of the person at this machine, through fprintd.
//
// The answer is a policy decision of trusted software: fprintd, the bus, and this process. It
// decrypts nothing. Calls wait for a person: never make them on the cooperative thread pool.

/// Why no finger was recognised, beside the errors of calls over the bus.
extension SystemError.Code {
    /// Three scans in a row were of fingers that are not enrolled.
    package static let noMatch = Self("noMatch", "the finger is not recognised")
    package static let unplugged = Self("unplugged", "the fingerprint reader was unplugged")
    package static let noReader = Self("noReader", "there is no fingerprint reader")
    /// There is a reader, and the user has no finger enrolled on any.
    package static let nobodyEnrolled = Self("nobodyEnrolled", "no finger is enrolled")
    package static let claimed = Self("claimed", "another program uses the fingerprint reader")
    /// polkit does not let this session use the reader.
    package static let notPermitted = Self(
        "notPermitted", "this session may not use the fingerprint reader")
    /// The process has more rights than its caller: no one is asked.
    package static let elevated = Self("elevated", "the program has more rights than its caller")
    /// `VALET_INTERACTION=never`: no one is asked.
    package static let interactionOff = Self("interactionOff", "questions are turned off")
    /// The user has no name in the user database, and fprintd identifies users by name.
    package static let unknownUser = Self("unknownUser", "the user has no name")
    package static let readerFailed = Self("readerFailed", "the fingerprint reader failed")

    /// Every code of the calls about fingers that is not an error of fprintd's own.
    package static let ofFingers: [Self] = [
        .noMatch, .unplugged, .noReader, .nobodyEnrolled, .serviceAbsent, .serviceEnded,
        .busAbsent, .libraryAbsent, .claimed, .notPermitted, .timedOut, .cancelled, .untrusted,
        .elevated, .interactionOff, .unknownUser, .readerFailed, .malformed,
    ]
}

extension SystemError {
    static func finger(
        _ code: Code, during operation: String = "verify the finger", hint: String? = nil
    ) -> SystemError {
        SystemError(code, during: operation, hint: hint ?? code.hintOnFingers)
    }

    /// This error, of the bus or of fprintd, translated into an error of the calls about fingers.
    var ofFinger: SystemError {
        let meant: Code =
            switch code {
            case .disconnected: .serviceEnded
            case .other: .readerFailed
            default: code.refusal.map(Code.init(errorName:)) ?? code
            }
        return SystemError(
            meant, during: operation, path: path, hint: hint ?? meant.hintOnFingers,
            systemError: systemError)
    }
}

extension SystemError.Code {
    fileprivate var hintOnFingers: String? {
        switch self {
        case .noReader: "plug in a fingerprint reader that libfprint supports"
        case .nobodyEnrolled: "run fprintd-enroll"
        case .serviceAbsent: "install the Debian package fprintd"
        case .claimed: "try again when the other program has finished"
        case .notPermitted:
            "log in at this machine, or allow net.reactivated.fprint.device.verify in polkit"
        case .interactionOff: "unset VALET_INTERACTION"
        default: nil
        }
    }

    /// The errors of fprintd (see its file net.reactivated.Fprint.Device.xml) and of the bus.
    fileprivate init(errorName name: String) {
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
