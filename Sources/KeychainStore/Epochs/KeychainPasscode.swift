// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
package import ValetKeychainModel
package import ValetSecretMemory

/// A passcode that somebody typed, from 1 to 1,024 bytes; it lies in guarded memory, and is wiped
/// with its last owner.
package final class KeychainPasscode: Sendable {
    let passcode: Passcode
    /// Whether a TPM is to try it even if few tries are left.
    let isInsisting: Bool

    /// Takes over what was typed, without the end of the line.
    ///
    /// - Parameter insisting: Whether a TPM is to try it even if it takes few wrong tries more, and
    ///   then none for long.
    /// - Throws: ``KeychainFailure/Code/invalidRequest`` for no bytes or too many.
    package init(
        _ typed: consuming SecretBytes, insisting: Bool = false
    ) throws(KeychainFailure) {
        isInsisting = insisting
        do throws(KeybagError) {
            passcode = try Passcode(typed)
        } catch {
            throw KeychainFailure(
                .invalidRequest, during: "take the passcode", message: error.explanation)
        }
    }

    /// Whether it has fewer than eight characters: a thief of the disk soon guesses them.
    package var isShort: Bool { passcode.isShort }
}

/// How much work it is to try a passcode.
package enum PasscodeStretching: Sendable {
    /// About 250 ms of this machine's processor, measured when the passcode is set.
    case calibrated
    /// The least that is ever used: 64 MiB and 3 passes.
    case lowest
}
