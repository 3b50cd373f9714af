// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetKeybag

/// docs/SYNC.md §2.
@Suite struct `The secrets of a circle` {
    private let place = SyncSecrets.KeychainPlace(.random(), Epoch(3))

    private func code(
        _ wrapped: WrappedKey, _ scope: KeyScope, root: borrowing RootKey,
        deviceKEK: borrowing DeviceKEK, at place: SyncSecrets.KeychainPlace
    ) -> SealingError.Code? {
        do throws(SealingError) {
            _ = try SyncSecrets.unwrap(wrapped, scope, root: root, deviceKEK: deviceKEK, at: place)
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: KeyScope.allCases)
    func `The secrets of a circle come back from their wraps`(_ scope: KeyScope) throws {
        let root = RootKey.random()
        let device = DeviceKEK.random()
        let secret = SyncSecret.random()
        let wrapped = SyncSecrets.wrap(secret, scope, root: root, deviceKEK: device, at: place)
        let again = try SyncSecrets.unwrap(
            wrapped, scope, root: root, deviceKEK: device, at: place)
        #expect(again.array == secret.array)
    }

    @Test func `The secrets of a circle open only in their own place`() {
        let root = RootKey.random()
        let otherRoot = RootKey.random()
        let device = DeviceKEK.random()
        let otherDevice = DeviceKEK.random()
        let secret = SyncSecret.random()
        let wrapped = SyncSecrets.wrap(
            secret, .whileUnlocked, root: root, deviceKEK: device, at: place)
        let scope = code(wrapped, .afterFirstUnlock, root: root, deviceKEK: device, at: place)
        #expect(scope == .wrongKey)
        let rootCode = code(wrapped, .whileUnlocked, root: otherRoot, deviceKEK: device, at: place)
        #expect(rootCode == .wrongKey)
        let deviceCode = code(
            wrapped, .whileUnlocked, root: root, deviceKEK: otherDevice, at: place)
        #expect(deviceCode == .wrongKey)
        for other in [
            SyncSecrets.KeychainPlace(.random(), Epoch(3)),
            SyncSecrets.KeychainPlace(place.keychainID, Epoch(4)),
        ] {
            let placeCode = code(
                wrapped, .whileUnlocked, root: root, deviceKEK: device, at: other)
            #expect(placeCode == .tampered)
        }
    }

    @Test func `The secrets of a circle's recovery member follow from the paper key`() throws {
        let vector = try #require(Vector.all("sync", "identity").first { $0.has("seed") })
        let key = RecoveryKey(try vector.bytes("seed"))
        #expect(try key.syncSecret(.afterFirstUnlock).array == vector.bytes("secret_f"))
        #expect(try key.syncSecret(.whileUnlocked).array == vector.bytes("secret_u"))
    }
}
