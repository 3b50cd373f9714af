// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory

/// Wrapping of keys under keys. Format: keys and states, 1.1.
package enum KeyWrap {
    /// Wraps `key` for the place that `binding` names.
    package static func wrap<P, K: WrapsKeys>(
        _ key: borrowing SymmetricKey<P>, under kek: borrowing SymmetricKey<K>, binding: WrapBinding
    ) -> WrappedKey {
        wrap(key, under: kek, binding: binding, nonce: .random())
    }

    /// Wraps with a given nonce, to reproduce a test vector. A nonce used twice undoes the wrap.
    package static func wrap<P, K: WrapsKeys>(
        _ key: borrowing SymmetricKey<P>, under kek: borrowing SymmetricKey<K>,
        binding: WrapBinding, nonce: Nonce
    ) -> WrappedKey {
        let id = key.id
        let associatedData = binding.associatedData(keyID: id)
        let sealed = key.withBytes { key in
            kek.withBytes { kek in
                nonce.withBytes { nonce in
                    Sodium.seal(key, associatedData: associatedData.span, key: kek, nonce: nonce)
                }
            }
        }
        return WrappedKey(keyID: id, commitment: kek.commitment, sealed: sealed)
    }

    /// Unwraps a key from the place that `binding` names.
    ///
    /// - Throws: ``SealingError/Code/wrongKey``, before anything is opened, if it was not wrapped
    ///   under `kek`; ``SealingError/Code/tampered`` if it or its place is not what was wrapped.
    package static func unwrap<P, K: WrapsKeys>(
        _ wrapped: WrappedKey, as purpose: P.Type = P.self,
        under kek: borrowing SymmetricKey<K>, binding: WrapBinding
    ) throws(SealingError) -> SymmetricKey<P> {
        guard kek.commitment == wrapped.commitment else {
            throw SealingError(.wrongKey, during: .unwrap, of: binding.type.rawValue)
        }
        let key: SymmetricKey<P> = try open(wrapped, key: kek, binding: binding)
        guard key.id == wrapped.keyID else {
            throw SealingError(.tampered, during: .unwrap, of: binding.type.rawValue)
        }
        return key
    }

    private static func open<P, K>(
        _ wrapped: WrappedKey, key kek: borrowing SymmetricKey<K>, binding: WrapBinding
    ) throws(SealingError) -> SymmetricKey<P> {
        let associatedData = binding.associatedData(keyID: wrapped.keyID)
        return try SymmetricKey { (key: inout MutableSpan<UInt8>) throws(SealingError) in
            let isOpen = kek.withBytes { kek in
                Sodium.open(
                    wrapped.sealed.span, associatedData: associatedData.span, key: kek, into: &key)
            }
            guard isOpen else {
                throw SealingError(.tampered, during: .unwrap, of: binding.type.rawValue)
            }
        }
    }
}
