// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A lock for the threads of one process, granted in order of arrival. Waiting ends at a deadline.
package final class FairLock: Sendable {
    private struct State {
        var isHeld = false
        var waiters: [Waiter] = []
    }

    private let state = Lock(State())

    package init() {}

    /// Waits for the lock.
    ///
    /// - Returns: `false` if the deadline passes before the lock is free.
    package func acquire(before deadline: Deadline) -> Bool {
        let waiter: Waiter? = state.withLock { state in
            guard state.isHeld else {
                state.isHeld = true
                return nil
            }
            let waiter = Waiter()
            state.waiters.append(waiter)
            return waiter
        }
        guard let waiter else { return true }
        if waiter.wait(until: deadline) { return true }
        return state.withLock { state in
            // No longer in the queue: `release` granted the lock after the wait had ended.
            guard let place = state.waiters.firstIndex(where: { $0 === waiter }) else {
                return true
            }
            state.waiters.remove(at: place)
            return false
        }
    }

    /// How many threads wait now.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Hands the lock to the thread that has waited longest.
    package func release() {
        state.withLock { state in
            guard !state.waiters.isEmpty else {
                state.isHeld = false
                return
            }
            state.waiters.removeFirst().wake()
        }
    }
}

/// One thread in a queue: it waits until another thread wakes it.
// Sendable because several threads may use a semaphore at once.
@safe package final class Waiter: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    /// Makes a waiter that was not woken.
    package init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe semaphore.initialize(to: sem_t())
        unsafe sem_init(semaphore, 0, 0)
    }

    /// Waits until ``wake()`` was called, or the deadline has passed.
    ///
    /// - Returns: `false` if the deadline passes before ``wake()`` was called.
    package func wait(until deadline: Deadline) -> Bool {
        while unsafe valet_semaphore_wait(semaphore, deadline.nanoseconds) != 0 {
            guard errno == EINTR else { return false }
        }
        return true
    }

    /// Ends the wait, now or when it begins. The waiting thread sees all earlier writes of this
    /// thread.
    package func wake() {
        unsafe sem_post(semaphore)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }
}
