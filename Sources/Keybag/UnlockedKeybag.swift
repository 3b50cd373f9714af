// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// The opened keys of one epoch; they lie in guarded memory and are wiped with the last owner.
///
/// Some classes may be missing: while the keychain is locked, after a recovery, without a passcode.
package final class UnlockedKeybag: Sendable {
    /// The keychain that the keys belong to.
    package let keychainID: KeychainID
    /// The generation of keys.
    package let epoch: Epoch
    /// Hashes what is searched.
    package let index: IndexKey
    /// The secret half of the presence pair `person`, open while the keychain is unlocked; nil if
    /// it is not open or does not exist.
    package let person: AgreementSecret?
    private let classes: [ClassKeys?]

    /// Puts together what was opened: the index key and those classes that there are, each once.
    package init(
        keychainID: KeychainID, epoch: Epoch, index: consuming IndexKey, classes: [ClassKeys],
        person: consuming AgreementSecret? = nil
    ) {
        self.keychainID = keychainID
        self.epoch = epoch
        self.index = index
        self.person = person
        var table = [ClassKeys?](repeating: nil, count: 1 + ProtectionClass.allCases.count)
        for keys in classes { table[Int(keys.protectionClass.rawValue)] = keys }
        self.classes = table
    }

    /// The keys of a protection class; nil for a class whose key is not open or does not exist.
    package func keys(of protectionClass: ProtectionClass) -> ClassKeys? {
        classes[Int(protectionClass.rawValue)]
    }

    /// The keys of all classes of a scope that are open, in the order of the classes' numbers.
    package func keys(in scope: KeyScope) -> [ClassKeys] {
        classes.compactMap { $0 }.filter { $0.protectionClass.scope == scope }
    }
}
