// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetSealing

@Suite struct `A reader of bytes` {
    private struct Refusal: Error, Equatable {}

    private func reader(_ bytes: [UInt8]) -> ByteReader<Refusal> {
        ByteReader(bytes, malformed: Refusal())
    }

    @Test func `A byte reader takes one field after another, most significant byte first`() throws {
        var reader = reader([1, 2, 3, 4, 5, 6, 7, 0xff, 0xff, 0xff, 0xfe, 9])
        #expect(try reader.integer(UInt8.self) == 1)
        #expect(try reader.integer(UInt16.self) == 0x0203)
        #expect(try reader.fixedBytes(as: FixedBytes<2, Never>.self).bytes == [4, 5])
        #expect(try reader.bytes(2) == [6, 7])
        #expect(try reader.integer(Int32.self) == -2)
        #expect(!reader.isAtEnd)
        #expect(try reader.bytes(1) == [9])
        #expect(reader.isAtEnd)
    }

    @Test func `A byte reader throws the error that it was given for bytes that are not there`() {
        var reader = reader([1, 2, 3])
        #expect(throws: Refusal()) { try reader.integer(UInt32.self) }
        #expect(throws: Refusal()) { try reader.fixedBytes(as: KeyID.self) }
        #expect(throws: Refusal()) { try reader.bytes(4) }
        #expect(throws: Refusal()) { try reader.bytes(.max) }
        #expect(throws: Refusal()) { try reader.bytes(-1) }
    }

    @Test func `A byte reader takes nothing when it throws`() throws {
        var reader = reader([1, 2, 3])
        #expect(throws: Refusal()) { try reader.integer(UInt32.self) }
        #expect(throws: Refusal()) { try reader.bytes(4) }
        #expect(try reader.bytes(3) == [1, 2, 3])
        #expect(try reader.bytes(0).isEmpty)
        #expect(throws: Refusal()) { try reader.integer(UInt8.self) }
    }

    @Test(arguments: [0, 1, -1, .min, .max, 0x0102_0304_0506_0708] as [Int64])
    func `A byte reader gives back a number that was appended`(_ number: Int64) throws {
        var bytes: [UInt8] = [7]
        bytes.append(bigEndian: number)
        #expect(bytes.count == 9)
        var reader = reader(bytes)
        _ = try reader.bytes(1)
        #expect(try reader.integer() == number)
        #expect(reader.isAtEnd)
    }
}
