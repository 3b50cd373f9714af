// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

// Whether a passcode is right: only the right one, stretched (`StretchedRecord`), unwraps the root
// key of a keybag. A TPM has checked it before that: `TPMPasscodeCheck`.

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

extension LockedKeybag {
    /// Unwraps the root key in a record.
    ///
    /// - Parameter wrongKey: The fault if the record was wrapped under another key.
    fileprivate func rootKey<K: WrapsKeys>(
        in tag: KeybagTag, under kek: borrowing SymmetricKey<K>, parameters: [UInt8] = [],
        wrongKey: KeybagFault = .tampered
    ) throws(KeychainFailure) -> RootKey {
        let wrapped = try wrappedKey(tag)
        let binding = WrapBinding(
            .root, keychainID: keychainID, epoch: epoch, parameters: parameters)
        do {
            return try KeyWrap.unwrap(wrapped, under: kek, binding: binding)
        } catch {
            throw KeychainFailure(error, wrongKey: wrongKey)
        }
    }

    fileprivate func check(_ tag: KeybagTag, is expected: [UInt8]) throws(KeychainFailure) {
        guard try body(tag) == expected else {
            throw KeychainFailure(.needsProtector)
        }
    }
}
