// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// What seals and opens the items of one protection class in one epoch.
package final class ClassKeys: Sendable {
    /// The class whose items these keys are for.
    package let protectionClass: ProtectionClass
    /// The class key's id: rows name their key by it.
    package let keyID: KeyID
    /// Seals names and details.
    package let attributes: AttributesSubkey
    /// Seals values.
    package let value: ValueSubkey

    init(_ protectionClass: ProtectionClass, key: borrowing ClassKey) {
        self.protectionClass = protectionClass
        keyID = key.id
        attributes = KeyedHash.derive(from: key, .sealAttributes)
        value = KeyedHash.derive(from: key, .sealValue)
    }

    /// Takes over subkeys that were kept apart from their keybag: docs/FORMAT.md §4.7.
    package init(
        protectionClass: ProtectionClass, keyID: KeyID, attributes: consuming AttributesSubkey,
        value: consuming ValueSubkey
    ) {
        self.protectionClass = protectionClass
        self.keyID = keyID
        self.attributes = attributes
        self.value = value
    }
}
