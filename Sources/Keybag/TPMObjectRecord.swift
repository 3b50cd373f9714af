// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// A sealed object of a TPM, in records 0x0120 and 0x0121 (docs/FORMAT.md §4.8). What is in its
/// areas only a TPM can tell; here its outer form is checked.
enum TPMObjectRecord {
    /// Four parts, 34 bytes of name, no or ten bytes of registers.
    ///
    /// - Throws: ``KeybagError/Code/malformed``.
    static func check(_ body: [UInt8]) throws(KeybagError) {
        var reader = ByteReader(body, malformed: KeybagError.malformedKeybag)
        for _ in 0..<2 {
            let area = try part(&reader)
            guard area.count > 2, area.count <= 1026,
                Int(area[0]) << 8 | Int(area[1]) == area.count - 2
            else { throw .malformedKeybag }
        }
        let name = try part(&reader)
        let registers = try part(&reader)
        guard name.count == 34, name.starts(with: [0, 0x0b]), reader.isAtEnd else {
            throw .malformedKeybag
        }
        guard registers.isEmpty || isOneBank(registers) else { throw .malformedKeybag }
    }

    /// One bank, SHA-256, three bytes of bits that are not all zero.
    private static func isOneBank(_ registers: [UInt8]) -> Bool {
        registers.count == 10 && registers.starts(with: [0, 0, 0, 1, 0, 0x0b, 3])
            && registers.suffix(3).contains { $0 != 0 }
    }

    private static func part(
        _ reader: inout ByteReader<KeybagError>
    ) throws(KeybagError) -> [UInt8] {
        let count = try reader.integer(UInt32.self)
        guard count <= UInt32(Int32.max) else { throw reader.malformed }
        return try reader.bytes(Int(count))
    }
}
