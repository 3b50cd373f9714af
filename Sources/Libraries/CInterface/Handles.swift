// SPDX-License-Identifier: Apache-2.0

internal import ValetCInterfaceHeader
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSystem

/// The live objects of one kind, by the handles that the caller has.
///
/// A handle is a number and never an address, so that a freed or invented one, or one of another
/// kind, finds nothing. Numbers are never used twice. They begin at a random place, so that one of
/// another process finds nothing either.
// Sendable because ``ForkLock`` is held wherever the objects are touched.
final class HandleTable<Object: AnyObject & Sendable>: @unchecked Sendable {
    private var objects: [UInt: Object] = [:]
    private var last: UInt

    /// - Parameter kind: 1 to 3. It is in the lowest two bits, so that no handle equals a
    ///   word-aligned address.
    init(kind: UInt) {
        let random = Randomness.bytes(5).reduce(0) { $0 << 8 | UInt($1) }
        last = random << 2 | kind
    }

    func insert(_ object: Object) -> OpaquePointer? {
        unsafe ForkLock.withLock {
            last += 4
            objects[last] = object
            return unsafe OpaquePointer(bitPattern: last)
        }
    }

    func object(_ handle: OpaquePointer?) throws(KeychainFailure) -> Object {
        let number = UInt(bitPattern: handle)
        guard let object = ForkLock.withLock({ objects[number] }) else {
            throw .invalid(
                "the handle is not one of this kind, or was freed")
        }
        return object
    }

    /// Frees a handle; NULL is allowed.
    func remove(_ handle: OpaquePointer?) throws(KeychainFailure) {
        guard unsafe handle != nil else { return }
        let number = UInt(bitPattern: handle)
        // Released outside the lock, because its release wipes memory.
        let object = ForkLock.withLock { objects.removeValue(forKey: number) }
        guard object != nil else {
            throw .invalid("the handle is not one of this kind, or was freed")
        }
    }
}

/// The handles of this process. A child of `fork` inherits them.
enum Handles {
    static let valets = HandleTable<OpenValet>(kind: 1)
    static let secrets = HandleTable<SecretValue>(kind: 2)
    static let keys = HandleTable<KeyList>(kind: 3)
}

/// The keys of a valet at one moment, sorted byte by byte.
///
/// Names of items are secret on the disk, so what the caller reads is in guarded memory and wiped.
/// The texts that it is made from are not: Swift's strings cannot be wiped.
final class KeyList: Sendable {
    private let bytes: SecretBytes
    /// Where each key begins; the NUL that follows it stands before the next one.
    private let starts: [Int]

    init(_ keys: some Sequence<String>) {
        let sorted = keys.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
        var starts = [0]
        for key in sorted { starts.append(starts[starts.count - 1] + key.count + 1) }
        bytes = SecretBytes(byteCount: starts[starts.count - 1]) { span in
            for (key, start) in zip(sorted, starts) {
                for (offset, byte) in key.enumerated() { span[start + offset] = byte }
            }
        }
        self.starts = starts
    }

    var count: Int { starts.count - 1 }

    /// Where a key is, without its NUL; nil for an index beyond the end.
    func range(at index: Int) -> Range<Int>? {
        guard index >= 0, index < count else { return nil }
        return starts[index]..<starts[index + 1] - 1
    }

    /// Lends the keys, each followed by a NUL.
    func withBytes<R>(_ body: (Span<UInt8>) -> R) -> R { bytes.withBytes(body) }
}
