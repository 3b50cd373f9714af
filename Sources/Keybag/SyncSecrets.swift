// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// The wraps of the secrets that a device's keys in a circle are made from: docs/SYNC.md §2.
///
/// A new passcode and a new epoch of the keychain wrap the same secrets again.
package enum SyncSecrets {
    /// Wraps the secret of `scope` for the keybag at `place`.
    package static func wrap(
        _ secret: borrowing SyncSecret, _ scope: KeyScope, root: borrowing RootKey,
        deviceKEK: borrowing DeviceKEK, at place: KeychainPlace
    ) -> WrappedKey {
        KeyWrap.wrap(
            secret, under: kek(scope, root, deviceKEK), binding: place.binding(scope))
    }

    /// Unwraps the secret of `scope` from the keybag at `place`.
    ///
    /// - Throws: ``ValetSealing/SealingError``: `wrongKey`, `tampered`.
    package static func unwrap(
        _ wrapped: WrappedKey, _ scope: KeyScope, root: borrowing RootKey,
        deviceKEK: borrowing DeviceKEK, at place: KeychainPlace
    ) throws(SealingError) -> SyncSecret {
        try KeyWrap.unwrap(
            wrapped, under: kek(scope, root, deviceKEK), binding: place.binding(scope))
    }

    /// A generation of keys of a keychain.
    package struct KeychainPlace: Hashable, Sendable {
        /// The keychain.
        let keychainID: KeychainID
        /// The generation.
        let epoch: Epoch

        /// Names the generation `epoch` of a keychain.
        package init(_ keychainID: KeychainID, _ epoch: Epoch) {
            self.keychainID = keychainID
            self.epoch = epoch
        }

        fileprivate func binding(_ scope: KeyScope) -> WrapBinding {
            WrapBinding(
                .sync, keychainID: keychainID, epoch: epoch, parameters: [scope.rawValue])
        }
    }

    private static func kek(
        _ scope: KeyScope, _ root: borrowing RootKey, _ deviceKEK: borrowing DeviceKEK
    ) -> SyncKEK {
        KeyedHash.derive(from: root, .syncKEK) { hash in
            hash.append(scope.rawValue)
            hash.append(deviceKEK)
        }
    }
}
