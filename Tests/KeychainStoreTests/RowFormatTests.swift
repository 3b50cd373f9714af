// SPDX-License-Identifier: Apache-2.0

import KeychainModel
import Sealing
import SecretMemory
import TestValues
import Testing

@testable import KeychainStore

/// docs/FORMAT.md §5.3.
@Suite struct `A list of attributes` {
    private static let sample: AttributeList = {
        var list = AttributeList()
        list.values = [
            1: .text("é"), 3: .bytes([0, 255]), 8: .number(-1), 27: .date(.pi),
            26: .accessControl([1]), 64: .number(7), 15: .text(""), 16: .bytes([]),
        ]
        return list
    }()

    private func isRefused(_ bytes: [UInt8]) -> Bool {
        (try? AttributeList(parsing: bytes)) == nil
    }

    @Test func `comes back as it went`() throws {
        #expect(try AttributeList(parsing: Self.sample.encoded) == Self.sample)
        #expect(try AttributeList(parsing: []).values.isEmpty)
    }

    @Test func `is not shorter than it says`() {
        let bytes = Self.sample.encoded
        // Some prefixes are shorter lists; those must be lists that were meant.
        for length in bytes.indices {
            guard let list = try? AttributeList(parsing: bytes.prefix(length)) else { continue }
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
    func `has rising tags, known types and right lengths`(_ bytes: [UInt8]) {
        #expect(isRefused(bytes))
    }

    @Test func `survives any change, and takes only what it would write`() {
        var random = SplitMix(seed: 3)
        for _ in 0..<20_000 {
            let changed = random.mutation(of: Self.sample.encoded)
            guard let list = try? AttributeList(parsing: changed) else { continue }
            #expect(list.encoded == changed)
        }
    }

    @Test func `gives one value as it gives all`() throws {
        let bytes = Self.sample.encoded[...]
        for tag in UInt8(1)...28 {
            guard let attribute = Attribute(tag: tag) else { continue }
            #expect(try AttributeList.value(attribute, in: bytes) == Self.sample.values[tag])
        }
    }

    @Test func `has a tag of its own for each attribute`() {
        #expect(Set(Attribute.allCases.map(\.tag)).count == Attribute.allCases.count)
        for attribute in Attribute.allCases {
            #expect(Attribute(tag: attribute.tag) == attribute)
        }
        for tag in [0, 29, 64, 127, 255] as [UInt8] { #expect(Attribute(tag: tag) == nil) }
    }
}

/// docs/FORMAT.md §6.4.
@Suite struct `The column of hashes` {
    @Test func `comes back as it went`() throws {
        let others: [UInt8: IndexHash] = [3: .random(), 14: .random(), 127: .random()]
        let hash = IndexHash.random()
        let place = ItemPlace(group: hash, place: hash, primaryKey: hash)
        let hashes = IndexHashes(place: place, account: hash, others: others)
        #expect(hashes.encodedOthers.count == 51)
        #expect(try IndexHashes.others(parsing: hashes.encodedOthers) == others)
        #expect(try IndexHashes.others(parsing: []).isEmpty)
    }

    @Test(arguments: [
        [1], [UInt8](repeating: 1, count: 16), [UInt8](repeating: 1, count: 18),
        [UInt8](repeating: 1, count: 34), [UInt8](repeating: 0, count: 17),
    ])
    func `has whole entries with rising tags`(_ bytes: [UInt8]) {
        #expect((try? IndexHashes.others(parsing: bytes)) == nil)
    }
}

/// docs/FORMAT.md §5.
@Suite struct `The flags of a row` {
    @Test(arguments: [0, 1, 2, 3, 256, 512] as [Int64])
    func `are those that this version knows`(_ flags: Int64) {
        #expect(RowFlags(column: flags)?.rawValue == UInt32(flags))
    }

    @Test(arguments: [4, 7, 128, 768, 1024, 1 << 31, 1 << 32, -1, .max, .min] as [Int64])
    func `are no others`(_ flags: Int64) {
        #expect(RowFlags(column: flags) == nil)
    }
}

/// docs/FORMAT.md §3.
@Suite struct `A device key` {
    private let bytes: [UInt8] = {
        let file = DeviceKeyFile(keychainID: .random(), secret: .random())
        return file.encoded.withBytes { [UInt8](copying: $0) }
    }()

    private func flaw(_ bytes: [UInt8]) -> DeviceKeyFile.Flaw? {
        do throws(DeviceKeyFile.Flaw) {
            _ = try DeviceKeyFile.given(bytes.span)
            return nil
        } catch {
            return error
        }
    }

    @Test func `has 122 bytes and comes back as it went`() throws {
        #expect(bytes.count == 122)
        let file = try DeviceKeyFile(parsing: bytes.span)
        #expect(file.encoded.withBytes { [UInt8](copying: $0) } == bytes)
    }

    @Test func `is refused with any bit changed`() {
        for offset in bytes.indices {
            for bit in 0..<8 as Range<UInt8> {
                var changed = bytes
                changed[offset] ^= 1 << bit
                let expected: DeviceKeyFile.Flaw =
                    switch offset {
                    case 0..<8: .malformed
                    case 8..<10: .newer
                    default: .damaged
                    }
                #expect(flaw(changed) == expected, "\(offset)")
            }
        }
    }

    @Test func `is refused at any other length`() {
        for length in 0..<122 where length != 32 {
            #expect(flaw(Array(bytes.prefix(length))) == .malformed, "\(length)")
        }
        #expect(flaw(bytes + [0]) == .malformed)
    }

    @Test func `may be 32 bytes where somebody else keeps it`() throws {
        let secret = [UInt8](repeating: 5, count: 32)
        let file = try DeviceKeyFile.given(secret.span)
        #expect(file.keychainID == nil)
        #expect(file.secret.withBytes { [UInt8](copying: $0) } == secret)
    }
}
