// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// Which process this is, counted in forks: distinguishes inherited state from a process's own.
///
/// A child of `fork`, of `vfork` without exec, or of a raw `clone` sees another number than its
/// parent, for the cost of one load.
package enum ProcessGeneration {
    /// The number of this process: never 0, the same for every thread and call of one process, and
    /// different from that of every ancestor.
    ///
    /// Costs a few nanoseconds. Never allocates or locks, so it is safe right after the fork of a
    /// process with many threads. Two processes of which neither descends from the other may have
    /// equal numbers.
    package static var current: UInt64 { counter.current }

    private static let counter = ForkCounter()
}

// Sendable because the pointer is constant and what it points to is atomic.
@safe private struct ForkCounter: ~Copyable, @unchecked Sendable {
    /// A page that the kernel fills with zeros in every child; nil if it cannot (before Linux
    /// 4.14). Then the process id serves instead, for the cost of a system call.
    private let page: UnsafeMutablePointer<Atomic<UInt64>>?
    /// The last number used. A child inherits it and counts on.
    private let last = Atomic<UInt64>(0)

    init() { unsafe page = Self.makePage() }

    var current: UInt64 {
        guard let page = unsafe page else { return UInt64(getpid()) }
        let seen = unsafe page.pointee.load(ordering: .acquiring)
        return seen != 0 ? seen : unsafe nextGeneration(into: page)
    }

    private static func makePage() -> UnsafeMutablePointer<Atomic<UInt64>>? {
        let size = Int(getpagesize())
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
        // If two threads get here at the same time, the number of the faster one counts.
        let (exchanged, original) = unsafe page.pointee.compareExchange(
            expected: 0, desired: fresh, ordering: .acquiringAndReleasing)
        return exchanged ? fresh : original
    }
}
