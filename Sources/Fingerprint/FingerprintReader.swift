// SPDX-License-Identifier: Apache-2.0

package import ValetSystem
package import ValetSystemBus

/// The fingerprint readers of this machine, as fprintd has them.
///
/// Each call makes its own connection to the bus and ends it, and with it whatever fprintd still
/// does for us. Calls of several threads and processes are independent; one at a time gets the
/// reader, the others are told `claimed`.
package struct FingerprintReader: Sendable {
    /// How many scans of fingers that are not enrolled end a verification.
    package static let tryCount = 3

    private let bus: BusPlace
    private let serviceUser: UInt32
    private let environment: Environment

    /// Those on the system bus, whose socket and whose fprintd must be root's, whatever the
    /// environment says.
    package init() {
        self.init(bus: .system, serviceUser: 0)
    }

    /// Those on another bus, whose fprintd must be `serviceUser`'s, in a process with
    /// `environment`: for tests.
    package init(
        bus: BusPlace, serviceUser: UInt32, environment: Environment = .ofProcess
    ) {
        self.bus = bus
        self.serviceUser = serviceUser
        self.environment = environment
    }

    /// Finds out whether a finger could be verified now, without asking anybody: which fingers the
    /// user has enrolled on each reader.
    ///
    /// - Returns: At least one; readers without fingers of the user have none. Two readers of one
    ///   name with the same fingers have the same.
    /// - Throws: Every code of ``FingerprintError`` but `noMatch`, `claimed` and `interactionOff`.
    package func enrolments(
        until deadline: Deadline, cancellation: Cancellation? = nil
    ) throws(FingerprintError) -> [EnrolmentState] {
        let patience = Patience(until: deadline, cancellation: cancellation)
        var session = try session(patience)
        return try session.enrolledDevices().map(\.state)
    }

    /// Has a person put a finger on the reader, up to ``tryCount`` times.
    ///
    /// The calling thread is blocked until the deadline, or until another thread uses
    /// `cancellation`, and then for up to a second more, while the reader is let go.
    ///
    /// - Parameters:
    ///   - enrolment: The bytes of the state of the reader to use; nil, and if no reader has that
    ///     state, for the first.
    ///   - report: is told, on the calling thread, what the person is to be told.
    /// - Returns: The fingers that were enrolled while the one was recognised: nobody can change
    ///   them during a verification.
    /// - Throws: Every code of ``FingerprintError``.
    package func verify(
        _ enrolment: [UInt8]? = nil, until deadline: Deadline, cancellation: Cancellation? = nil,
        report: (FingerprintEvent) -> Void = { _ in }
    ) throws(FingerprintError) -> EnrolmentState {
        // Any other value turns questions off, too: `PasscodeAsker` reports one that means nothing.
        let setting = environment.value("VALET_INTERACTION") ?? ""
        guard environment.isElevated || setting.isEmpty else {
            throw FingerprintError(.interactionOff)
        }
        let patience = Patience(until: deadline, cancellation: cancellation)
        var session = try session(patience)
        return try session.verify(enrolment, report)
    }

    private func session(_ patience: Patience) throws(FingerprintError) -> FingerprintSession {
        guard !environment.isElevated else { throw FingerprintError(.elevated) }
        let name: String
        do throws(SystemError) {
            name = try Environment.userNameFromUserDatabase()
        } catch {
            throw FingerprintError(.unknownUser, underlying: error)
        }
        return try FingerprintSession.begin(
            bus, serviceUser: serviceUser, userName: name, patience)
    }
}
