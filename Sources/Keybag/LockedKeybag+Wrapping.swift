// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import Sealing

/// How the keys of one epoch are wrapped: docs/FORMAT.md §4.2.
extension LockedKeybag {
    /// What wraps the key of `protectionClass`.
    static func kek(
        _ protectionClass: ProtectionClass, _ root: borrowing RootKey,
        _ device: borrowing DeviceKEK
    ) -> ClassKEK {
        let isDeviceOnly = protectionClass.isThisDeviceOnly
        var hash = KeyedHash(root, isDeviceOnly ? .classKEKDevice : .classKEK)
        hash.append(protectionClass.code)
        if isDeviceOnly { hash.append(device) }
        return hash.derive()
    }

    /// What wraps the index key.
    static func indexKEK(_ root: borrowing RootKey) -> IndexKEK {
        KeyedHash.derive(from: root, .indexKEK)
    }

    /// The place that the key in record `tag` is bound to.
    func binding(_ tag: KeybagTag) -> WrapBinding {
        Self.binding(tag, keychainID: keychainID, epoch: epoch)
    }

    static func binding(
        _ tag: KeybagTag, keychainID: KeychainID, epoch: Epoch
    ) -> WrapBinding {
        switch tag {
        case .classKey(let protectionClass):
            WrapBinding(
                .classKey, keychainID: keychainID, epoch: epoch,
                parameters: Array(protectionClass.code.utf8))
        case .indexKey: WrapBinding(.index, keychainID: keychainID, epoch: epoch)
        default: WrapBinding(.root, keychainID: keychainID, epoch: epoch)
        }
    }
}

extension ProtectionClass {
    /// Whether the class has a key while no passcode is set.
    var needsNoPasscode: Bool { self != .whenPasscodeSetThisDeviceOnly }
}
