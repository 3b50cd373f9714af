// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// The check of a passcode: a wrong one does not unwrap the root key. Nothing else compares
/// passcodes, and nothing that is stored has one.
extension Protector {
    /// Unwraps the root key of `keybag`, which must be of this kind.
    ///
    /// - Throws: ``KeychainFailure``: `keyUnavailable` if the keybag names another secret;
    ///   `locked` if the passcode was stretched, or the TPM's object made, for another
    ///   keybag; `authenticationFailed`; `keychainDamaged` if the keybag was changed.
    package func rootKey(of keybag: LockedKeybag) throws(KeychainFailure) -> RootKey {
        try keybag.check(secret)
        let keychainID = keybag.keychainID
        switch share {
        case .none:
            return try keybag.rootKey(in: .rootByDevice, under: deviceKEK(for: keychainID))
        case .passcode(let passcode):
            try keybag.check(.argon2, is: passcode.argon2.bytes)
            return try keybag.rootKey(
                in: .rootByPasscode, under: kek(for: keychainID, passcode),
                parameters: rootParameters, wrongKey: .wrongPasscode)
        case .tpm(let share):
            try keybag.check(.argon2, is: share.passcode.argon2.bytes)
            try keybag.check(.tpmPasscodeObject, is: share.object)
            return try keybag.rootKey(
                in: .rootByTPM, under: kek(for: keychainID, share), parameters: rootParameters,
                wrongKey: .wrongPasscode)
        }
    }
}
