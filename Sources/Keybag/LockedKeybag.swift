// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// The wrapped keys of one epoch, as they are stored.
///
/// Parsed, and so of a legal shape; nothing is authenticated before ``unlock(with:settings:)``.
package struct LockedKeybag: Sendable {
    /// The keychain that the keys belong to.
    package let keychainID: KeychainID
    /// The generation of keys, counted from 1.
    package let epoch: Epoch
    /// What opens the root key.
    package let protector: ProtectorKind
    /// Where the device secret comes from.
    package let deviceSource: DeviceSource
    /// The id of the device secret that the keybag was made with.
    package let deviceKeyID: KeyID
    /// The body of each record by its tag: wrapped keys and their parameters.
    package internal(set) var records: [KeybagTag: [UInt8]]
    /// The code that authenticates the keybag with the settings beside it.
    package internal(set) var mac: Digest

    /// Checks that the keybag was made with `secret`, by the name of it.
    ///
    /// - Throws: ``KeybagError/Code/wrongDeviceSecret``.
    func check(
        _ secret: borrowing DeviceSecret, during operation: String = "open the keybag"
    ) throws(KeybagError) {
        guard deviceKeyID == secret.id else {
            throw KeybagError(.wrongDeviceSecret, during: operation)
        }
    }

    /// The body of a record that has to be there.
    func body(_ tag: KeybagTag) throws(KeybagError) -> [UInt8] {
        guard let body = records[tag] else {
            throw KeybagError(.malformed, during: "open the keybag")
        }
        return body
    }

    /// The wrapped key in record `tag`.
    func wrappedKey(_ tag: KeybagTag) throws(KeybagError) -> WrappedKey {
        let body = try body(tag)
        do throws(SealingError) {
            return try WrappedKey(parsing: body.span)
        } catch {
            throw KeybagError(error)
        }
    }
}
