// SPDX-License-Identifier: Apache-2.0

package import ValetSecretMemory

/// A secret key of 256 bits with one purpose.
package struct SymmetricKey<P: KeyPurpose>: ~Copyable, Sendable {
    /// 32, for every purpose.
    @inlinable package static var byteCount: Int { 32 }

    @usableFromInline let secret: SecretBytes

    /// Copies a key. Wiping the original remains its owner's duty.
    ///
    /// - Throws: ``SealingError/Code/malformed`` unless there are 32 bytes.
    package init(copying bytes: Span<UInt8>) throws(SealingError) {
        try self.init(SecretBytes(copying: bytes, for: .keys))
    }

    /// Takes over a key.
    ///
    /// - Throws: ``SealingError/Code/malformed`` unless there are 32 bytes.
    package init(_ secret: consuming SecretBytes) throws(SealingError) {
        guard secret.byteCount == Self.byteCount else {
            throw SealingError(.malformed, during: .parse, of: "key")
        }
        self.secret = secret.asKeys()
    }

    /// Has `body` fill in the 32 bytes, which start as zeros.
    init<E>(initializingWith body: (inout MutableSpan<UInt8>) throws(E) -> Void) throws(E) {
        secret = try SecretBytes(
            byteCount: Self.byteCount, for: .keys, initializingWith: body)
    }

    private init(randomByteCount: Int) {
        secret = SecretBytes(randomByteCount: randomByteCount, for: .keys)
    }

    /// Makes a random key.
    package static func random() -> SymmetricKey { SymmetricKey(randomByteCount: byteCount) }

    /// Lends the 32 bytes to `body`.
    @inlinable @inline(__always)
    package borrowing func withBytes<R: ~Copyable, E>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        try secret.withBytes(body)
    }

    /// Tells whether both are the same key, in constant time.
    package borrowing func isEqual(to other: borrowing SymmetricKey) -> Bool {
        secret.isEqual(to: other.secret)
    }

    /// The name of the key, not secret: the first 16 bytes of `H(K; "valet/1/key-id")`.
    package var id: KeyID {
        let digest = KeyedHash(anyPurpose: self, .keyID).finish()
        return KeyID { (id: inout MutableSpan<UInt8>) in
            digest.withBytes { digest in
                for index in id.indices { id[index] = digest[index] }
            }
        }
    }

    /// What proves this key to be the right one, not secret: `H(K; "valet/1/commit")`.
    package var commitment: Digest { KeyedHash(anyPurpose: self, .commitment).finish() }
}
