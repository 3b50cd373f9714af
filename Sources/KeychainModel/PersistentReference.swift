// SPDX-License-Identifier: Apache-2.0

/// A name of an item that outlives its attributes (spec/secitem.md §8).
package struct PersistentReference: Hashable, Sendable {
    /// 20 bytes: the four ASCII characters of the class and the 16 bytes of the item's id.
    package static let byteCount = 20

    /// The item's class; it cannot change.
    package let itemClass: ItemClass
    /// 16 bytes, as stored in the row.
    package let itemID: [UInt8]

    /// The reference of the item `itemID`, which must be 16 bytes long.
    package init(itemClass: ItemClass, itemID: [UInt8]) {
        precondition(itemID.count == 16, "an item id has 16 bytes")
        self.itemClass = itemClass
        self.itemID = itemID
    }

    /// Parses a reference; nil unless it has 20 bytes and names a class of passwords.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount,
            let itemClass = ItemClass(code: String(decoding: bytes[..<4], as: UTF8.self))
        else { return nil }
        self.init(itemClass: itemClass, itemID: Array(bytes[4...]))
    }

    /// The 20 bytes that a caller keeps.
    package var bytes: [UInt8] {
        Array(itemClass.code.utf8) + itemID
    }
}
