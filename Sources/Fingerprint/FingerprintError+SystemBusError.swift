// SPDX-License-Identifier: Apache-2.0

internal import ValetSystemBus

extension FingerprintError {
    /// What an error of the bus, or one of fprintd that came over it, means for the finger.
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

    /// The errors of fprintd (its file net.reactivated.Fprint.Device.xml), and those of the bus.
    private init(errorName name: String) {
        switch name {
        case "net.reactivated.Fprint.Error.AlreadyInUse": self = .claimed
        case "net.reactivated.Fprint.Error.NoEnrolledPrints": self = .nobodyEnrolled
        case "net.reactivated.Fprint.Error.PermissionDenied",
            "org.freedesktop.DBus.Error.AccessDenied":
            self = .notPermitted
        // The object of a reader goes with the reader.
        case "net.reactivated.Fprint.Error.NoSuchDevice",
            "org.freedesktop.DBus.Error.UnknownObject",
            "org.freedesktop.DBus.Error.UnknownMethod":
            self = .unplugged
        default: self = .readerFailed
        }
    }
}
