// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ValetSealing

@Suite struct `A layout of fields` {
    private struct Refusal: Error, Equatable {}

    private func reader(_ bytes: [UInt8]) -> ByteReader<Refusal> {
        ByteReader(bytes, malformed: Refusal())
    }

    @Test func `A layout gives back the fields that it was written from`() throws {
        let map: [UInt8: String] = [3: "c", 1: "a"]
        let bytes = [UInt8](
            fields: UInt16(7), true, Int64(-1), [UInt8(9), 8], Set<UInt8>([5, 2]), map,
            UInt32?.none, UInt32?(4), "é", SizedBytes([0]))
        var reader = reader(bytes)
        let (number, flag, low, list, set) = try reader.fields(
            UInt16.self, Bool.self, Int64.self, [UInt8].self, Set<UInt8>.self)
        let (found, none, some, text, sized) = try reader.fields(
            [UInt8: String].self, UInt32?.self, UInt32?.self, String.self, SizedBytes.self)
        try reader.finish()
        #expect(number == 7 && flag && low == -1 && list == [9, 8] && set == [2, 5])
        #expect(found == map && none == nil && some == 4 && text == "é" && sized.bytes == [0])
    }

    @Test func `A layout has one form of a set and of a dictionary`() {
        for bytes: [UInt8] in [[0, 0, 0, 2, 5, 2], [0, 0, 0, 2, 5, 5]] {
            var reader = reader(bytes)
            #expect(throws: Refusal()) { try Set<UInt8>(from: &reader) }
        }
        for bytes: [UInt8] in [[0, 0, 0, 2, 5, 0, 2, 0], [0, 0, 0, 2, 5, 0, 5, 1]] {
            var reader = reader(bytes)
            #expect(throws: Refusal()) { try [UInt8: UInt8](from: &reader) }
        }
    }

    @Test(
        arguments: [
            [0xff, 0xff, 0xff, 0xff], [0, 0, 0, 2, 1], [0, 0, 0, 1, 0xff], [2], [],
        ] as [[UInt8]])
    func `A layout refuses counts, flags and texts that nobody writes`(_ bytes: [UInt8]) {
        #expect(throws: Refusal()) {
            var reader = reader(bytes)
            let text = try String(from: &reader)
            Issue.record("read \(text)")
        }
        #expect(throws: Refusal()) {
            var reader = reader(bytes.isEmpty ? [] : [2])
            _ = try Bool(from: &reader)
        }
    }

    @Test func `A layout refuses bytes that are left`() throws {
        var reader = reader([1, 2])
        #expect(try reader.fields(UInt8.self) == 1)
        #expect(throws: Refusal()) { try reader.finish() }
    }
}
