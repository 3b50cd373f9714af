// SPDX-License-Identifier: Apache-2.0

package import ValetSecretMemory

extension KeyAgreementPair {
    /// The pair that a secret seed of any length gives, always the same.
    ///
    /// The secret half is unkeyed BLAKE2b-256 of `LP(context) LP(seed)`: docs/FORMAT.md §4.6.
    package init(seed: borrowing SecretBytes, _ context: DerivationContext) {
        let name = Array(context.rawValue.utf8)
        // Not `LengthPrefixed`, whose memory is not wiped.
        let bytes = SecretBytes(byteCount: 8 + name.count + seed.byteCount) { bytes in
            bytes.write(lengthPrefixed: name.span, at: 0)
            seed.withBytes { seed in bytes.write(lengthPrefixed: seed, at: 4 + name.count) }
        }
        self.init(
            secret: SymmetricKey { (secret: inout MutableSpan<UInt8>) in
                bytes.withBytes { bytes in Sodium.hash(bytes, into: &secret) }
            })
    }
}

extension MutableSpan<UInt8> {
    /// Writes `LP(part)` over what is at `offset`.
    fileprivate mutating func write(lengthPrefixed part: Span<UInt8>, at offset: Int) {
        let prefix = lengthPrefix(part.count)
        for index in prefix.indices { self[offset + index] = prefix[index] }
        for index in part.indices { self[offset + prefix.count + index] = part[index] }
    }
}
