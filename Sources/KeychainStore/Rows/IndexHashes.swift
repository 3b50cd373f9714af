// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing

/// The hashes of one item by which it is found without opening it: docs/FORMAT.md §6.
struct IndexHashes: Hashable {
    var place: ItemPlace
    var account: IndexHash
    /// Hashes of the other searchable attributes that are set and not at their default.
    var others: [UInt8: IndexHash]

    /// The column `hashes`: tag u8 ‖ hash 16, in the order of the tags; empty for none.
    var encodedOthers: [UInt8] {
        var bytes: [UInt8] = []
        for (tag, hash) in others.sorted(by: { $0.key < $1.key }) {
            bytes.append(tag)
            bytes += hash.bytes
        }
        return bytes
    }

    /// Parses the column `hashes`.
    ///
    /// - Throws: ``RowFailure/column`` unless ``encodedOthers`` gives these bytes.
    static func others(parsing bytes: [UInt8]) throws(RowFailure) -> [UInt8: IndexHash] {
        guard bytes.count % 17 == 0 else { throw .column }
        var others: [UInt8: IndexHash] = [:]
        var last: UInt8 = 0
        for start in stride(from: 0, to: bytes.count, by: 17) {
            let tag = bytes[start]
            guard tag > last, let hash = try? IndexHash(Array(bytes[(start + 1)..<(start + 17)]))
            else { throw .column }
            last = tag
            others[tag] = hash
        }
        return others
    }
}
