// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetKeys
internal import ValetSealing
internal import ValetSystem
internal import ValetTPM

// Whether a passcode is right, if the keychain needs a TPM as well: docs/FORMAT.md §4.8. Without a
// TPM: `PasscodeCheck`.

extension DeviceSecretSource {
    private static let opening = "open the keychain with the TPM"

    /// The protector for a keybag that needs the TPM and the passcode. The TPM checks the passcode
    /// and counts wrong ones.
    ///
    /// - Parameter patience: The longest wait for each of the two calls of the TPM.
    /// - Throws: ``KeychainFailure``: `authenticationFailed`, which says how many tries are left;
    ///   as ``unsealedSecret(of:until:)``; `outOfMemory`.
    package func protector(
        of keybag: LockedKeybag, _ typed: Passcode, _ patience: Duration
    ) throws(KeychainFailure) -> Protector {
        let secret = try unsealedSecret(of: keybag, until: Deadline(after: patience))
        let stored = keybag.tpmPasscodeObject ?? []
        let passcode = try stretched(typed, keybag)
        let bytes = try asking(Self.opening) { () throws(SystemError) in
            try location.tpm.unsealPasscodeSecret(
                SealedObject(parsing: stored), authorization: passcode.authorization,
                isForced: typed.isInsisting, until: Deadline(after: patience))
        }
        let unsealed: TPMPasscodeSecret = try Self.key(bytes, Self.opening)
        return try Protector(secret, passcode: passcode, unsealed: unsealed, object: stored)
    }

    private func stretched(
        _ typed: Passcode, _ keybag: LockedKeybag
    ) throws(KeychainFailure) -> StretchedRecord {
        do {
            return try StretchedRecord(typed, opening: keybag)
        } catch {
            throw error.unlessOfKeybag(Self.opening)
        }
    }
}
