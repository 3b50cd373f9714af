// SPDX-License-Identifier: Apache-2.0

internal import ValetSystem

/// Copies of the small blobs bound to a statement, such as the hash that names a row.
///
/// SQLite would allocate memory for each copy it makes; this is allocated once per statement.
@safe final class SmallBlobs {
    private static let capacity = 256

    private let memory = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    // As in `Connection`: touched for one expression at a time.
    @exclusivity(unchecked) private var byteCount = 0

    /// Copies `bytes`, to be valid until ``clear()``.
    ///
    /// - Returns: Where they are, or `nil` if there is no room.
    func add(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
        guard unsafe bytes.count <= Self.capacity - byteCount else { return nil }
        let place = unsafe memory + byteCount
        unsafe UnsafeMutableRawBufferPointer(start: place, count: bytes.count).copyMemory(
            from: bytes)
        unsafe byteCount += bytes.count
        return UnsafeRawPointer(place)
    }

    /// Makes room; nothing that was added may be bound any more.
    func clear() {
        unsafe byteCount = 0
    }

    deinit {
        unsafe memory.deallocate()
    }
}
