// SPDX-License-Identifier: Apache-2.0

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
