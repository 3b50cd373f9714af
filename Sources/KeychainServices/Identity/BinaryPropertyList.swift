// SPDX-License-Identifier: Apache-2.0

/// Parses a binary property list for ``PropertyList``: 8 magic bytes, objects, a table of their
/// offsets, a trailer of 32 bytes. All numbers are big-endian.
struct BinaryPropertyList {
    static let magic = Array("bplist00".utf8)

    private let bytes: [UInt8]
    private let placeByteCount: Int
    private let referenceByteCount: Int
    private let objectCount: Int
    private let rootNumber: Int
    /// The offset of the table of offsets.
    private let table: Int
    private var valueCount = 0
    private var byteCount = 0

    init(_ bytes: [UInt8]) throws(PropertyList.Failure) {
        guard bytes.count >= 40 else { throw .malformed }
        let trailer = bytes.count - 32
        placeByteCount = Int(bytes[trailer + 6])
        referenceByteCount = Int(bytes[trailer + 7])
        objectCount = try Self.number(in: bytes[(trailer + 8)..<(trailer + 16)])
        rootNumber = try Self.number(in: bytes[(trailer + 16)..<(trailer + 24)])
        table = try Self.number(in: bytes[(trailer + 24)...])
        guard (1...8).contains(placeByteCount), (1...8).contains(referenceByteCount),
            objectCount <= trailer, (8...trailer).contains(table),
            objectCount * placeByteCount <= trailer - table
        else { throw .malformed }
        self.bytes = bytes
    }

    mutating func root() throws(PropertyList.Failure) -> PropertyList {
        try value(rootNumber, depth: 0)
    }

    /// The object of that number. An object that contains itself ends at the limit of depth.
    private mutating func value(
        _ number: Int, depth: Int
    ) throws(PropertyList.Failure) -> PropertyList {
        valueCount += 1
        guard depth < PropertyList.depthLimit, valueCount <= PropertyList.valueLimit else {
            throw .tooDeep
        }
        guard number < objectCount else { throw .malformed }
        let entry = table + number * placeByteCount
        var place = try Self.number(in: bytes[entry..<(entry + placeByteCount)])
        let marker = try take(1, at: &place)[0]
        switch marker >> 4 {
        case 0x0, 0x1, 0x2, 0x3, 0x4, 0x8: return .other
        case 0x5:
            let length = try length(marker, at: &place)
            return try text(try take(length, at: &place), as: UTF8.self)
        case 0x6:
            let length = try length(marker, at: &place)
            let pairs = try take(2 * length, at: &place)
            let units = stride(from: 0, to: pairs.count, by: 2).map {
                UInt16(pairs[$0]) << 8 | UInt16(pairs[$0 + 1])
            }
            return try text(units, as: UTF16.self)
        case 0xa:
            let length = try length(marker, at: &place)
            var values: [PropertyList] = []
            for number in try references(length, at: &place) {
                values.append(try value(number, depth: depth + 1))
            }
            return .array(values)
        case 0xd:
            let length = try length(marker, at: &place)
            let keys = try references(length, at: &place)
            let numbers = try references(length, at: &place)
            return try dictionary(keys, numbers, depth: depth + 1)
        default: throw .malformed
        }
    }

    private mutating func dictionary(
        _ keys: [Int], _ numbers: [Int], depth: Int
    ) throws(PropertyList.Failure) -> PropertyList {
        var values: [String: PropertyList] = [:]
        for (key, number) in zip(keys, numbers) {
            guard case .text(let key) = try value(key, depth: depth),
                values.updateValue(try value(number, depth: depth), forKey: key) == nil
            else { throw .malformed }
        }
        return .dictionary(values)
    }

    private func text<Encoding: Unicode.Encoding>(
        _ units: [Encoding.CodeUnit], as encoding: Encoding.Type
    ) throws(PropertyList.Failure) -> PropertyList {
        guard let text = String(validating: units, as: encoding) else { throw .malformed }
        return .text(text)
    }

    /// The number of elements, bytes or UTF-16 units in an object: four bits of its marker, or a
    /// number after it.
    private mutating func length(
        _ marker: UInt8, at place: inout Int
    ) throws(PropertyList.Failure) -> Int {
        guard marker & 15 == 15 else { return Int(marker & 15) }
        let size = try take(1, at: &place)[0]
        guard size >> 4 == 1, size & 15 <= 3 else { throw .malformed }
        return try Self.number(in: try take(1 << Int(size & 15), at: &place)[...])
    }

    private mutating func references(
        _ count: Int, at place: inout Int
    ) throws(PropertyList.Failure) -> [Int] {
        guard count <= bytes.count else { throw .malformed }
        var numbers: [Int] = []
        for _ in 0..<count {
            numbers.append(try Self.number(in: try take(referenceByteCount, at: &place)[...]))
        }
        return numbers
    }

    /// The next `count` bytes of an object, which all lie before the table.
    private mutating func take(
        _ count: Int, at place: inout Int
    ) throws(PropertyList.Failure) -> [UInt8] {
        guard place >= 8, place <= table, count <= table - place else { throw .malformed }
        byteCount += count
        guard byteCount <= PropertyList.byteLimit else { throw .tooDeep }
        defer { place += count }
        return Array(bytes[place..<(place + count)])
    }

    private static func number(
        in bytes: ArraySlice<UInt8>
    ) throws(PropertyList.Failure) -> Int {
        let value = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard value <= UInt64(Int32.max) else { throw .malformed }
        return Int(value)
    }
}
