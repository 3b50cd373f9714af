// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// A lock that no other thread holds while the process forks: what it protects is whole in a child
/// of `fork`. The table of handles of the C interface has it.
///
/// All users share it, so hold it for a few instructions only, and release no object under it.
// Sendable because the pointer is constant, and the C library protects what it points to.
@safe package final class ForkLock: @unchecked Sendable {
    private static let shared = ForkLock()

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let sample = Mutex(())

    private init() {
        unsafe mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        // POSIX, pthread_atfork: the forking thread takes the lock, and parent and child each
        // release it. A raw clone(2) runs no handlers.
        pthread_atfork(
            { ForkLock.shared.prepare() }, { ForkLock.shared.unlock() },
            { ForkLock.shared.unlock() })
    }

    /// Runs `body` while no other thread runs one.
    package static func withLock<R>(_ body: () -> R) -> R {
        shared.lock()
        defer { shared.unlock() }
        return body()
    }

    /// Makes sure that forks are handled, before the first handle.
    package static func start() { _ = shared }

    /// Called in the forking thread, before the fork.
    private func prepare() {
        // Swift's Mutex keeps the thread's number in several variables, each set at its first use.
        // In a child those that are set have the parent's number. If locking uses another variable
        // than unlocking, they have to be set together, or the child ends at its first lock.
        sample.withLock { _ in }
        _ = sample.withLockIfAvailable { _ in }
        lock()
    }

    private func lock() { unsafe pthread_mutex_lock(mutex) }

    private func unlock() { unsafe pthread_mutex_unlock(mutex) }
}
