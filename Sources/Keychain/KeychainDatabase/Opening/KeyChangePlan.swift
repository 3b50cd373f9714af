// SPDX-License-Identifier: Apache-2.0

// The values that `KeyChange` works with: the request, and the prepared change.

package import ValetKeychainModel
package import ValetKeys
internal import ValetSealing
package import ValetTPM

/// What a key change has to do: how the next epoch is protected.
package struct KeyChangeRequest {
    /// The passcode; nil for none.
    let passcode: Passcode?
    /// The work that one try of the passcode costs.
    let stretching: PasscodeStretching
    /// Whether the recovery key also opens the next epoch.
    package var keepsRecoveryKey = true
    /// Whether to unlock a locked keychain. Has no effect without a passcode.
    package var unlocks = true
    /// The source of its device secret; nil keeps the current source.
    package var source: DeviceKeySource?
    /// The PCRs of a TPM that its device secret is bound to; nil for those of the current epoch.
    package var registers: PCRSelection?
    /// How long each call of the TPM may take.
    var patience = Duration.seconds(5)

    /// An epoch like the current one, with this passcode.
    package init(
        passcode: Passcode?, stretching: PasscodeStretching,
        patience: Duration = .seconds(5)
    ) {
        self.passcode = passcode
        self.stretching = stretching
        self.patience = patience
    }

    /// The PCRs for a device secret that moves to `place`: those in `numbers`. If `numbers` is nil:
    /// no PCRs for a TPM, otherwise nil, which keeps those of the current epoch.
    ///
    /// - Throws: ``KeychainFailure/Code/invalidRequest`` for a PCR above 23, or without a TPM.
    package static func registers(
        _ numbers: [Int]?, at place: DeviceKeySource?
    ) throws(KeychainFailure) -> PCRSelection? {
        guard let numbers else { return place == .tpm ? PCRSelection.none : nil }
        guard place == .tpm, let registers = PCRSelection(numbers) else {
            throw KeychainFailure(
                .invalidRequest, during: "change the keys",
                message: "PCRs are numbers from 0 to 23, of a TPM that the key is bound to")
        }
        return registers
    }
}

/// The protector or recovery key that opens a keychain before a key change.
package enum KeychainOpener: ~Copyable {
    case protector(Protector)
    case recovery(RecoveryProtector)
}

/// A prepared key change: everything that its transaction needs.
package struct KeyChangePlan: ~Copyable {
    /// Opens the current epoch.
    let opener: KeychainOpener
    /// Will open the next epoch.
    package let protector: Protector
    /// Where the device secret of `protector` comes from.
    let deviceSource: DeviceKeySource
    /// The new device key, to be written first; nil if it does not come from `device.key`.
    let deviceKey: DeviceKeyFile?
    /// Whether the recovery key also opens the next epoch.
    let keepsRecoveryKey: Bool
    /// For a change that unlocks a locked keychain, the moment before the passcode was checked: a
    /// lock since then wins.
    let unlockingSince: LockMoment?
    /// Rows whose loss is expected. They do not count as damaged.
    package var expectedLoss: RowKinds?
    /// What the user knows to be destroyed; nil if nobody was asked. More makes the change fail.
    package var agreedLoss: AgreedLoss?

    /// The header after the change, with the keybag of the next epoch.
    ///
    /// - Throws: As ``LockedKeybag/unlock(with:settings:)``; `malformed` if the epoch number would
    ///   exceed what a database can store.
    func successor(of header: KeychainHeader) throws(KeychainFailure) -> KeychainHeader {
        var settings = header.settings
        settings.stamp = .random(in: .min ... .max)
        settings.epoch = Epoch(header.keybag.epoch.rawValue + 1)
        let place = KeybagPlace(
            deviceSource: deviceSource,
            recovery: keepsRecoveryKey ? try header.keybag.recoveryPublicKey : nil)
        let keybag: LockedKeybag
        switch opener {
        case .protector(let opener):
            keybag = try LockedKeybag(
                succeeding: header.keybag, openedBy: opener, as: place, protector: protector,
                settings: settings.authenticatedBytes)
        case .recovery(let opener):
            keybag = try LockedKeybag(
                succeeding: header.keybag, recoveredBy: opener, as: place, protector: protector,
                settings: settings.authenticatedBytes)
        }
        return KeychainHeader(settings, keybag, at: header.location)
    }

    /// The keys that the current protector or the recovery key opens, and the proof that they give.
    /// A recovery opens neither the class that needs the passcode, nor, without the device secret,
    /// any class of this device.
    ///
    /// - Throws: As ``LockedKeybag/unlock(with:settings:)``.
    func open(_ header: KeychainHeader) throws(KeychainFailure) -> (UnlockedKeybag, PresenceProof) {
        switch opener {
        case .protector(let opener):
            return (try header.unlock(with: opener), try header.proof(with: opener))
        case .recovery(let opener):
            let settings = header.settings.authenticatedBytes
            let pairs = try header.keybag.presenceKeys(with: opener, settings: settings)
            return (
                try header.keybag.unlock(with: opener, settings: settings),
                PresenceProof(.passcode, keys: [pairs])
            )
        }
    }

    /// Whether a recovery key opens the keychain.
    var isRecovery: Bool {
        switch opener {
        case .protector: false
        case .recovery: true
        }
    }
}
