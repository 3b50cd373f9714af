// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
internal import ValetSystem

/// The secrets that this device's keys in a circle are made from: docs/SYNC.md §2. `valet sync`
/// sets new ones when a device creates or joins a circle. Row transactions get them from
/// `RowKeys.syncSecret`.
extension Keychain {
    /// Stores new sync secrets, in place of those that the keychain has. Creates the keychain if
    /// there is none. A locked keychain stays locked. If its scope `afterFirstUnlock` is open, the
    /// new secret of that scope is open, too.
    ///
    /// - Parameters:
    ///   - first: The secret of the scope `afterFirstUnlock`.
    ///   - unlocked: The secret of the scope `whileUnlocked`.
    ///   - passcode: The passcode; nil if none is set.
    /// - Throws: ``KeychainFailure``: `interactionNotAllowed` if a passcode is needed,
    ///   `authenticationFailed` for a wrong one, `timedOut`, `readOnly`, `diskFull`.
    @discardableResult
    package func setSyncSecrets(
        _ first: borrowing SyncSecret, _ unlocked: borrowing SyncSecret,
        passcode: Passcode?
    ) throws(KeychainFailure) -> KeyChangeOutcome {
        let operation = "store the secrets of sync"
        return try store.changeKeys(operation, creating: true) {
            (keys, header) throws(KeychainFailure) -> Protector in
            try keys.protector(of: header, passcode)
        } _: { (keys, header, opener) throws(KeychainFailure) in
            try keys.replaceOnlyKeybag(of: header, openedBy: opener) {
                (keybag, settings) throws(KeychainFailure) in
                try keybag.settingSyncSecrets(first, unlocked, with: opener, settings: settings)
            }
        }
    }

    /// Whether the keychain has sync secrets, open or not. A recovery without the device key loses
    /// them.
    ///
    /// - Throws: ``KeychainFailure``: `timedOut`, `newerFormat`, `keychainDamaged`.
    package func hasSyncSecrets() throws(KeychainFailure) -> Bool {
        try store.inspect("look for the secrets of sync") { (keys) throws(KeychainFailure) in
            try keys.header().keybag.hasSyncSecrets
        } ?? false
    }
}

extension KeychainPasscodes {
    /// Replaces the keybag of `header`.
    ///
    /// - Returns: nil if the keychain is no longer that of `header`.
    fileprivate func replaceOnlyKeybag(
        of header: KeychainHeader, openedBy opener: borrowing Protector,
        _ change: (LockedKeybag, _ settings: [UInt8]) throws(KeychainFailure) -> LockedKeybag
    ) throws(KeychainFailure) -> KeyChangeOutcome? {
        try countingWrongPasscodes { () throws(KeychainFailure) in
            try replaceKeybag(of: header, openedBy: opener, change)
        }
    }
}
