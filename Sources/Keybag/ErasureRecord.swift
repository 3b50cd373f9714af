// SPDX-License-Identifier: Apache-2.0

package import ValetSealing

/// Where a TPM keeps the erasure secret of a keychain, and what it is read with: record 0x0122,
/// docs/FORMAT.md §4.9.
package struct ErasureRecord: Equatable, Sendable {
    private static let indices: ClosedRange<UInt32> = 0x0180_0000...0x01bf_ffff

    /// The NV index, one of those that a TPM's owner gives out.
    package let index: UInt32
    /// The epoch that the secret was made for: what was left of earlier ones opens nothing.
    package let epoch: Epoch
    private let wrapped: WrappedKey

    /// Binds an index to what the TPM seals beside it.
    ///
    /// - Parameters:
    ///   - index: From 0x01800000 to 0x01bfffff.
    ///   - sealed: S of the keybags that are to have the record.
    ///   - authorization: What the secret is read with.
    package init(
        _ index: UInt32, madeFor epoch: Epoch, of keychainID: KeychainID,
        beside sealed: borrowing TPMDeviceSecret, authorization: borrowing ErasureAuthorization
    ) {
        precondition(Self.indices.contains(index), "an index that is not the owner's to give")
        self.index = index
        self.epoch = epoch
        wrapped = KeyWrap.wrap(
            authorization, under: sealed.erasureKEK(for: keychainID),
            binding: Self.binding(index, epoch, keychainID))
    }

    /// - Throws: ``KeybagError``: `malformed`; `newer` for a wrap of a later version.
    init(parsing body: [UInt8]) throws(KeybagError) {
        var reader = ByteReader(body, malformed: KeybagError.malformedKeybag)
        index = try reader.integer()
        epoch = Epoch(try reader.integer())
        guard Self.indices.contains(index), epoch.rawValue > 0 else { throw .malformedKeybag }
        let rest = try reader.bytes(body.count - 12)
        do throws(SealingError) {
            wrapped = try WrappedKey(parsing: rest.span)
        } catch {
            throw KeybagError(error)
        }
    }

    /// The body of the record, 133 bytes.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: index)
        bytes.append(bigEndian: epoch.rawValue)
        return bytes + wrapped.bytes
    }

    /// What the TPM takes for the secret.
    ///
    /// - Parameter sealed: S of the keybag that the record is from.
    /// - Throws: ``KeybagError/Code/tampered`` if the record is not that keybag's, or was changed.
    package func authorization(
        of keychainID: KeychainID, beside sealed: borrowing TPMDeviceSecret
    ) throws(KeybagError) -> ErasureAuthorization {
        do throws(SealingError) {
            return try KeyWrap.unwrap(
                wrapped, under: sealed.erasureKEK(for: keychainID),
                binding: Self.binding(index, epoch, keychainID))
        } catch {
            throw KeybagError(error)
        }
    }

    private static func binding(
        _ index: UInt32, _ epoch: Epoch, _ keychainID: KeychainID
    ) -> WrapBinding {
        var parameters: [UInt8] = []
        parameters.append(bigEndian: index)
        return WrapBinding(
            .erasure, keychainID: keychainID, epoch: epoch, parameters: parameters)
    }

    /// What marks an index in the TPM as this keychain's: 32 bytes, not secret.
    package static func mark(of keychainID: KeychainID) -> [UInt8] {
        var parts = LengthPrefixed(reservingByteCount: 64)
        parts.append(DerivationContext.erasureIndex.rawValue)
        parts.append(keychainID)
        return parts.withBytes { parts in Digest(of: parts) }.bytes
    }
}

extension LockedKeybag {
    /// What the keybag says of an erasure secret; nil if the device secret takes none.
    ///
    /// - Throws: ``KeybagError``: `malformed`, `newer`; not for a keybag that was parsed.
    package var erasure: ErasureRecord? {
        get throws(KeybagError) {
            guard let body = records[.erasure] else { return nil }
            return try ErasureRecord(parsing: body)
        }
    }
}

extension SymmetricKey<Purpose.TPMDevice> {
    fileprivate func erasureKEK(for keychainID: KeychainID) -> ErasureKEK {
        KeyedHash.derive(from: self, .erasureAuth) { hash in hash.append(keychainID) }
    }

    /// The device secret of a keychain whose keybags have no record of an erasure secret: the same
    /// bytes.
    ///
    /// - Throws: Nothing: they are as many as a key has.
    package func deviceSecret() throws(SealingError) -> DeviceSecret {
        try withBytes { (bytes) throws(SealingError) in try DeviceSecret(copying: bytes) }
    }

    /// The device secret of a keychain with an erasure secret: `H(S; "valet/1/erasure", KC, E)`.
    package func deviceSecret(
        mixing erasure: borrowing ErasureSecret, of keychainID: KeychainID
    ) -> DeviceSecret {
        var hash = KeyedHash(self, .erasure)
        hash.append(keychainID)
        hash.append(erasure)
        return hash.derive()
    }
}
