// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import ValetSystem

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
        let bits = current.load(ordering: .acquiring)
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: bits) else { return nil }
        // This object owns the node, which therefore needs no count of its own.
        return unsafe Unmanaged<Node>.fromOpaque(pointer)._withUnsafeGuaranteedRef { node in
            node.generation == generation ? node.value : nil
        }
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
