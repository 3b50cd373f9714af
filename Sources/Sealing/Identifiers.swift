// SPDX-License-Identifier: Apache-2.0

/// The name of a key: the first 16 bytes of `H(K; "valet/1/key-id")`.
package typealias KeyID = FixedBytes<16, KeyIDName>
/// The name of a keychain, random, made with it.
package typealias KeychainID = FixedBytes<16, KeychainIDName>
/// The result of a hash: BLAKE2b-256.
package typealias Digest = FixedBytes<32, DigestName>
/// What a searchable attribute is found by: the first 16 bytes of a keyed hash.
package typealias IndexHash = FixedBytes<16, IndexHashName>
/// The public half of an X25519 pair, as RFC 7748 encodes it.
package typealias PublicKey = FixedBytes<32, PublicKeyName>
/// What makes two sealings of the same plaintext differ. Made by `Sealing`; others name one only to
/// reproduce a test vector.
package typealias Nonce = FixedBytes<24, NonceName>
/// What makes two people's equal passphrases give different keys; not secret.
package typealias Salt = FixedBytes<16, SaltName>
/// What two streams sealed under one key differ in; not secret.
package typealias StreamHeader = FixedBytes<24, StreamHeaderName>

/// What opened keys are bound to, in the keychain's folder; random, changed by each lock.
package typealias LockMark = FixedBytes<16, LockMarkName>
/// What tells this run of the machine from others; the kernel's `boot_id`.
package typealias BootID = FixedBytes<16, BootIDName>
/// What tells which lock mark a sharing key was made under.
package typealias SharingID = FixedBytes<16, SharingIDName>

/// Tells ``LockMark`` from other bytes.
package enum LockMarkName {}
/// Tells ``BootID`` from other bytes.
package enum BootIDName {}
/// Tells ``SharingID`` from other bytes.
package enum SharingIDName {}
/// Tells ``KeyID`` from other bytes.
package enum KeyIDName {}
/// Tells ``KeychainID`` from other bytes.
package enum KeychainIDName {}
/// Tells ``Digest`` from other bytes.
package enum DigestName {}
/// Tells ``IndexHash`` from other bytes.
package enum IndexHashName {}
/// Tells ``PublicKey`` from other bytes.
package enum PublicKeyName {}
/// Tells ``Nonce`` from other bytes.
package enum NonceName {}
/// Tells ``Salt`` from other bytes.
package enum SaltName {}
/// Tells ``StreamHeader`` from other bytes.
package enum StreamHeaderName {}

extension IndexHash {
    /// The first 16 bytes of `digest`.
    init(truncating digest: Digest) {
        self.init(InlineArray { digest.storage[$0] })
    }
}

extension SharingID {
    /// The first 16 bytes of `digest`.
    package init(truncating digest: Digest) {
        self.init(InlineArray { digest.storage[$0] })
    }
}

extension Digest {
    /// Hashes `bytes` without a key: BLAKE2b-256.
    package init(of bytes: Span<UInt8>) {
        self.init { (digest: inout MutableSpan<UInt8>) in Sodium.hash(bytes, into: &digest) }
    }
}
