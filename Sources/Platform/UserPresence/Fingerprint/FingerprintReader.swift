// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// The fingerprint readers of this machine, as fprintd has them.
///
/// Each call makes its own connection to the bus. Closing it ends all that fprintd still does for
/// the call. Calls of several threads and processes are independent: one at a time gets the reader,
/// the others fail with `claimed`.
package struct FingerprintReader: Sendable {
    /// How many scans of fingers that are not enrolled end a verification.
    package static let tryCount = 3

    private let bus: BusPlace
    private let serviceUser: UInt32
    private let environment: Environment

    /// The readers on the system bus. Its socket and its fprintd must belong to root; no
    /// environment variable changes that.
    package init() {
        self.init(bus: .system, serviceUser: 0)
    }

    /// The readers on another bus, whose fprintd must belong to `serviceUser`, in a process with
    /// `environment`. For tests.
    package init(
        bus: BusPlace, serviceUser: UInt32, environment: Environment = .ofProcess
    ) {
        self.bus = bus
        self.serviceUser = serviceUser
        self.environment = environment
    }

    /// Finds out, without asking a person, whether a finger could be verified now: which fingers
    /// the user has enrolled on each reader.
    ///
    /// - Returns: At least one state. Readers without fingers of the user are left out. Two readers
    ///   with the same name and the same fingers have equal states.
    /// - Throws: Every code of ``SystemError`` except `noMatch`, `claimed` and
    ///   `interactionOff`.
    package func enrolments(
        until deadline: Deadline, cancellation: Cancellation? = nil
    ) throws(SystemError) -> [EnrolmentState] {
        let limit = WaitLimit(until: deadline, cancellation: cancellation)
        var session = try session(limit)
        return try session.enrolledDevices().map(\.state)
    }

    /// Asks a person to put a finger on the reader, up to ``tryCount`` times.
    ///
    /// Blocks the calling thread until the deadline or the cancellation, and then at most one more
    /// second to release the reader.
    ///
    /// - Parameters:
    ///   - enrolment: The bytes of the state of the reader to use. With nil, or if no reader has
    ///     that state, the first reader is used.
    ///   - report: Called on the calling thread with each event to show to the person.
    /// - Returns: The fingers that were enrolled when the finger was recognised. They cannot be
    ///   changed during a verification.
    /// - Throws: Every code of ``SystemError``.
    package func verify(
        _ enrolment: [UInt8]? = nil, until deadline: Deadline, cancellation: Cancellation? = nil,
        report: (FingerprintEvent) -> Void = { _ in }
    ) throws(SystemError) -> EnrolmentState {
        // Any other value turns questions off, too. `PasscodeAsker` reports an unknown value.
        let setting = environment.value("VALET_INTERACTION") ?? ""
        guard environment.isElevated || setting.isEmpty else {
            throw SystemError.finger(.interactionOff)
        }
        let limit = WaitLimit(until: deadline, cancellation: cancellation)
        var session = try session(limit)
        return try session.verify(enrolment, report)
    }

    private func session(_ limit: WaitLimit) throws(SystemError) -> FingerprintSession {
        guard !environment.isElevated else { throw SystemError.finger(.elevated) }
        let name: String
        do {
            name = try Environment.userNameFromUserDatabase()
        } catch {
            throw SystemError.finger(.unknownUser)
        }
        return try FingerprintSession.begin(
            bus, serviceUser: serviceUser, userName: name, limit)
    }
}

/// An event to show to the person whose finger is being verified.
package enum FingerprintEvent: Hashable, Sendable {
    /// How to use a finger on a reader.
    package enum Gesture: Hashable, Sendable {
        /// Put it on the reader.
        case press
        /// Move it over the reader.
        case swipe
    }

    /// Why a scan was unusable. The reader still waits for the finger.
    package enum RetryReason: Hashable, Sendable {
        /// fprintd gave no reason.
        case unclear
        /// The finger was moved too quickly, or not far enough.
        case tooShort
        /// The finger was not in the middle.
        case notCentered
        /// The finger must be taken off first.
        case removeFinger
    }

    /// The reader of that name waits for a finger.
    case waiting(reader: String, gesture: Gesture)
    /// A scan was unusable; it does not count as a try.
    case retry(RetryReason)
    /// The finger is not enrolled; one or two more tries are left.
    case noMatch(triesLeft: Int)
}
