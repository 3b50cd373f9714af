// SPDX-License-Identifier: Apache-2.0

internal import ValetSecretMemory

/// `H(K; context, parts…)`: BLAKE2b-256 keyed with K over the length-prefixed context and parts.
///
/// Parts may be secret: they go only into the hash's state, which is in guarded memory. A stored
/// hash that has taken in its key and the first parts gives many digests that differ in their last
/// parts: ``digest(appending:)``.
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

    /// The digest of all parts.
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

/// What a hash or a wrap is for; each context of the format, once.
///
/// Format: docs/FORMAT.md §1.
package enum DerivationContext: String, CaseIterable, Sendable {
    /// The name of a key.
    case keyID = "valet/1/key-id"
    /// The commitment, which proves a key to be the right one.
    case commitment = "valet/1/commit"
    /// The associated data of a wrapped key.
    case wrap = "valet/1/wrap"
    /// The device key, from the device secret.
    case deviceKEK = "valet/1/device-kek"
    /// What wraps a class key.
    case classKEK = "valet/1/class-kek"
    /// What wraps a class key that stays on this device.
    case classKEKDevice = "valet/1/class-kek-device"
    /// What wraps the class key that exists only while a passcode does.
    case classKEKPasscode = "valet/1/class-kek-passcode"
    /// The subkey of attributes.
    case sealAttributes = "valet/1/seal-attributes"
    /// The subkey of values.
    case sealValue = "valet/1/seal-value"
    /// What wraps the index key.
    case indexKEK = "valet/1/index-kek"
    /// The hash of a searchable attribute.
    case index = "valet/1/index"
    /// The hash of a place.
    case place = "valet/1/place"
    /// The authentication code of the keybag.
    case keybagMAC = "valet/1/keybag-mac"
    /// The associated data of a row's sealed parts.
    case row = "valet/1/row"
    /// The recovery pair, from its seed.
    case recovery = "valet/1/recovery"
    /// What wraps the root key for recovery.
    case rootRecovery = "valet/1/root-recovery"
    /// The passcode key, at level `passcode`.
    case passcodeKEK = "valet/1/passcode-kek"
    /// The passcode key, at level `tpm+passcode`.
    case passcodeKEKTPM = "valet/1/passcode-kek-tpm"
    /// The authorization value of the TPM's object.
    case tpmAuth = "valet/1/tpm-auth"
    /// What wraps the secret of the presence pair that needs the passcode.
    case presencePasscode = "valet/1/presence-passcode"
    /// What wraps the secret of the presence pair that needs a person.
    case presencePerson = "valet/1/presence-person"
    /// What seals a value to a presence pair.
    case presenceValue = "valet/1/presence-value"
    /// What seals a value under an application's password.
    case applicationPassword = "valet/1/application-password"
    /// The associated data of a value that is sealed under an application's password.
    case applicationPasswordBox = "valet/1/application-password-box"
    /// The hash and the associated data of a program's record.
    case program = "valet/1/program"
    /// What wraps the key of a backup.
    case backup = "valet/1/backup"
    /// The id that names the mark under which a sharing key was made.
    case sharingID = "valet/1/sharing-id"
    /// The key that seals opened keys for the kernel, from a sharing key.
    case sharing = "valet/1/sharing"
    /// The key of a sync circle.
    case sync = "valet/1/sync"
}
