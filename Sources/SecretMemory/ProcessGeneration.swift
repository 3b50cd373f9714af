// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// Which process this is, counted in forks: how inherited state is told from our own.
///
/// A child of `fork`, `vfork` without exec, or a raw `clone` sees another number than its parent,
/// at the price of one load. This is a mechanism of processes rather than of secrets; it lies here
/// because `SecretMemory` is the one module that every module with inheritable state imports.
package enum ProcessGeneration {
    /// The number of this process: never 0, the same for every thread and call of one process, and
    /// not that of any process it descends from.
    ///
    /// Costs a few nanoseconds. Never allocates or takes a lock, so it may be asked right after a
    /// fork of a process with many threads. Numbers of two processes that do not descend from each
    /// other may be equal.
    package static var current: UInt64 { counter.current }

    private static let counter = ForkCounter()
}

// Sendable because the pointer is constant and what it points to is atomic.
@safe private struct ForkCounter: ~Copyable, @unchecked Sendable {
    /// A page that the kernel hands to every child filled with zeros, or nil where it cannot
    /// (before Linux 4.14); the process id then does the job, at the price of a system call.
    private let page: UnsafeMutablePointer<Atomic<UInt64>>?
    /// The last number given out. It is inherited, so a child counts on from its parent.
    private let last = Atomic<UInt64>(0)

    init() { unsafe page = Self.makePage() }

    var current: UInt64 {
        guard let page = unsafe page else { return UInt64(getpid()) }
        let seen = unsafe page.pointee.load(ordering: .acquiring)
        return seen != 0 ? seen : unsafe nextGeneration(into: page)
    }

    private static func makePage() -> UnsafeMutablePointer<Atomic<UInt64>>? {
        let size = sysconf(Int32(_SC_PAGESIZE))
        guard
            let memory = unsafe mmap(
                nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            Int(bitPattern: memory) != -1  // MAP_FAILED
        else { return nil }
        guard unsafe madvise(memory, size, Int32(MADV_WIPEONFORK)) == 0 else {
            unsafe munmap(memory, size)
            return nil
        }
        let page = unsafe memory.bindMemory(to: Atomic<UInt64>.self, capacity: 1)
        unsafe page.initialize(to: Atomic(0))
        return unsafe page
    }

    @inline(never)
    private borrowing func nextGeneration(into page: UnsafeMutablePointer<Atomic<UInt64>>) -> UInt64
    {
        let fresh = last.wrappingAdd(1, ordering: .relaxed).newValue
        // Two threads may be first at once; the number of the one that gets here first holds.
        let (exchanged, original) = unsafe page.pointee.compareExchange(
            expected: 0, desired: fresh, ordering: .acquiringAndReleasing)
        return exchanged ? fresh : original
    }
}
