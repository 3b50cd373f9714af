// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing

// Read-only checks of a passcode, a recovery key and the device key. A command makes them before it
// asks the user further questions. An unlock checks the passcode in the same way:
// `KeychainPasscodes.protector` stretches it, and `LockedKeybag.unlock` opens the keys with the
// result.

extension Keychain {
    /// Checks that the keychain and its device key exist.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain, `incomplete` or
    ///   `keyUnavailable` if its device key is missing, other failures if it cannot be read.
    package func checkDeviceKey() throws(KeychainFailure) {
        try store.workOnKeys("open the keychain") { (keys) throws(KeychainFailure) in
            _ = try keys.source.secret(of: keys.header(), until: keys.deadline)
        }
    }

    /// Checks a passcode. Changes and publishes nothing. Takes as long as stretching the passcode.
    ///
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a wrong passcode,
    ///   `passcodeNotSet`, `itemNotFound`, `incomplete`, `keyUnavailable`.
    package func check(_ passcode: Passcode) throws(KeychainFailure) {
        let operation = "check the passcode"
        try store.workOnKeys(operation) { (keys) throws(KeychainFailure) in
            let header = try keys.header()
            guard header.lockState != nil else {
                throw KeychainFailure(
                    .passcodeNotSet, during: operation, message: "there is no passcode")
            }
            let protector = try keys.protector(of: header, passcode)
            try keys.countingWrongPasscodes { () throws(KeychainFailure) in
                _ = try header.unlock(with: protector)
            }
        }
    }

    /// Checks that a text is the keychain's recovery key. Changes nothing.
    ///
    /// - Parameter text: The recovery key as the user typed it.
    /// - Throws: ``KeychainFailure``: `authenticationFailed` for a mistyped text, for the key of
    ///   another keychain, and if there is no recovery key; `itemNotFound`.
    package func checkRecoveryKey(_ text: borrowing SecretBytes) throws(KeychainFailure) {
        let operation = "check the recovery key"
        let publicKey = try text.withBytes { bytes throws(KeychainFailure) in
            try RecoveryKey(parsing: bytes).publicKey
        }
        try store.workOnKeys(operation) { (keys) throws(KeychainFailure) in
            let known = try keys.header().keybag.recoveryPublicKey
            guard known == publicKey else {
                throw KeychainFailure(
                    .authenticationFailed, during: operation,
                    message: known == nil
                        ? "there is no recovery key" : "wrong recovery key")
            }
        }
    }

    /// The numbers of items and former values that exist only while a passcode is set: those of the
    /// class `whenPasscodeSetThisDeviceOnly`, and those that require the user's presence.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if there is no keychain.
    package func lossWithoutPasscode() throws(KeychainFailure) -> ItemLoss {
        try store.workOnKeys("count items") { (keys) throws(KeychainFailure) in
            try keys.loss(of: [.needingPasscode])
        }
    }
}
