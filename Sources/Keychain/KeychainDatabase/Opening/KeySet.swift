// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetKeys

/// The opened keys of a keychain, with the header that they belong to. ``OpenKeychain`` makes and
/// keeps them; every transaction on rows uses them.
package final class KeySet: Sendable {
    /// The settings and the keybag that the keys belong to.
    package let header: KeychainHeader
    /// The keys that open and seal rows.
    package let rows: RowKeys
    /// The object of the lock state from which ``rows`` was made; nil for a keychain without a
    /// passcode. Once the lock state drops that object, ``rows`` must not be used.
    let opened: OpenedKeys?

    /// The settings that the keys belong to.
    package var settings: KeychainSettings { header.settings }

    /// - Parameters:
    ///   - keys: The keys of the keybag of `header`.
    ///   - opened: The object of the lock state that has `keys`; nil for a keychain without a
    ///     passcode.
    /// - Throws: ``KeychainFailure``: `keychainDamaged`, `newerFormat`.
    init(
        _ header: KeychainHeader, _ keys: UnlockedKeybag, opened: OpenedKeys?
    ) throws(KeychainFailure) {
        self.header = header
        self.opened = opened
        var onUse: (@Sendable () -> Void)?
        if let lockState = header.lockState { onUse = { lockState.noteUse() } }
        rows = RowKeys(
            header.settings.keychainID, try KeychainEpoch(header.keybag, keys), onUse: onUse)
    }

    /// Whether these keys were made from `keys` of the lock state.
    func isOpened(by keys: OpenedKeys?) -> Bool {
        guard let keys else { return false }
        return opened === keys
    }
}
