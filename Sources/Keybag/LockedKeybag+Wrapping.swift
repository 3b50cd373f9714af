// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSealing

/// The places that wrapped keys are bound to: docs/FORMAT.md §4.2.
extension LockedKeybag {
    /// The place that the key in record `tag` is bound to; for the records of root keys that need
    /// parameters, their protector says it.
    func binding(_ tag: KeybagTag) -> WrapBinding {
        switch tag {
        case .classKey(let protectionClass):
            WrapBinding(
                .classKey, keychainID: keychainID, epoch: epoch,
                parameters: Array(protectionClass.code.utf8))
        case .indexKey: WrapBinding(.index, keychainID: keychainID, epoch: epoch)
        case .presencePasscode: presenceBinding(.passcode)
        case .presencePerson: presenceBinding(.person)
        case .rootByRecoveryKey:
            WrapBinding(.rootRecovery, keychainID: keychainID, epoch: epoch)
        default: WrapBinding(.root, keychainID: keychainID, epoch: epoch)
        }
    }
    private func presenceBinding(_ pair: PresencePair) -> WrapBinding {
        WrapBinding(
            .presence, keychainID: keychainID, epoch: epoch, parameters: Array(pair.rawValue.utf8))
    }
}
