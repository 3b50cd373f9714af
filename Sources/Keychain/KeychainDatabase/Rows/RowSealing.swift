// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
package import ValetKeys
package import ValetSealing
package import ValetSystem

/// Seals items into rows and opens them: docs/FORMAT.md §5.2.
package struct ItemCipher {
    /// The keychain that every sealed part is bound to.
    package let keychainID: KeychainID
    /// The keys of one protection class.
    package let keys: ClassKeys
    /// The public keys to which values that require presence are sealed.
    package var recipients: [PresencePair: Recipient] = [:]

    private static let attributePadding = 32

    /// A value is padded to a multiple of this number of bytes: 12 bytes to 32, and 1,100 to 2,048.
    static func valuePadding(_ byteCount: Int) -> Int { byteCount <= 1024 ? 32 : 1024 }

    /// Seals an item into a row with `header`, in the place that `index` names.
    ///
    /// - Throws: ``KeychainFailure``: `passcodeNotSet` if the item requires presence and the
    ///   keychain has no pair of keys for that; `outOfMemory`; `keychainDamaged`.
    func seal(
        _ header: RowHeader, _ content: ItemContent, _ index: IndexHashes, value: SecretValue?,
        logicalTime: Int64
    ) throws(KeychainFailure) -> SealedRow {
        var row = SealedRow(
            header: header, placeID: 0, groupHash: index.place.service.group,
            serviceHash: index.place.service.service, hashes: index.encodedOthers,
            nonce: .random(), names: [], secret: nil, changeNumber: nil, logicalTime: logicalTime)
        var list = content.list.encoded
        Padding.pad(&list, toMultipleOf: Self.attributePadding)
        row.names = AEAD.seal(
            list.span, RowPart(.names, row.nonce), associatedData: row.namesData(keychainID),
            under: keys.attributes)
        if let value {
            // Three copies: padded, sealed to a presence pair if needed, and sealed.
            guard SpareMemory.has(3, copiesOf: value.byteCount) else {
                throw KeychainFailure(.outOfMemory, during: "seal an item")
            }
            let step = Self.valuePadding(value.byteCount)
            let padded = Padding.padded(value, toMultipleOf: step)
            row.secret = try padded.withBytes { plaintext throws(KeychainFailure) in
                try seal(plaintext, of: row)
            }
        }
        return row
    }

    /// Opens part N: everything about the item except its value.
    package func openContent(_ row: SealedRow) throws(SystemError) -> ItemContent {
        let bytes = try openNames(row.namesData(keychainID), row.nonce, row.names.span)
        guard let list = AttributeList(encoded: bytes) else { throw .row(.damagedContent) }
        let content = try ItemContent(row.header.itemClass, list)
        guard (content.valueByteCount == nil) == (row.secret == nil) else {
            throw .row(.damagedContent)
        }
        try content.check(row.header)
        return content
    }

    /// Opens part N: the encoded list of attributes, without its padding.
    func openNames(
        _ data: FixedFields, _ nonce: RowNonce, _ names: Span<UInt8>
    ) throws(SystemError) -> ArraySlice<UInt8> {
        guard
            let padded = try? AEAD.openIntoArray(
                names, RowPart(.names, nonce), associatedData: data, under: keys.attributes)
        else { throw .row(.damagedSeal) }
        guard
            let byteCount = try? Padding.unpaddedByteCount(
                padded.span, step: Self.attributePadding)
        else { throw .row(.damagedContent) }
        return padded[..<byteCount]
    }

    /// Opens part V. It opens only together with the part N of the same write. A value protected by
    /// presence needs `proof`. For a value under a password, the result is its box (docs/FORMAT.md
    /// §5.5); for one with fields, it has both (§5.7).
    ///
    /// - Throws: ``SystemError``: `needsPerson` if `proof` does not have the pair of keys.
    package func openValue(
        _ parts: ValueParts, _ secret: Span<UInt8>, _ proof: PresenceProof? = nil
    ) throws(SystemError) -> SecretValue {
        let padded = try openPadded(parts, secret, proof)
        // A value of at most 1,024 bytes is padded to at most 1,056 bytes, and a longer one to at
        // least 2,048.
        let step = padded.byteCount <= 1056 ? 32 : 1024
        guard
            let byteCount = try? padded.withBytes({ try Padding.unpaddedByteCount($0, step: step) }
            ),
            Self.valuePadding(byteCount) == step
        else { throw .row(.damagedContent) }
        return SecretValue(padded, byteCount: byteCount)
    }
}

extension SealedRow {
    /// The associated data of part N.
    fileprivate func namesData(_ keychainID: KeychainID) -> FixedFields {
        header.namesData(keychainID, group: groupHash, service: serviceHash, hashes.span)
    }
}

extension RowHeader {
    /// The associated data of part N.
    func namesData(
        _ keychainID: KeychainID, group: IndexHash, service: IndexHash, _ hashes: Span<UInt8>
    ) -> FixedFields {
        var data = associatedData(.names, keychainID, andRoomFor: 32 + hashes.count)
        data.append(group)
        data.append(service)
        data.append(hashes)
        return data
    }
}

