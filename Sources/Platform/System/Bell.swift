// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Wakes threads of this process that wait, some of them also for other descriptors: a counter of
/// rings, eventfd(2). Each ring is taken once.
package struct Bell: ~Copyable, Sendable {
    /// A descriptor to poll, readable while there are rings.
    package let descriptor: Int32

    /// - Throws: ``SystemError`` if the process can open nothing more.
    package init() throws(SystemError) {
        let flags = Int32(EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE)
        descriptor = valet_above_streams(eventfd(0, flags))
        guard descriptor >= 0 else {
            throw SystemError(errno: errno, during: "make a bell", path: nil)
        }
    }

    deinit { close(descriptor) }

    package func ring() {
        // Fails only if the counter overflows.
        _ = eventfd_write(descriptor, 1)
    }

    /// Takes a ring; false if there is none.
    package func take() -> Bool {
        var count: eventfd_t = 0
        return unsafe eventfd_read(descriptor, &count) == 0
    }

    /// Waits for a ring, and takes it; false at the deadline.
    package func wait(until deadline: Deadline) -> Bool {
        while !take() {
            var requests = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            guard Poll.wait(for: &requests, until: deadline) else { return false }
        }
        return true
    }
}
