// SPDX-License-Identifier: Apache-2.0

// The errors of calls over a bus.

extension SystemError.Code {
    /// libsystemd is not installed, or too old.
    package static let libraryAbsent = Self("libraryAbsent", "libsystemd cannot be loaded")
    /// No process listens at the address of the bus; `systemError` says why.
    package static let busAbsent = Self("busAbsent", "there is no such bus")
    /// The bus or the service belongs to the wrong user.
    package static let untrusted = Self("untrusted", "it belongs to the wrong user")
    /// The service does not run, and could not be started.
    package static let serviceAbsent = Self("serviceAbsent", "the service is missing")
    package static let serviceEnded = Self("serviceEnded", "the service ended")
    /// No answer arrived before the deadline.
    package static let timedOut = Self("timedOut", "nobody answered in time")
    /// The caller cancelled the call.
    package static let cancelled = Self("cancelled", "cancelled")
    /// The bus closed the connection, or does not follow the D-Bus protocol.
    package static let disconnected = Self("disconnected", "the connection to the bus was lost")

    private static let refusalMark = "refused: "

    /// The service, or the bus in its place, answered with the error of this name.
    package static func refused(_ name: String) -> Self {
        Self(refusalMark + name, "refused (\(name))")
    }

    /// The name of the error that a service or the bus answered with; nil for other codes.
    package var refusal: String? {
        name.hasPrefix(Self.refusalMark) ? String(name.dropFirst(Self.refusalMark.count)) : nil
    }
}