/// The authentication tag of a sealed part: its last 16 bytes. Two parts with the same tag are the
/// same part, because a tag is as hard to forge as the part.
package typealias PartTag = FixedBytes<16, PartTagName>

package enum PartTagName {}

extension PartTag {
    /// The tag at the end of a sealed part.
    ///
    /// - Throws: ``SystemError``: `damagedSeal` for bytes that are too few to have one.
    package init(of sealed: [UInt8]) throws(SystemError) {
        guard sealed.count >= 16 else { throw .row(.damagedSeal) }
        self.init(InlineArray { sealed[sealed.count - 16 + $0] })
    }
}

/// What part V is bound to: it opens only with the same header, nonce and part N.
package struct ValueParts: Sendable {
    let header: RowHeader
    /// The nonces of part N and part V are derived from it.
    let nonce: RowNonce
    /// The tag of part N.
    let names: PartTag

    /// For a search that reads only the tag of part N.
    package init(header: RowHeader, nonce: RowNonce, names: PartTag) {
        self.header = header
        self.nonce = nonce
        self.names = names
    }

    /// - Throws: ``SystemError``: `damagedSeal` for a part N that is too short.
    package init(_ row: SealedRow) throws(SystemError) {
        self.init(header: row.header, nonce: row.nonce, names: try PartTag(of: row.names))
    }

    fileprivate func data(_ part: RowHeader.Part, _ keychainID: KeychainID) -> FixedFields {
        var data = header.associatedData(part, keychainID, andRoomFor: PartTag.byteCount)
        data.append(names)
        return data
    }
}

/// Part V, which is sealed twice if the item requires presence: docs/FORMAT.md §5.2.
extension ItemCipher {
    /// Seals a padded value for a row whose part N is sealed.
    func seal(
        _ padded: Span<UInt8>, of row: SealedRow
    ) throws(KeychainFailure) -> [UInt8] {
        let operation = "seal an item"
        let parts = try translating(ValueParts(row), during: operation)
        guard let pair = row.header.flags.presence else { return seal(padded, parts) }
        guard let recipient = recipients[pair] else {
            throw KeychainFailure(
                .passcodeNotSet, during: operation,
                message: "there are no keys for items that need a person",
                hint: "set a passcode, or begin new keys with `valet rotate`")
        }
        do {
            let inner = try parts.data(.presence, keychainID).withBytes {
                data throws(SystemError) in
                try PublicKeySealing.seal(padded, associatedData: data, to: recipient)
            }
            return seal(inner.span, parts)
        } catch {
            throw KeychainFailure(
                .keychainDamaged, during: operation, message: "a presence pair is not fit")
        }
    }

    private func seal(_ plaintext: Span<UInt8>, _ parts: ValueParts) -> [UInt8] {
        AEAD.seal(
            plaintext, RowPart(.value, parts.nonce),
            associatedData: parts.data(.secret, keychainID),
            under: keys.value)
    }

    /// Opens part V to check it. A value protected by presence or a password is opened only as far
    /// as the keys of its class allow.
    package func checkValue(_ row: SealedRow, _ content: ItemContent) throws(SystemError) {
        guard let secret = row.secret else { return }
        do {
            let stored = try openValue(ValueParts(row), secret.span)
            try check(stored, row.header, content)
        } catch {
            guard error.code == .needsPerson else { throw error }
        }
    }

    /// Opens part V. The result still has its padding.
    func openPadded(
        _ parts: ValueParts, _ secret: Span<UInt8>, _ proof: PresenceProof?
    ) throws(SystemError) -> SecretBytes {
        let data = parts.data(.secret, keychainID)
        guard
            let opened = try? AEAD.open(
                secret, RowPart(.value, parts.nonce), associatedData: data, under: keys.value)
        else { throw .row(.damagedSeal) }
        guard let pair = parts.header.flags.presence else { return opened }
        guard let recipient = recipients[pair], let proof else { throw .row(.needsPerson) }
        return try parts.data(.presence, keychainID).withBytes { data throws(SystemError) in
            try opened.withBytes { inner throws(SystemError) in
                try proof.open(inner, to: pair, of: recipient, associatedData: data)
            }
        }
    }
}

extension PresenceProof {
    /// Opens bytes that were sealed to a pair of keys.
    ///
    /// - Throws: ``SystemError``: `needsPerson` if this proof does not open the pair; `damagedSeal`
    ///   if the bytes were not sealed to the pair.
    fileprivate func open(
        _ sealed: Span<UInt8>, to pair: PresencePair, of recipient: Recipient,
        associatedData: Span<UInt8>
    ) throws(SystemError) -> SecretBytes {
        for opened in keys where opened.has(pair, of: recipient) {
            do {
                let value = try opened.open(sealed, to: pair, associatedData: associatedData)
                if let value { return value }
            } catch {
                throw .row(.damagedSeal)
            }
        }
        throw .row(.needsPerson)
    }
}
