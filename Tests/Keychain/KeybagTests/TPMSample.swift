// SPDX-License-Identifier: Apache-2.0

import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

/// A keybag with a passcode and a TPM, without a TPM: what one would give out is made up.
struct TPMSample {
    static let settings = TestKeybag.settings
    static let typed = PasscodeSample.typed

    let deviceSecret: [UInt8]
    let unsealed: [UInt8]
    let argon2: Argon2Record
    private(set) var locked: LockedKeybag

    /// Of the right outer form.
    static let object: [UInt8] = {
        let area: [UInt8] = [0, 0, 0, 5, 0, 3, 1, 2, 3]
        let name: [UInt8] = [0, 0, 0, 34, 0, 0x0b] + .init(repeating: 7, count: 32)
        return area + area + name + [0, 0, 0, 0]
    }()

    init(
        cost: Argon2Cost = PasscodeSample.toy, source: DeviceKeySource = .ownFile,
        deviceSecret: [UInt8] = Randomness.bytes(32)
    ) throws {
        let (unsealed, argon2) = (
            Randomness.bytes(32), Argon2Record(salt: .random(), cost: cost)
        )
        self.deviceSecret = deviceSecret
        self.unsealed = unsealed
        self.argon2 = argon2
        let protector = try Protector(
            DeviceSecret(copying: deviceSecret.span),
            passcode: StretchedRecord(Passcode(Self.typed), argon2: argon2),
            unsealed: TPMPasscodeSecret(copying: unsealed.span), object: Self.object,
            deviceObject: source == .tpm ? Self.object : nil)
        locked = LockedKeybag(
            keychainID: .random(), epoch: Epoch(1), deviceSource: source, protector: protector,
            settings: Self.settings)
    }

    /// What opens it, by default with all that is right.
    func protector(
        secret: [UInt8]? = nil, passcode: [UInt8] = typed, unsealed: [UInt8]? = nil,
        argon2: Argon2Record? = nil, object: [UInt8] = object
    ) throws -> Protector {
        let (secret, unsealed) = (secret ?? deviceSecret, unsealed ?? self.unsealed)
        return try Protector(
            DeviceSecret(copying: secret.span),
            passcode: StretchedRecord(Passcode(passcode), argon2: argon2 ?? self.argon2),
            unsealed: TPMPasscodeSecret(copying: unsealed.span), object: object)
    }

    func unlock(with protector: borrowing Protector) throws -> UnlockedKeybag {
        try locked.unlock(with: protector, settings: Self.settings)
    }
}
