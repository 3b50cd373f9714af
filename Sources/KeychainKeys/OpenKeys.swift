// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
package import ValetKeychainRows
internal import ValetLockState
internal import ValetSealing

/// The opened keys of a keychain, with the header that they belong to. ``OpenKeychain`` makes and
/// keeps them; every transaction on rows uses them.
package final class OpenKeys: Sendable {
    /// The settings and keybags that the keys belong to.
    package let header: KeychainHeader
    /// The keys that open and seal rows.
    package let rows: RowKeys
    /// The keys in the lock state that these were copied from; nil for a keychain without a
    /// passcode.
    let opened: OpenedKeys?

    /// The settings that the keys belong to.
    package var settings: KeychainSettings { header.settings }

    /// - Parameters:
    ///   - keys: The keys of each keybag of `header`, the newest first.
    ///   - opened: The keys in the lock state that `keys` come from, if they do.
    /// - Throws: ``KeybagError``: `malformed`, `newer`.
    init(
        _ header: KeychainHeader, _ keys: [UnlockedKeybag], opened: OpenedKeys?
    ) throws(KeybagError) {
        self.header = header
        self.opened = opened
        let older: KeychainEpoch? =
            if let old = header.older { try KeychainEpoch(old, keys[1]) } else { nil }
        var onUse: (@Sendable () -> Void)?
        if let lockState = header.lockState { onUse = { lockState.noteUse() } }
        rows = RowKeys(
            header.settings.keychainID, newest: try KeychainEpoch(header.newest, keys[0]),
            older: older, onUse: onUse)
    }

    /// The same keys for a later header, in which the older epoch may be gone; nil if the header
    /// has a keybag that these keys do not open.
    ///
    /// - Throws: ``KeybagError``: `malformed`, `newer`.
    func following(_ header: KeychainHeader) throws(KeybagError) -> OpenKeys? {
        if header.settings == settings { return self }
        // Equal digests: these keybags are the opened ones, unchanged.
        guard header.marks.allSatisfy(self.header.marks.contains) else { return nil }
        let own = [rows.newest, rows.older].compactMap { $0?.keys }
        let keys = header.keybags.compactMap { keybag in
            own.first { $0.epoch == keybag.epoch }
        }
        return try OpenKeys(header, keys, opened: nil)
    }

    /// Whether these keys come from `keys`.
    func isOpened(by keys: OpenedKeys?) -> Bool {
        guard let keys else { return false }
        return opened === keys
    }
}
