// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// What opens a keybag whose device secret or passcode is lost: the recovery key and, if it is
/// still there, the device secret.
///
/// No `Protector`: keybags are not made with it, and it does not open all of one.
package struct RecoveryProtector: ~Copyable, Sendable {
    private let key: RecoveryKey
    private let secret: DeviceSecret?

    /// Takes over the recovery key and the device secret.
    package init(_ key: consuming RecoveryKey, deviceSecret: consuming DeviceSecret? = nil) {
        self.key = key
        secret = deviceSecret
    }

    /// What opens the classes of `keybag` that may be recovered.
    ///
    /// - Throws: As ``LockedKeybag/unlock(with:settings:)-(RecoveryProtector,_)``, but for the MAC.
    func wrappingKeys(of keybag: LockedKeybag) throws(KeybagError) -> WrappingKeys {
        let root = try rootKey(of: keybag)
        switch secret {
        case .none: return WrappingKeys(root: root, device: nil, passcode: nil)
        case .some(let secret):
            try keybag.check(secret, during: LockedKeybag.recovering)
            let device = secret.kek(for: keybag.keychainID)
            return WrappingKeys(root: root, device: device, passcode: nil)
        }
    }

    private func rootKey(of keybag: LockedKeybag) throws(KeybagError) -> RootKey {
        guard let publicKey = try keybag.recoveryPublicKey else {
            throw KeybagError(.noRecoveryKey, during: LockedKeybag.recovering)
        }
        guard publicKey == key.publicKey else {
            throw KeybagError(.wrongRecoveryKey, during: LockedKeybag.recovering)
        }
        let body = try keybag.body(.rootByRecoveryKey)
        do throws(SealingError) {
            return try SealedToPublicKey(parsing: body.span)
                .unwrap(with: key.pair, binding: keybag.binding(.rootByRecoveryKey))
        } catch {
            throw KeybagError(error, during: LockedKeybag.recovering)
        }
    }
}
