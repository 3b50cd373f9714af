// SPDX-License-Identifier: Apache-2.0

import KeychainModel
import Sealing
import Testing

@testable import Keybag

@Suite struct `An unlocked keybag` {
    private func subkey<P>(_ key: borrowing SymmetricKey<P>) throws -> SymmetricKey<P> {
        let bytes = key.array
        return try SymmetricKey(copying: bytes.span)
    }

    /// A copy, by way of bytes, of the classes in `parts`.
    private func rebuilt(
        _ keys: UnlockedKeybag, _ parts: [KeyPart]
    ) throws -> UnlockedKeybag {
        let classes = try parts.flatMap { keys.keys(in: $0) }.map { one in
            ClassKeys(
                protectionClass: one.protectionClass, keyID: one.keyID,
                attributes: try subkey(one.attributes), value: try subkey(one.value))
        }
        return UnlockedKeybag(
            keychainID: keys.keychainID, epoch: keys.epoch, index: try subkey(keys.index),
            classes: classes)
    }

    @Test func `gives its keys out in two parts`() throws {
        let keys = try PasscodeSample().unlock()
        let codes = KeyPart.allCases.map { part in
            keys.keys(in: part).map(\.protectionClass.code)
        }
        #expect(codes == [["ak", "aku", "akpu"], ["ck", "dk", "cku", "dku"]])
        for protectionClass in ProtectionClass.allCases {
            let part = keys.keys(in: protectionClass.part)
            #expect(part.contains { $0.protectionClass == protectionClass })
        }
    }

    @Test func `is the same when its parts are put together again`() throws {
        let keys = try PasscodeSample().unlock()
        let again = try rebuilt(keys, KeyPart.allCases.reversed())
        #expect(again.ids == keys.ids)
        #expect(again.keychainID == keys.keychainID)
        #expect(again.epoch == keys.epoch)
    }

    @Test func `has no key of the classes that are locked`() throws {
        let keys = try PasscodeSample().unlock()
        let locked = try rebuilt(keys, [.afterFirstUnlock])
        #expect(locked.openClasses.map(\.code) == ["ck", "dk", "cku", "dku"])
        #expect(locked.keys(in: .unlockedOnly).isEmpty)
        #expect(locked.index.id == keys.index.id)
    }

    @Test func `has no key for a passcode that is not set`() throws {
        let sample = try TestKeybag()
        let keys = try sample.unlock(sample.locked)
        #expect(keys.keys(in: .unlockedOnly).map(\.protectionClass.code) == ["ak", "aku"])
    }
}
