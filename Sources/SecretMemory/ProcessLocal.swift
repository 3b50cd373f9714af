// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// A value that every process has for itself: a child of `fork` makes its own at the first use.
///
/// It uses no lock, so that a child never waits for a thread that it does not have. A process's
/// value lives as long as this object. A child never frees the value of its parent, because threads
/// that no longer exist may be using it.
// Sendable because the words that change are atomic, and the nodes that one names never change.
@safe package final class ProcessLocal<Value: AnyObject & Sendable>: @unchecked Sendable {
    private final class Node: Sendable {
        let generation: UInt64
        let value: Value

        init(_ generation: UInt64, _ value: Value) {
            self.generation = generation
            self.value = value
        }
    }

    private let current = Atomic<UInt>(0)
    /// The last process in which a thread has begun to make the value.
    private let maker = Atomic<UInt64>(0)
    private let make: @Sendable (_ inherited: Value?) -> Value

    /// - Parameter make: Makes the value of this process, from the parent's, if there was one. One
    ///   thread of a process calls it, and the others wait for the value.
    package init(_ make: @escaping @Sendable (_ inherited: Value?) -> Value) {
        self.make = make
    }

    /// The value of this process; costs two loads once made.
    package var value: Value {
        let generation = ProcessGeneration.current
        return known(generation) ?? make(for: generation)
    }

    private func known(_ generation: UInt64) -> Value? {
        guard let node = Self.node(current.load(ordering: .acquiring)),
            node.generation == generation
        else { return nil }
        return node.value
    }

    @inline(never)
    private func make(for generation: UInt64) -> Value {
        let last = maker.load(ordering: .acquiring)
        let isMaker =
            last != generation
            && maker.compareExchange(
                expected: last, desired: generation, ordering: .acquiringAndReleasing
            ).exchanged
        guard isMaker else {
            // The maker is a thread of this process: each process has a number of its own.
            while true {
                if let value = known(generation) { return value }
                sched_yield()
            }
        }
        let inherited = Self.node(current.load(ordering: .acquiring))?.value
        let node = Node(generation, make(inherited))
        let bits = UInt(bitPattern: unsafe Unmanaged.passRetained(node).toOpaque())
        current.store(bits, ordering: .releasing)
        return node.value
    }

    deinit {
        // No other owner exists, so no other thread reads the word.
        let bits = current.load(ordering: .acquiring)
        guard let node = Self.node(bits), node.generation == ProcessGeneration.current else {
            return
        }
        unsafe Unmanaged.passUnretained(node).release()
    }

    private static func node(_ bits: UInt) -> Node? {
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: bits) else { return nil }
        return unsafe Unmanaged<Node>.fromOpaque(pointer).takeUnretainedValue()
    }
}

/// Which process this is, counted in forks: distinguishes inherited state from a process's own.
///
/// A child of `fork`, of `vfork` without exec, or of a raw `clone` sees another number than its
/// parent, for the cost of one load. It is here because every module with inheritable state imports
/// `SecretMemory`.
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
        // If two threads come first concurrently, the number of the faster one counts.
        let (exchanged, original) = unsafe page.pointee.compareExchange(
            expected: 0, desired: fresh, ordering: .acquiringAndReleasing)
        return exchanged ? fresh : original
    }
}
