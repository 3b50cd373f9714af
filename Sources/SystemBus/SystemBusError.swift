// SPDX-License-Identifier: Apache-2.0

/// Speaks with services of the machine over its message bus.
///
/// The module wraps sd-bus of libsystemd, which it loads when it is first needed. It knows the bus
/// and who owns a name on it; what a service does is its caller's concern. Its calls wait: never
/// make them on the cooperative thread pool.
///
/// This is the one error of the module: what was being done, why it failed and, where a person can
/// mend it, how.
package struct SystemBusError: Error, Hashable, Sendable {
    /// What the caller can do about it.
    @nonexhaustive
    package enum Code: Hashable, Sendable {
        /// libsystemd is not installed, or too old.
        case libraryAbsent
        /// Nobody listens where the bus should be; `systemError` says why.
        case busAbsent
        /// The bus or the service belongs to another user than it must.
        case untrusted
        /// Nobody on the bus offers the service, and it could not be started.
        case serviceAbsent
        /// The service went away.
        case serviceEnded
        /// The service, or the bus for it, answered with the error of this name.
        case refused(String)
        /// There was no answer before the deadline.
        case timedOut
        /// Nobody wants the answer any more.
        case cancelled
        /// The bus went away, or does not speak as a bus does.
        case disconnected
        /// The answer is of another form than was asked for.
        case malformed
        /// The system refused; `systemError` says why.
        case other
    }

    /// What the caller can do about it.
    package let code: Code
    /// What was being done: "connect to the system bus".
    package let operation: String
    /// What helps, for a person.
    package let hint: String?
    /// `errno`, where the system gave a reason; else 0.
    package let systemError: Int32

    init(_ code: Code, during operation: String, hint: String? = nil, systemError: Int32 = 0) {
        self.code = code
        self.operation = operation
        self.hint = hint
        self.systemError = systemError
    }
}

extension SystemBusError: CustomStringConvertible {
    /// One lower-case line: operation, reason and codes.
    package var description: String {
        let text = "could not \(operation): \(code.reason)"
        return systemError == 0 ? text : text + ", errno \(systemError)"
    }
}

extension SystemBusError.Code {
    fileprivate var reason: String {
        switch self {
        case .libraryAbsent: "libsystemd cannot be loaded"
        case .busAbsent: "there is no system bus"
        case .untrusted: "it belongs to another user than it must"
        case .serviceAbsent: "the service is not there"
        case .serviceEnded: "the service went away"
        case .refused(let name): "refused (\(name))"
        case .timedOut: "no answer in time"
        case .cancelled: "cancelled"
        case .disconnected: "the system bus went away"
        case .malformed: "the answer makes no sense"
        case .other: "the system refused"
        }
    }
}
