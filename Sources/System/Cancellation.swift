// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import ValetCLinux

/// Tells a thread that waits that nobody wants its answer any more.
///
/// One is made per answer, and stays cancelled. Any thread may cancel it, any number may wait.
package final class Cancellation: Sendable {
    private let bell: HeldDescriptor
    private let flag = Atomic(false)

    /// Makes one that nobody has cancelled.
    ///
    /// - Throws: ``SystemError``: `cannotOpen`, `inputOutput` if the process can open nothing
    ///   more.
    package init() throws(SystemError) {
        bell = HeldDescriptor(
            holding: FileDescriptor(owning: eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))))
        guard bell.number >= 0 else {
            throw SystemError(errno: errno, during: "prepare to be cancelled", path: nil)
        }
    }

    /// An eventfd(2): readable from the moment that it was cancelled, to be polled and not read.
    package var descriptor: Int32 { bell.number }

    /// Whether it was cancelled.
    package var isCancelled: Bool { flag.load(ordering: .acquiring) }

    /// Ends all waiting, now and later. Takes no lock.
    package func cancel() {
        flag.store(true, ordering: .releasing)
        // It can only fail when it was cancelled 2^64 times.
        if bell.isSound { _ = eventfd_write(bell.number, 1) }
    }
}
