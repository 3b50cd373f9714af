// SPDX-License-Identifier: Apache-2.0

/// Whether a property list is flat enough to be decoded. Foundation's decoders recurse: a file that
/// is nested deeply, or leads back to itself, would end the program.
///
/// ``Entitlements`` asks before it decodes. Nothing is counted exactly: what is asked is that no
/// reading of the bytes can nest deeper than ``containerLimit``.
enum PropertyListShape {
    /// As many arrays and dictionaries as a declaration may have; real ones have a handful.
    static let containerLimit = 128
    /// As many values as a binary one may have.
    static let objectLimit = 1024

    /// Whether `bytes` may be given to a decoder.
    static func isDecodable(_ bytes: [UInt8]) -> Bool {
        if bytes.starts(with: Array("bplist".utf8)) { return isFlat(binary: bytes) }
        return containerCount(inText: bytes) <= containerLimit
    }

    /// How many arrays and dictionaries XML or the older text form could begin, also in UTF-16.
    private static func containerCount(inText bytes: [UInt8]) -> Int {
        let text = bytes.filter { $0 != 0 }
        let tags = ["<array", "<dict"].map { Array($0.utf8) }
        var (tagCount, bracketCount) = (0, 0)
        for (index, byte) in text.enumerated() {
            switch byte {
            case UInt8(ascii: "("), UInt8(ascii: "{"): bracketCount += 1
            case UInt8(ascii: "<"):
                if tags.contains(where: text[index...].starts) { tagCount += 1 }
            default: break
            }
        }
        return max(tagCount, bracketCount)
    }

    /// Whether containers lead only to containers that come after them, as all writers number them,
    /// and are few.
    private static func isFlat(binary bytes: [UInt8]) -> Bool {
        guard let list = BinaryPropertyList(bytes), list.count <= objectLimit else { return false }
        let references = (0..<list.count).map(list.references)
        guard references.allSatisfy({ $0 != nil }) else { return false }
        let containers = references.map { $0?.isEmpty == false }
        guard containers.count(where: { $0 }) <= containerLimit else { return false }
        return references.enumerated().allSatisfy { number, found in
            found?.allSatisfy { $0 < list.count && (!containers[$0] || $0 > number) } == true
        }
    }
}

/// The objects of a binary property list, as far as their nesting goes: magic 8, objects, a table
/// of their places, a trailer of 32 bytes.
private struct BinaryPropertyList {
    private let bytes: [UInt8]
    private let placeByteCount: Int
    private let referenceByteCount: Int
    private let table: Int
    let count: Int

    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        guard bytes.count >= 40 else { return nil }
        let trailer = bytes.count - 32
        placeByteCount = Int(bytes[trailer + 6])
        referenceByteCount = Int(bytes[trailer + 7])
        guard let count = Self.number(bytes, at: trailer + 8, byteCount: 8),
            let table = Self.number(bytes, at: trailer + 24, byteCount: 8),
            (1...8).contains(placeByteCount), (1...8).contains(referenceByteCount),
            count <= trailer, table <= trailer, count * placeByteCount <= trailer - table
        else { return nil }
        (self.count, self.table) = (count, table)
    }

    /// What object `number` leads to; empty for one that is no container, nil for a damaged one.
    func references(of number: Int) -> [Int]? {
        let entry = table + number * placeByteCount
        guard let place = Self.number(bytes, at: entry, byteCount: placeByteCount), place < table
        else { return nil }
        let marker = bytes[place]
        guard (0xa...0xd).contains(marker >> 4) else { return [] }
        var (start, length) = (place + 1, Int(marker & 15))
        if length == 15 {
            guard start < table, bytes[start] & 15 <= 3 else { return nil }
            let byteCount = 1 << Int(bytes[start] & 15)
            guard let long = Self.number(bytes, at: start + 1, byteCount: byteCount) else {
                return nil
            }
            (start, length) = (start + 1 + byteCount, long)
        }
        guard length <= bytes.count else { return nil }
        // A dictionary has its keys, then its values.
        let total = marker >> 4 == 0xd ? 2 * length : length
        guard total * referenceByteCount <= table - start else { return nil }
        var found: [Int] = []
        for index in 0..<total {
            let place = start + index * referenceByteCount
            guard let next = Self.number(bytes, at: place, byteCount: referenceByteCount) else {
                return nil
            }
            found.append(next)
        }
        return found
    }

    /// A big-endian number; nil if it is not in the bytes, or no index of anything.
    private static func number(_ bytes: [UInt8], at start: Int, byteCount: Int) -> Int? {
        guard start >= 0, byteCount <= 8, start <= bytes.count - byteCount else { return nil }
        let value = bytes[start..<(start + byteCount)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(exactly: value).flatMap { $0 <= Int(Int32.max) ? $0 : nil }
    }
}
