// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// A fixed number of bytes that are not secret. `Name` makes each kind a distinct type.
///
/// `==` takes constant time.
public struct FixedBytes<let byteCount: Int, Name>: Sendable {
    // Stored in place: an array would cost an allocation each, and a call makes many of them.
    @usableFromInline var storage: InlineArray<byteCount, UInt8>

    // What runs for each row is inlined, because a generic function that is called from another
    // module looks up its type's metadata each time. It has to be public for that: the compiler
    // (6.3) does not inline a `package` function into another module.
    /// Takes `bytes`.
    @inlinable @inline(__always)
    public init(_ bytes: InlineArray<byteCount, UInt8>) {
        storage = bytes
    }

    /// Copies `bytes`.
    ///
    /// - Throws: `malformed` if their number is not `byteCount`.
    package init(copying bytes: Span<UInt8>) throws(SystemError) {
        guard bytes.count == byteCount else {
            throw SystemError.sealing(.malformed, during: .parse, of: "\(Name.self)")
        }
        storage = InlineArray { bytes[$0] }
    }

    /// Takes `bytes`.
    ///
    /// - Throws: `malformed` if their number is not `byteCount`.
    package init(_ bytes: [UInt8]) throws(SystemError) {
        try self.init(copying: bytes.span)
    }

    /// A copy of the bytes.
    @inlinable public var bytes: [UInt8] { [UInt8](copying: storage.span) }

    /// Calls `body` to fill in the bytes, which start as zeros.
    init<E>(initializingWith body: (inout MutableSpan<UInt8>) throws(E) -> Void) throws(E) {
        storage = InlineArray(repeating: 0)
        var span = storage.mutableSpan
        try body(&span)
    }

    package static func random() -> Self {
        Self { (bytes: inout MutableSpan<UInt8>) in Randomness.fill(&bytes) }
    }

    /// Lends the bytes to `body`.
    @inlinable @inline(__always)
    public func withBytes<R: ~Copyable, E>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        try body(storage.span)
    }
}

extension FixedBytes: Hashable {
    /// Compares the bytes in a time that does not depend on them.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool {
        Sodium.isEqual(left.storage.span, right.storage.span)
    }

    /// Hashes the bytes.
    @inlinable
    public func hash(into hasher: inout Hasher) {
        var word: UInt64 = 0
        for index in storage.indices {
            word = word << 8 | UInt64(storage[index])
            if index % 8 == 7 { hasher.combine(word) }
        }
        if byteCount % 8 != 0 { hasher.combine(word) }
    }
}

extension FixedBytes: CustomStringConvertible {
    /// The bytes as lower-case hexadecimal digits.
    public var description: String { Hexadecimal.text(Array(bytes)) }
}

extension FixedBytes {
    /// Reads ``description``; nil for other text.
    package init?(digits: some StringProtocol) {
        guard let bytes = Hexadecimal.bytes(digits), bytes.count == byteCount else { return nil }
        self.init(InlineArray { bytes[$0] })
    }
}

/// The name of a key: the first 16 bytes of `H(K; "valet/1/key-id")`.
package typealias KeyID = FixedBytes<16, BytesName.KeyID>
/// The random name that a keychain gets when it is made.
package typealias KeychainID = FixedBytes<16, BytesName.KeychainID>
/// The result of a hash: BLAKE2b-256.
package typealias Digest = FixedBytes<32, BytesName.Digest>
/// The hash by which a searchable attribute is found: the first 16 bytes of a keyed hash.
package typealias IndexHash = FixedBytes<16, BytesName.IndexHash>
/// The public half of an X25519 pair, as RFC 7748 encodes it.
package typealias PublicKey = FixedBytes<32, BytesName.PublicKey>
/// Makes two sealings of the same plaintext differ. Only `Sealing` makes nonces; other modules pass
/// one only to reproduce a test vector.
package typealias Nonce = FixedBytes<24, BytesName.Nonce>
/// Random, new with every write of a row: the nonces of its parts follow from it.
package typealias RowNonce = FixedBytes<24, BytesName.RowNonce>
/// Makes equal passphrases give different keys; not secret.
package typealias Salt = FixedBytes<16, BytesName.Salt>
/// Makes two streams under one key differ; not secret.
package typealias StreamHeader = FixedBytes<24, BytesName.StreamHeader>
/// The public half of an Ed25519 pair, as RFC 8032 encodes it.
package typealias SigningKey = FixedBytes<32, BytesName.SigningKey>
/// An Ed25519 signature.
package typealias Signature = FixedBytes<64, BytesName.Signature>
/// Random bytes, new for each seal of a circle. The nonce depends on them, and on the sealed bytes.
package typealias HedgeBytes = FixedBytes<32, BytesName.HedgeBytes>

/// A random value in the keychain's folder that opened keys are bound to. Each lock changes it.
package typealias LockMark = FixedBytes<16, BytesName.LockMark>
/// The kernel's `boot_id`, which differs after each restart of the machine.
package typealias BootID = FixedBytes<16, BytesName.BootID>
/// Identifies the lock mark under which a sharing key was made.
package typealias SharingID = FixedBytes<16, BytesName.SharingID>

/// The names that distinguish kinds of ``FixedBytes`` of the same length.
public enum BytesName {
    /// For ``LockMark``.
    public enum LockMark {}
    /// For ``BootID``.
    public enum BootID {}
    /// For ``SharingID``.
    public enum SharingID {}
    /// For ``KeyID``.
    public enum KeyID {}
    /// For ``KeychainID``.
    public enum KeychainID {}
    /// For ``Digest``.
    public enum Digest {}
    /// For ``IndexHash``.
    public enum IndexHash {}
    /// For ``PublicKey``.
    public enum PublicKey {}
    /// For ``Nonce``.
    public enum Nonce {}
    /// For ``RowNonce``.
    public enum RowNonce {}
    /// For ``Salt``.
    public enum Salt {}
    /// For ``StreamHeader``.
    public enum StreamHeader {}
    /// For ``SigningKey``.
    public enum SigningKey {}
    /// For ``Signature``.
    public enum Signature {}
    /// For ``HedgeBytes``.
    public enum HedgeBytes {}
}

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

/// The number of one generation of all keys of a keychain.
package struct Epoch: Hashable, Comparable, Sendable {
    /// The number, as it is stored: an unsigned integer of 64 bits, big endian.
    package let rawValue: UInt64

    /// Names the generation `rawValue`.
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (left: Epoch, right: Epoch) -> Bool { left.rawValue < right.rawValue }
}
