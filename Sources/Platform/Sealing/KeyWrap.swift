// SPDX-License-Identifier: Apache-2.0

package import ValetSystem

/// Wrapping of keys under keys. Format: docs/FORMAT.md §1.
package enum KeyWrap {
    /// Wraps `key` for the place that `binding` names.
    package static func wrap<P, K: WrapsKeys>(
        _ key: borrowing SymmetricKey<P>, under kek: borrowing SymmetricKey<K>, binding: WrapBinding
    ) -> WrappedKey {
        wrap(key, under: kek, binding: binding, nonce: .random())
    }

    /// Wraps with a given nonce, to reproduce a test vector. Using a nonce twice breaks the wrap.
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
    /// - Throws: `wrongKey`, before anything is opened, if it was not wrapped
    ///   under `kek`; `tampered` if it was changed or belongs to another place.
    package static func unwrap<P, K: WrapsKeys>(
        _ wrapped: WrappedKey, as purpose: P.Type = P.self,
        under kek: borrowing SymmetricKey<K>, binding: WrapBinding
    ) throws(SystemError) -> SymmetricKey<P> {
        guard kek.commitment == wrapped.commitment else {
            throw SystemError.sealing(.wrongKey, during: .unwrap, of: binding.type.rawValue)
        }
        let key: SymmetricKey<P> = try open(wrapped, key: kek, binding: binding)
        guard key.id == wrapped.keyID else {
            throw SystemError.sealing(.tampered, during: .unwrap, of: binding.type.rawValue)
        }
        return key
    }

    private static func open<P, K>(
        _ wrapped: WrappedKey, key kek: borrowing SymmetricKey<K>, binding: WrapBinding
    ) throws(SystemError) -> SymmetricKey<P> {
        let associatedData = binding.associatedData(keyID: wrapped.keyID)
        return try SymmetricKey { (key: inout MutableSpan<UInt8>) throws(SystemError) in
            let isOpen = kek.withBytes { kek in
                Sodium.open(
                    wrapped.sealed.span, associatedData: associatedData.span, key: kek, into: &key)
            }
            guard isOpen else {
                throw SystemError.sealing(.tampered, during: .unwrap, of: binding.type.rawValue)
            }
        }
    }
}

/// A key sealed under another: 121 bytes.
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 1 | version, 1 |
/// | 1 | 16 | id of the key |
/// | 17 | 32 | commitment of the key that wraps it |
/// | 49 | 24 | nonce |
/// | 73 | 32 | ciphertext |
/// | 105 | 16 | tag |
///
/// Format: docs/FORMAT.md §1.
package struct WrappedKey: Equatable, Sendable {
    package static let byteCount = 121
    static let version: UInt8 = 1

    package let bytes: [UInt8]
    /// The id of the key inside.
    package let keyID: KeyID
    /// The commitment of the key that wraps it.
    package let commitment: Digest

    /// Reads a wrapped key. Only unwrapping authenticates it.
    ///
    /// - Throws: `malformed` unless there are 121 bytes;
    ///   `unsupported` unless the version is 1.
    package init(parsing bytes: Span<UInt8>) throws(SystemError) {
        guard let version = bytes.isEmpty ? nil : bytes[0] else {
            throw SystemError.sealing(.malformed, during: .parse, of: "wrapped key")
        }
        guard version == Self.version else {
            throw SystemError.sealing(.unsupported, during: .parse, of: "wrapped key")
        }
        guard bytes.count == Self.byteCount else {
            throw SystemError.sealing(.malformed, during: .parse, of: "wrapped key")
        }
        keyID = try KeyID(copying: bytes.extracting(1..<17))
        commitment = try Digest(copying: bytes.extracting(17..<49))
        self.bytes = [UInt8](copying: bytes)
    }

    /// Puts the parts together; `sealed` is nonce ‖ ciphertext ‖ tag.
    init(keyID: KeyID, commitment: Digest, sealed: [UInt8]) {
        self.keyID = keyID
        self.commitment = commitment
        bytes = [Self.version] + keyID.bytes + commitment.bytes + sealed
    }

    /// Nonce ‖ ciphertext ‖ tag.
    var sealed: ArraySlice<UInt8> { bytes[49...] }
}

package enum WrapType: String, CaseIterable, Sendable {
    case root = "root"
    /// The root key, for recovery.
    case rootRecovery = "root-recovery"
    /// A class key; the parameters name the class.
    case classKey = "class"
    case index = "index"
    /// The secret half of a presence pair; the parameters name the pair.
    case presence = "presence"
    /// The key of a backup; the parameters are the bytes before it in the file's header.
    case backup = "backup"
    /// A sync secret; the parameters name the scope.
    case sync = "sync"
}

/// The place that a wrapped key is bound to: moved elsewhere, it does not open.
package struct WrapBinding: Equatable, Sendable {
    package let type: WrapType
    package let keychainID: KeychainID
    package let epoch: Epoch
    /// What distinguishes the key from others of its type, as the type defines; may be empty.
    package let parameters: [UInt8]

    package init(
        _ type: WrapType, keychainID: KeychainID, epoch: Epoch, parameters: [UInt8] = []
    ) {
        self.type = type
        self.keychainID = keychainID
        self.epoch = epoch
        self.parameters = parameters
    }

    func associatedData(keyID: KeyID) -> [UInt8] {
        var data = LengthPrefixed(reservingByteCount: 96 + parameters.count)
        data.append(DerivationContext.wrap.rawValue)
        data.append(type.rawValue)
        data.append(keychainID)
        data.append(epoch.rawValue)
        data.append(keyID)
        data.append(parameters)
        return data.bytes
    }
}
