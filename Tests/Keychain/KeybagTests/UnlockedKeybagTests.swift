// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

@Suite struct `An unlocked keybag` {
    private func subkey<P>(_ key: borrowing SymmetricKey<P>) throws -> SymmetricKey<P> {
        let bytes = key.array
        return try SymmetricKey(copying: bytes.span)
    }

    /// A copy, by way of bytes, of the classes in `scopes`.
    private func rebuilt(
        _ keys: UnlockedKeybag, _ scopes: [KeyScope]
    ) throws -> UnlockedKeybag {
        let classes = try scopes.flatMap { keys.keys(in: $0) }.map { one in
            ClassKeys(
                protectionClass: one.protectionClass, keyID: one.keyID,
                attributes: try subkey(one.attributes), value: try subkey(one.value))
        }
        return UnlockedKeybag(
            keychainID: keys.keychainID, epoch: keys.epoch, index: try subkey(keys.index),
            classes: classes)
    }

    @Test func `An unlocked keybag gives its keys out in two scopes`() throws {
        let keys = try PasscodeSample().unlock()
        let codes = KeyScope.allCases.map { scope in
            keys.keys(in: scope).map(\.protectionClass.code)
        }
        #expect(codes == [["ak", "aku", "akpu"], ["ck", "dk", "cku", "dku"]])
        for protectionClass in ProtectionClass.allCases {
            let found = keys.keys(in: protectionClass.scope)
            #expect(found.contains { $0.protectionClass == protectionClass })
        }
    }

    @Test func `An unlocked keybag is the same when its scopes are put together again`() throws {
        let keys = try PasscodeSample().unlock()
        let again = try rebuilt(keys, KeyScope.allCases.reversed())
        #expect(again.ids == keys.ids)
        #expect(again.keychainID == keys.keychainID)
        #expect(again.epoch == keys.epoch)
    }

    @Test func `An unlocked keybag has no key of the classes that are locked`() throws {
        let keys = try PasscodeSample().unlock()
        let locked = try rebuilt(keys, [.afterFirstUnlock])
        #expect(locked.openClasses.map(\.code) == ["ck", "dk", "cku", "dku"])
        #expect(locked.keys(in: .whileUnlocked).isEmpty)
        #expect(locked.index.id == keys.index.id)
    }

    @Test func `An unlocked keybag has no key for a passcode that is not set`() throws {
        let sample = try TestKeybag()
        let keys = try sample.unlock(sample.locked)
        #expect(keys.keys(in: .whileUnlocked).map(\.protectionClass.code) == ["ak", "aku"])
    }
}
