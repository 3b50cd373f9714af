// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// A row as SQLite holds it; nothing in it has been opened.
struct SealedRow: Sendable {
    var header: RowHeader
    var accountHash: IndexHash
    var groupHash: IndexHash
    var placeHash: IndexHash
    /// As in the column; empty for NULL.
    var hashes: [UInt8]
    /// Part A.
    var names: [UInt8]
    /// Part B.
    var details: [UInt8]
    /// Part V; nil for an item without a value.
    var secret: [UInt8]?
    /// nil for local items.
    var changeNumber: Int64?
    var logicalTime: Int64

    /// The hashes by which the row of one item is found.
    var place: ItemPlace {
        ItemPlace(group: groupHash, place: placeHash, primaryKey: header.primaryKey)
    }
}
