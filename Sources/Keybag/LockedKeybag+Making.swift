// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
package import Sealing

extension LockedKeybag {
    /// Makes the keybag of a new keychain or epoch, with random keys throughout.
    ///
    /// - Parameter settings: The bytes beside the keybag that its MAC covers.
    package init(
        keychainID: KeychainID, epoch: Epoch, deviceSource: DeviceSource,
        protector: borrowing DeviceProtector, settings: [UInt8]
    ) {
        let root = RootKey.random()
        let noBytes: [UInt8] = []
        var records = protector.wrap(root, keychainID: keychainID, epoch: epoch)
        records.merge(
            Self.newKeys(root, protector.deviceKEK(for: keychainID), keychainID, epoch)
        ) { current, _ in current }
        self.init(
            keychainID: keychainID, epoch: epoch, protector: protector.kind,
            deviceSource: deviceSource, deviceKeyID: protector.keyID, records: records,
            mac: Digest(of: noBytes.span))
        mac = authenticationCode(root: root, settings: settings)
    }

    private static func newKeys(
        _ root: borrowing RootKey, _ device: borrowing DeviceKEK, _ keychainID: KeychainID,
        _ epoch: Epoch
    ) -> [KeybagTag: [UInt8]] {
        var records: [KeybagTag: [UInt8]] = [:]
        for protectionClass in ProtectionClass.allCases where protectionClass.needsNoPasscode {
            let tag = KeybagTag.classKey(protectionClass)
            let wrapped = KeyWrap.wrap(
                ClassKey.random(), under: kek(protectionClass, root, device),
                binding: binding(tag, keychainID: keychainID, epoch: epoch))
            records[tag] = wrapped.bytes
        }
        let index = KeyWrap.wrap(
            IndexKey.random(), under: indexKEK(root),
            binding: binding(.indexKey, keychainID: keychainID, epoch: epoch))
        records[.indexKey] = index.bytes
        return records
    }
}
