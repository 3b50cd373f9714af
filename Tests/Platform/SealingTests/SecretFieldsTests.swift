// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSealing

@Suite struct `Secret fields` {
    struct Malformed: Error {}

    private static func reader(_ bytes: [UInt8]) -> SecretReader<Malformed> {
        SecretReader(SecretBytes(copying: bytes.span), malformed: Malformed())
    }

    @Test func `are read as they were written`() throws {
        let key = IndexKey.random()
        let present: IndexKey? = key.copied()
        let absent: IndexKey? = nil
        var writer = SecretWriter(byteCount: 2 + 3 + 16 + 33 + 1 + 4, for: .keys)
        writer.append(UInt16(0x0102))
        writer.append([3, 4, 5])
        let id = KeyID.random()
        writer.append(id)
        writer.append(optional: present)
        writer.append(optional: absent)
        writer.skip(4)
        let plaintext = writer.finish()
        var reader = SecretReader(plaintext, malformed: Malformed())
        #expect(try reader.integer(UInt16.self) == 0x0102)
        #expect(try reader.bytes(3) == [3, 4, 5])
        #expect(try reader.fixedBytes() == id)
        switch try reader.optionalKey(as: IndexKey.self) {
        case .some(let read): #expect(read.id == key.id)
        case .none: Issue.record("there is no key")
        }
        let isAbsent = try reader.optionalKey(as: IndexKey.self) == nil
        #expect(isAbsent)
        #expect(try reader.integer(UInt32.self) == 0)
        try reader.finish()
    }

    @Test(arguments: [0, 1, 7])
    func `that are cut short are malformed`(_ byteCount: Int) {
        var reader = Self.reader([UInt8](repeating: 1, count: byteCount))
        #expect(throws: Malformed.self) { _ = try reader.integer(UInt64.self) }
        #expect(throws: Malformed.self) { _ = try reader.bytes(byteCount + 1) }
        #expect(throws: Malformed.self) { _ = try reader.bytes(-1) }
        #expect(throws: Malformed.self) { _ = try reader.bytes(.max) }
        #expect(reader.position == 0)
    }

    @Test func `end before the padding`() {
        var reader = SecretReader(
            SecretBytes(copying: [1, 2, 0x80, 0].span), byteCount: 2, malformed: Malformed())
        #expect(throws: Malformed.self) { _ = try reader.bytes(3) }
        #expect(reader.remainingByteCount == 2)
    }

    @Test func `that are left over are malformed`() {
        let reader = Self.reader([1])
        #expect(throws: Malformed.self) { try reader.finish() }
    }

    @Test func `take no other flag than 0 and 1`() {
        var reader = Self.reader([2] + [UInt8](repeating: 0, count: 32))
        #expect(throws: Malformed.self) {
            _ = try reader.optionalKey(as: IndexKey.self)
        }
    }
}
