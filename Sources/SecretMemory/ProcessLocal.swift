// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// A value that each process has its own of: a child of `fork` makes another at its first use.
///
/// Nothing is locked, so that a child never waits for a thread that it does not have. What a
/// process made lives as long as this object. What a parent made is never freed in the child:
/// threads that no longer exist may be in the middle of it.
// Sendable because the one word that changes is atomic and the nodes it names never change.
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
    private let make: @Sendable (_ inherited: Value?) -> Value

    /// - Parameter make: Makes the value of this process; it is handed the parent's, if there was
    ///   one. Two threads that are first at once both make one, and one of the two is dropped.
    package init(_ make: @escaping @Sendable (_ inherited: Value?) -> Value) {
        self.make = make
    }

    /// The value of this process; costs two loads once it is made.
    package var value: Value {
        let seen = current.load(ordering: .acquiring)
        let generation = ProcessGeneration.current
        if let node = Self.node(seen), node.generation == generation { return node.value }
        return replace(seen, generation)
    }

    @inline(never)
    private func replace(_ seen: UInt, _ generation: UInt64) -> Value {
        let inherited = Self.node(seen)?.value
        let node = unsafe Unmanaged.passRetained(Node(generation, make(inherited)))
        let bits = UInt(bitPattern: unsafe node.toOpaque())
        let (exchanged, _) = current.compareExchange(
            expected: seen, desired: bits, ordering: .acquiringAndReleasing)
        if exchanged { return unsafe node.takeUnretainedValue().value }
        unsafe node.release()
        return value
    }

    deinit {
        // Nobody else has this object any more, hence nobody is about to read the word.
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
