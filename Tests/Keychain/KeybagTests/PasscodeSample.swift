// SPDX-License-Identifier: Apache-2.0

import ValetKeychainModel
import ValetSealing

@testable import ValetKeys

/// A keybag with a passcode, stretched at a cost that no real one has: such a keybag cannot be
/// parsed. One at the lowest real cost can.
struct PasscodeSample {
    static let settings = TestKeybag.settings
    static let typed = Array("corréct horse".utf8)
    static let toy = Argon2Cost(uncheckedMemoryKiB: 8, passes: 1)

    let deviceSecret: [UInt8]
    let argon2: Argon2Record
    var locked: LockedKeybag

    init(
        epoch: Epoch = Epoch(1), cost: Argon2Cost = toy,
        deviceSecret: [UInt8] = Randomness.bytes(32)
    ) throws {
        self.deviceSecret = deviceSecret
        argon2 = Argon2Record(salt: .random(), cost: cost)
        let protector = try Self.protector(deviceSecret, Self.typed, argon2)
        locked = LockedKeybag(
            keychainID: .random(), epoch: epoch, deviceSource: .ownFile, protector: protector,
            settings: Self.settings)
    }

    private static func protector(
        _ secret: [UInt8], _ passcode: [UInt8], _ argon2: Argon2Record
    ) throws -> Protector {
        try Protector(
            DeviceSecret(copying: secret.span),
            passcode: StretchedRecord(Passcode(passcode), argon2: argon2))
    }

    /// What opens it, by default with the right secret and passcode.
    func protector(
        secret: [UInt8]? = nil, passcode: [UInt8] = typed
    ) throws -> Protector {
        try Self.protector(secret ?? deviceSecret, passcode, argon2)
    }

    /// Opens it, by default with the right secret and passcode.
    func unlock(
        _ keybag: LockedKeybag? = nil, secret: [UInt8]? = nil, passcode: [UInt8] = typed
    ) throws -> UnlockedKeybag {
        try (keybag ?? locked).unlock(
            with: protector(secret: secret, passcode: passcode), settings: Self.settings)
    }

    /// Opens it with a recovery key, and the device secret if there is one.
    func recover(
        _ key: consuming RecoveryKey, secret: [UInt8]? = nil, settings: [UInt8] = settings
    ) throws -> UnlockedKeybag {
        let secret: DeviceSecret? =
            if let secret { try DeviceSecret(copying: secret.span) } else { nil }
        return try locked.unlock(
            with: RecoveryProtector(key, deviceSecret: secret), settings: settings)
    }

    /// The keybag with other records and a MAC that a holder of the root key made for them.
    func resealed(_ change: (inout [KeybagTag: [UInt8]]) -> Void) throws -> LockedKeybag {
        var changed = locked
        change(&changed.records)
        let root = try protector().rootKey(of: locked)
        changed.mac = changed.authenticationCode(root: root, settings: Self.settings)
        return changed
    }
}

extension RecoveryKey {
    /// The recovery key of that seed.
    init(_ seed: [UInt8]) { self.init(seed: SecretBytes(copying: seed.span)) }
}
