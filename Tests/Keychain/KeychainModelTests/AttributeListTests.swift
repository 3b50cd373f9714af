// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetTestValues

/// docs/FORMAT.md §5.3.
@Suite struct `A list of attributes` {
    private static let sample: AttributeList = {
        var list = AttributeList()
        let values: [UInt8: AttributeValue] = [
            1: .text("é"), 3: .bytes([0, 255]), 8: .number(-1), 27: .date(.pi),
            26: .accessControl([1]), 64: .number(7), 15: .text(""), 16: .bytes([]),
        ]
        for (tag, value) in values { list.set(value, for: tag) }
        return list
    }()

    private func isRefused(_ bytes: [UInt8]) -> Bool {
        AttributeList(encoded: bytes[...]) == nil
    }

    @Test func `An attribute list comes back as it went`() {
        let bytes = Self.sample.encoded
        #expect(bytes.count == Self.sample.encodedByteCount)
        #expect(AttributeList(encoded: bytes[...]) == Self.sample)
        #expect(AttributeList(encoded: [])?.entries.isEmpty == true)
    }

    @Test func `An attribute list has one value under a tag, the last that was put there`() {
        var list = Self.sample
        list.set(.number(9), for: 8)
        #expect(list[8] == .number(9))
        #expect(list[9] == nil)
        #expect(list.entries.map(\.tag) == [1, 3, 8, 15, 16, 26, 27, 64])
    }

    @Test func `An attribute list is not shorter than it says`() {
        let bytes = Self.sample.encoded
        // Some prefixes are shorter lists; those must be lists that were meant.
        for length in bytes.indices {
            guard let list = AttributeList(encoded: bytes.prefix(length)) else { continue }
            #expect(list.encoded == Array(bytes.prefix(length)))
        }
    }

    @Test(
        arguments: [
            [2, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0],
            [0, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], [1, 6, 0, 0, 0, 0], [1], [1, 1],
            [1, 1, 0, 0, 0],
            [1, 1, 0, 0, 0, 1], [1, 1, 0xff, 0xff, 0xff, 0xff], [1, 1, 0, 0, 0, 1, 0xff],
            [1, 3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0], [1, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [1, 4, 0, 0, 0, 0],
        ] as [[UInt8]])
    func `An attribute list has rising tags, known types and right lengths`(_ bytes: [UInt8]) {
        #expect(isRefused(bytes))
    }

    @Test func `An attribute list survives any change, and takes only what it would write`() {
        var random = SplitMix(seed: 3)
        for _ in 0..<20_000 {
            let changed = random.mutation(of: Self.sample.encoded)
            guard let list = AttributeList(encoded: changed[...]) else { continue }
            #expect(list.encoded == changed)
        }
    }

    @Test func `An attribute list gives one value as it gives all`() {
        let bytes = Self.sample.encoded[...]
        for tag in UInt8(1)...28 {
            guard let attribute = Attribute(tag: tag) else { continue }
            #expect(AttributeList.value(of: attribute, in: bytes) == Self.sample[tag])
        }
    }

    @Test func `An attribute list has a tag of its own for each attribute`() {
        #expect(Set(Attribute.allCases.map(\.tag)).count == Attribute.allCases.count)
        for attribute in Attribute.allCases {
            #expect(Attribute(tag: attribute.tag) == attribute)
        }
        for tag in [0, 29, 32, 64, 127, 255] as [UInt8] { #expect(Attribute(tag: tag) == nil) }
    }
}
