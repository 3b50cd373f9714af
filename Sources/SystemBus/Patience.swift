// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import ValetSystem

/// How long somebody waits: until a deadline, or until they want the answer no more.
package struct Patience: Sendable {
    /// When the waiting ends.
    package let deadline: Deadline
    /// What ends it earlier.
    package let cancellation: Cancellation?

    /// Waits until `deadline`, or until `cancellation`.
    package init(until deadline: Deadline, cancellation: Cancellation? = nil) {
        self.deadline = deadline
        self.cancellation = cancellation
    }

    /// - Throws: `cancelled`, `timedOut` once it is over.
    func check(_ operation: String) throws(SystemBusError) {
        if cancellation?.isCancelled == true {
            throw SystemBusError(.cancelled, during: operation)
        }
        if deadline.hasPassed { throw SystemBusError(.timedOut, during: operation) }
    }

    /// Waits until `descriptor` is ready for one of `events`, as poll(2) names them.
    ///
    /// - Throws: `cancelled`, `timedOut`, `other`.
    func wait(
        for descriptor: Int32, events: Int32, during operation: String
    ) throws(SystemBusError) {
        var requests = [
            pollfd(fd: cancellation?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0),
        ]
        while true {
            let count = unsafe poll(&requests, 2, deadline.pollMilliseconds)
            let code = errno
            guard count >= 0 || code == EINTR else {
                throw SystemBusError(.other, during: operation, systemError: code)
            }
            try check(operation)
            if count > 0 { return }
        }
    }
}
