// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A value that one thread at a time may touch.
///
/// It is a POSIX mutex and not Swift's, because threads of a child of `fork` use it too. Swift's
/// mutex takes the thread id from a variable, which a child inherits with the id of the parent's
/// thread: when two threads of a child contend for one such mutex, Swift 6.3 ends the process.
// Sendable because the mutex is held wherever the value is touched.
@safe package struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    @usableFromInline let mutex = ThreadMutex()
    @usableFromInline let value: UnsafeMutablePointer<Value>

    /// A lock that is free.
    @inlinable package init(_ value: consuming sending Value) {
        unsafe self.value = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe self.value.initialize(to: value)
    }

    deinit {
        unsafe value.deinitialize(count: 1)
        unsafe value.deallocate()
        mutex.free()
    }

    /// Runs `body` while no other thread can touch the value.
    @inlinable package borrowing func withLock<R: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R {
        mutex.lock()
        defer { mutex.unlock() }
        return try unsafe body(&value.pointee)
    }

    /// Runs `body` while no other thread can touch the value; returns nil, and runs nothing, if a
    /// thread holds the lock.
    @inlinable package borrowing func withLockIfAvailable<R: ~Copyable, E: Error>(
        _ body: (inout sending Value) throws(E) -> sending R
    ) throws(E) -> sending R? {
        guard mutex.tryLock() else { return nil }
        defer { mutex.unlock() }
        return try unsafe body(&value.pointee)
    }
}

/// POSIX's mutex, at a place of its own. ``Lock`` and ``ForkLock`` own one each.
// Sendable because the pointer is constant, and the C library protects the mutex.
@safe package struct ThreadMutex: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    /// A free mutex. The owner frees its memory with ``free()``.
    @usableFromInline init() {
        unsafe mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    @usableFromInline func lock() { unsafe pthread_mutex_lock(mutex) }

    @usableFromInline func tryLock() -> Bool { unsafe pthread_mutex_trylock(mutex) == 0 }

    @usableFromInline func unlock() { unsafe pthread_mutex_unlock(mutex) }

    @usableFromInline func free() {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }
}
