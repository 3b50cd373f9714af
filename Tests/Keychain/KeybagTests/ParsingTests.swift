// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetKeys

@Suite struct `Parsing a keybag` {
    let sample: TestKeybag
    let bytes: [UInt8]

    init() throws {
        sample = try TestKeybag()
        bytes = sample.locked.encoded
    }

    private func code(_ bytes: [UInt8]) -> KeybagFault? {
        ValetKeybagTests.code { _ = try LockedKeybag(parsing: bytes) }
    }

    @Test(arguments: [1, 2, UInt64.max], [DeviceKeySource.ownFile, .credential, .keyFile])
    func `Parsing a keybag gives back what was encoded`(_ epoch: UInt64, _ source: DeviceKeySource)
        throws
    {
        let locked = try TestKeybag(epoch: Epoch(epoch), source: source).locked
        let parsed = try LockedKeybag(parsing: locked.encoded)
        #expect(parsed.encoded == locked.encoded)
        #expect(parsed.keychainID == locked.keychainID)
        #expect(parsed.epoch == Epoch(epoch))
        #expect(parsed.deviceSource == source)
        #expect(parsed.deviceKeyID == locked.deviceKeyID)
        #expect(parsed.records == locked.records)
        #expect(parsed.mac == locked.mac)
    }

    @Test func `Parsing a keybag refuses every shorter one`() {
        for length in bytes.indices {
            #expect(code(Array(bytes.prefix(length))) == .malformed, "\(length)")
        }
    }

    @Test(arguments: [1, 38, 4096])
    func `Parsing a keybag refuses bytes that are left over`(_ count: Int) {
        #expect(code(bytes + [UInt8](repeating: 0, count: count)) == .malformed)
    }

    @Test(arguments: 0..<8)
    func `Parsing a keybag refuses another magic`(_ offset: Int) {
        var bytes = bytes
        bytes[offset] ^= 0x20
        #expect(code(bytes) == .malformed)
    }

    /// Version, protector and source, of which later versions may know more.
    @Test(
        arguments: [(8, 1), (9, 0), (9, 2), (34, 0), (34, 4), (35, 0), (35, 5)] as [(Int, UInt8)])
    func `Parsing a keybag calls what it does not know newer`(_ offset: Int, _ value: UInt8) {
        var bytes = bytes
        bytes[offset] = value
        #expect(code(bytes) == .newer)
    }

    @Test func `Parsing a keybag refuses epoch 0`() {
        var bytes = bytes
        for offset in 26..<34 { bytes[offset] = 0 }
        #expect(code(bytes) == .malformed)
    }

    @Test(arguments: [[0x0102, 0x0101], [0x0101, 0x0101], [0x0301, 0x0201], [0]] as [[UInt16]])
    func `Parsing a keybag refuses tags that do not rise`(_ tags: [UInt16]) {
        let raw = RawKeybag(sample.locked, tags.map { ($0, [1]) })
        #expect(code(raw.bytes) == .malformed)
    }

    @Test(arguments: [0x0001, 0x0105, 0x0208, 0x0302, 0x0403, 0x0503, 0xffff] as [UInt16])
    func `Parsing a keybag calls an unknown tag newer`(_ tag: UInt16) {
        #expect(code(RawKeybag(sample.locked, [(tag, [1])]).bytes) == .newer)
    }

    @Test func `Parsing a keybag refuses more than 64 records`() {
        var raw = RawKeybag(sample.locked, [])
        raw.count = 65
        raw.tail = [UInt8](repeating: 0, count: 65 * 6 + 32)
        #expect(code(raw.bytes) == .malformed)
    }

    @Test(arguments: [(4096, nil), (4097, .malformed)] as [(Int, KeybagFault?)])
    func `Parsing a keybag takes bodies of up to 4,096 bytes`(
        _ count: Int, _ expected: KeybagFault?
    ) {
        var changed = sample.locked
        for scope in KeyScope.allCases {
            changed.records[.syncSecret(scope)] = [UInt8](repeating: 1, count: count)
        }
        #expect(code(changed.encoded) == expected)
    }

    @Test func `Parsing a keybag refuses a length beyond the end`() {
        var bytes = RawKeybag(sample.locked, [(0x0101, [1])]).bytes
        // The highest byte of the length: 4 GiB would wrap around on a small machine.
        bytes[RawKeybag.headByteCount + 2 + 2] = 0xff
        #expect(code(bytes) == .malformed)
    }

    @Test(arguments: [0, 6, 9] as [UInt16])
    func `Parsing a keybag refuses another number of records`(_ count: UInt16) {
        var bytes = bytes
        (bytes[52], bytes[53]) = (UInt8(count >> 8), UInt8(count & 0xff))
        #expect(code(bytes) != nil)
    }

    /// Of the samples and of every keybag among the vectors.
    @Test func `Parsing a keybag survives any change, and takes only what it would write`() throws {
        var random = SplitMix(seed: 20_261_121)
        let vectors = try ["keybag", "passcode", "recovery"].flatMap { folder in
            try Vector.all(folder).map { try $0.bytes("keybag") }
        }
        var takenCount = 0
        for round in 0..<40_000 {
            let seed = round.isMultiple(of: 2) ? bytes : vectors[round / 2 % vectors.count]
            let changed = random.mutation(of: seed)
            guard let parsed = try? LockedKeybag(parsing: changed) else { continue }
            takenCount += 1
            #expect(parsed.encoded == changed)
        }
        #expect(takenCount > 1_000)
    }

    @Test func `Parsing a keybag survives random bytes`() {
        var random = SplitMix(seed: 7)
        for _ in 0..<5_000 {
            let tail = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let changed = Array(bytes.prefix(Int.random(in: 0...54, using: &random))) + tail
            guard let parsed = try? LockedKeybag(parsing: changed) else { continue }
            #expect(parsed.encoded == changed)
        }
    }
}
