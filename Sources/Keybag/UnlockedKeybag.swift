// SPDX-License-Identifier: Apache-2.0

package import KeychainModel
package import Sealing

/// The opened keys of one epoch; they lie in guarded memory and are wiped with the last owner.
package final class UnlockedKeybag: Sendable {
    /// The keychain that the keys belong to.
    package let keychainID: KeychainID
    /// The generation of keys.
    package let epoch: Epoch
    /// Hashes what is searched.
    package let index: IndexKey
    private let classes: [ClassKeys?]

    /// Puts together the keys of one epoch, of some classes or all.
    package init(
        keychainID: KeychainID, epoch: Epoch, index: consuming IndexKey, classes: [ClassKeys]
    ) {
        self.keychainID = keychainID
        self.epoch = epoch
        self.index = index
        var table = [ClassKeys?](repeating: nil, count: 1 + ProtectionClass.allCases.count)
        for keys in classes { table[Int(keys.protectionClass.rawValue)] = keys }
        self.classes = table
    }

    /// The keys of a protection class; nil for a class that the keybag has no key of.
    package func keys(of protectionClass: ProtectionClass) -> ClassKeys? {
        classes[Int(protectionClass.rawValue)]
    }
}
