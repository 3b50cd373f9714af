// SPDX-License-Identifier: Apache-2.0

package import ValetSecretMemory

/// Stretching of what a person types into a key: Argon2id, version 1.3, one lane (RFC 9106).
package enum PassphraseKDF {
    /// Stretches `passphrase`, which is taken byte for byte: normalise it before.
    ///
    /// Takes the memory and the time that `cost` says.
    /// - Throws: ``SealingError/Code/outOfMemory`` if there is not that much memory.
    package static func stretch(
        _ passphrase: borrowing SecretBytes, salt: Salt, cost: Argon2Cost
    ) throws(SealingError) -> StretchedPasscode {
        try SymmetricKey { (key: inout MutableSpan<UInt8>) throws(SealingError) in
            let isDone = passphrase.withBytes { passphrase in
                salt.withBytes { salt in
                    Sodium.argon2id(passphrase, salt: salt, cost: cost, into: &key)
                }
            }
            guard isDone else {
                throw SealingError(.outOfMemory, during: .stretch, of: "passphrase")
            }
        }
    }
}
