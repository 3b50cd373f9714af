// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// A protector of whichever kind a keychain has.
package enum AnyProtector: Protector, ~Copyable, Sendable {
    /// The device secret alone.
    case device(DeviceProtector)
    /// Device secret and passcode.
    case passcode(PasscodeProtector)
    /// Device secret, passcode and TPM.
    case tpm(TPMProtector)

    /// Which record of the keybag it opens.
    package var kind: ProtectorKind {
        switch self {
        case .device: .device
        case .passcode: .passcode
        case .tpm: .tpmAndPasscode
        }
    }

    /// The id of the device secret.
    package var deviceKeyID: KeyID {
        switch self {
        case .device(let protector): protector.deviceKeyID
        case .passcode(let protector): protector.deviceKeyID
        case .tpm(let protector): protector.deviceKeyID
        }
    }

    /// Unwraps the root key of `keybag`.
    ///
    /// - Throws: As the protector that it is.
    package func rootKey(of keybag: LockedKeybag) throws(KeybagError) -> RootKey {
        switch self {
        case .device(let protector): try protector.rootKey(of: keybag)
        case .passcode(let protector): try protector.rootKey(of: keybag)
        case .tpm(let protector): try protector.rootKey(of: keybag)
        }
    }

    /// The key that keys of this device only are bound to.
    package func deviceKEK(for keychainID: KeychainID) -> DeviceKEK {
        switch self {
        case .device(let protector): protector.deviceKEK(for: keychainID)
        case .passcode(let protector): protector.deviceKEK(for: keychainID)
        case .tpm(let protector): protector.deviceKEK(for: keychainID)
        }
    }

    /// The key that the key of items which need a passcode is bound to; nil without one.
    package func passcodeKEK(for keychainID: KeychainID) -> PasscodeKEK? {
        switch self {
        case .device(let protector): protector.passcodeKEK(for: keychainID)
        case .passcode(let protector): protector.passcodeKEK(for: keychainID)
        case .tpm(let protector): protector.passcodeKEK(for: keychainID)
        }
    }

    /// The records of the protector that it is.
    package func wrap(
        _ root: borrowing RootKey, keychainID: KeychainID, epoch: Epoch
    ) -> [KeybagTag: [UInt8]] {
        switch self {
        case .device(let protector):
            protector.wrap(root, keychainID: keychainID, epoch: epoch)
        case .passcode(let protector):
            protector.wrap(root, keychainID: keychainID, epoch: epoch)
        case .tpm(let protector):
            protector.wrap(root, keychainID: keychainID, epoch: epoch)
        }
    }
}
