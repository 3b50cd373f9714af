// SPDX-License-Identifier: Apache-2.0

package import Sealing

/// The wrapped keys of one epoch, as they are stored.
///
/// Parsed, and so of a legal shape; nothing is authenticated before ``unlock(with:settings:)``.
package struct LockedKeybag: Sendable {
    package let keychainID: KeychainID
    package let epoch: Epoch
    package let protector: ProtectorKind
    package let deviceSource: DeviceSource
    /// The id of the device secret that the keybag was made with.
    package let deviceKeyID: KeyID
    package internal(set) var records: [KeybagTag: [UInt8]]
    package internal(set) var mac: Digest

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
