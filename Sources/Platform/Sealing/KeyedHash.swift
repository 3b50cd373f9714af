// SPDX-License-Identifier: Apache-2.0

/// `H(K; context, parts…)`: BLAKE2b-256 keyed with K over the length-prefixed context and parts.
///
/// Parts may be secret: they go only into the hash's state, which is in guarded memory. One hash of
/// a key and first parts can give many digests that differ in their last parts:
/// ``digest(appending:)``.
///
/// Format: docs/FORMAT.md §1.
package struct KeyedHash: ~Copyable, PartAppending, Sendable {
    private var state: SecretBytes

    /// Starts with a key and what the hash is for.
    package init<P: DerivesKeys>(
        _ key: borrowing SymmetricKey<P>, _ context: DerivationContext
    ) {
        self.init(anyPurpose: key, context)
    }

    /// Starts with a key of any purpose, for the two hashes that are made from every key: key id
    /// and commitment.
    init<P>(anyPurpose key: borrowing SymmetricKey<P>, _ context: DerivationContext) {
        state = Sodium.roomForHashState()
        key.withBytes { key in Sodium.startHash(key: key, into: &state) }
        append(context.rawValue)
    }

    private init(copying other: borrowing SecretBytes) {
        state = Sodium.roomForHashState()
        other.withBytes { bytes in
            state.withMutableBytes { copy in Sodium.copy(bytes, to: &copy) }
        }
    }

    /// Appends `LP(part)`, which may be secret.
    package mutating func append(_ part: Span<UInt8>) {
        let prefix = lengthPrefix(part.count)
        Sodium.hash(prefix.span, into: &state)
        Sodium.hash(part, into: &state)
    }

    /// Appends `LP` of a key, which is copied only into the state.
    package mutating func append<P>(_ part: borrowing SymmetricKey<P>) {
        part.withBytes { bytes in append(bytes) }
    }

    package consuming func finish() -> Digest {
        Digest { (digest: inout MutableSpan<UInt8>) in
            Sodium.finishHash(&state, into: &digest)
        }
    }

    /// The digest of all parts as a key, which never leaves guarded memory.
    package consuming func derive<Q>(_ purpose: Q.Type = Q.self) -> SymmetricKey<Q> {
        SymmetricKey { (key: inout MutableSpan<UInt8>) in Sodium.finishHash(&state, into: &key) }
    }

    /// The digest of all parts and then `parts`, which this hash does not take in.
    package borrowing func digest(appending parts: borrowing LengthPrefixed) -> Digest {
        appending(parts).finish()
    }

    /// A copy that has also taken in `parts`.
    package borrowing func appending(_ parts: borrowing LengthPrefixed) -> KeyedHash {
        var copy = KeyedHash(copying: state)
        parts.withBytes { bytes in Sodium.hash(bytes, into: &copy.state) }
        return copy
    }

    /// The first 16 bytes of ``digest(appending:)``.
    package borrowing func indexHash(appending parts: borrowing LengthPrefixed) -> IndexHash {
        IndexHash(truncating: appending(parts).finish())
    }

    /// The first 16 bytes of the digest of all parts and `marker ‖ text`, the text in UTF-8.
    package borrowing func indexHash(appending marker: UInt8, _ text: String) -> IndexHash {
        var copy = KeyedHash(copying: state)
        let prefix = lengthPrefix(1 + text.utf8.count)
        Sodium.hash(prefix.span, into: &copy.state)
        let start: InlineArray<1, UInt8> = [marker]
        Sodium.hash(start.span, into: &copy.state)
        Sodium.hash(text.utf8.span, into: &copy.state)
        return IndexHash(truncating: copy.finish())
    }
}

extension KeyedHash {
    /// `H(key; context, parts…)` at once: `append` appends the parts.
    package static func digest<P: DerivesKeys>(
        _ key: borrowing SymmetricKey<P>, _ context: DerivationContext,
        append: (inout KeyedHash) -> Void = { _ in }
    ) -> Digest {
        var hash = KeyedHash(key, context)
        append(&hash)
        return hash.finish()
    }

    /// `H(key; context, parts…)` at once, as a key: `append` appends the parts.
    package static func derive<P: DerivesKeys, Q>(
        _ purpose: Q.Type = Q.self, from key: borrowing SymmetricKey<P>,
        _ context: DerivationContext, append: (inout KeyedHash) -> Void = { _ in }
    ) -> SymmetricKey<Q> {
        var hash = KeyedHash(key, context)
        append(&hash)
        return hash.derive()
    }
}

/// `HASH(context; parts…)`: unkeyed BLAKE2b-256 over the length-prefixed context and parts.
///
/// Parts may be secret, as in ``KeyedHash``. Format: docs/SYNC.md §2.
package struct UnkeyedHash: ~Copyable, PartAppending, Sendable {
    private var state: SecretBytes

    /// Starts with what the hash is for.
    package init(_ context: DerivationContext) {
        state = Sodium.roomForHashState()
        Sodium.startHash(key: Span(), into: &state)
        append(context.rawValue)
    }

    /// Appends `LP(part)`, which may be secret.
    package mutating func append(_ part: Span<UInt8>) {
        let prefix = lengthPrefix(part.count)
        Sodium.hash(prefix.span, into: &state)
        Sodium.hash(part, into: &state)
    }

    /// Appends one part, `LP(start ‖ rest)`, without joining the two in memory.
    package mutating func append(_ start: Span<UInt8>, _ rest: Span<UInt8>) {
        let prefix = lengthPrefix(start.count + rest.count)
        Sodium.hash(prefix.span, into: &state)
        Sodium.hash(start, into: &state)
        Sodium.hash(rest, into: &state)
    }

    package consuming func finish() -> Digest {
        Digest { (digest: inout MutableSpan<UInt8>) in
            Sodium.finishHash(&state, into: &digest)
        }
    }

    /// The digest of all parts as a key, which never leaves guarded memory.
    package consuming func derive<Q>(_ purpose: Q.Type = Q.self) -> SymmetricKey<Q> {
        SymmetricKey { (key: inout MutableSpan<UInt8>) in Sodium.finishHash(&state, into: &key) }
    }

    /// `HASH(context; parts…)` at once: `append` appends the parts.
    package static func digest(
        _ context: DerivationContext, append: (inout UnkeyedHash) -> Void
    ) -> Digest {
        var hash = UnkeyedHash(context)
        append(&hash)
        return hash.finish()
    }

    /// `HASH(context; parts…)` at once, as a key: `append` appends the parts.
    package static func derive<Q>(
        _ context: DerivationContext, as purpose: Q.Type = Q.self,
        append: (inout UnkeyedHash) -> Void
    ) -> SymmetricKey<Q> {
        var hash = UnkeyedHash(context)
        append(&hash)
        return hash.derive()
    }
}
