// SPDX-License-Identifier: Apache-2.0

package import ValetKeybag
internal import ValetKeychainModel
package import ValetSealing
package import ValetSecretMemory

/// Seals items into rows and opens them: docs/FORMAT.md §5.2.
package struct ItemCipher {
    /// The keychain that every sealed part is bound to.
    package let keychainID: KeychainID
    /// The keys of one protection class.
    package let keys: ClassKeys
    /// To whom values are sealed that take a person.
    package var recipients: [PresencePair: Recipient] = [:]

    private static let attributePadding = 32

    /// The step to which a value of that size is padded.
    static func valuePadding(_ byteCount: Int) -> Int { byteCount <= 1024 ? 32 : 1024 }

    /// Seals an item; `header` says whose key, version and class it gets.
    ///
    /// - Throws: ``KeychainFailure``: `passcodeNotSet` if the item takes a person and there is no
    ///   pair of keys for that; `outOfMemory`.
    func seal(
        _ header: RowHeader, _ content: ItemContent, _ index: IndexHashes, value: SecretValue?,
        logicalTime: Int64
    ) throws -> SealedRow {
        var row = SealedRow(
            header: header, accountHash: index.account, groupHash: index.place.group,
            placeHash: index.place.place, hashes: index.encodedOthers, names: [], details: [],
            secret: nil, changeNumber: nil, logicalTime: logicalTime)
        var nonces = NonceSupply()
        row.names = seal(content.names(header.itemClass), namesData(of: row), &nonces)
        row.details = seal(content.details(header.itemClass), detailsData(of: row), &nonces)
        if let value {
            // Padded, sealed, and perhaps sealed to a person before that.
            guard SpareMemory.has(3, copiesOf: value.byteCount) else {
                throw KeychainFailure(.outOfMemory, during: "seal an item")
            }
            let step = Self.valuePadding(value.byteCount)
            let padded = Padding.padded(value, toMultipleOf: step)
            row.secret = try padded.withBytes { plaintext in
                try seal(plaintext, of: row, &nonces)
            }
        }
        return row
    }

    /// Opens part A where it lies: the encoded list of access group and primary key.
    package func openNames(
        _ header: RowHeader, _ columns: NameHashes, hashes: [UInt8], names: [UInt8]
    ) throws(RowFailure) -> ArraySlice<UInt8> {
        try openPadded(names, namesData(header, columns, hashes))
    }

    private func seal(
        _ list: AttributeList, _ data: LengthPrefixed, _ nonces: inout NonceSupply
    ) -> [UInt8] {
        var plaintext = list.encoded
        Padding.pad(&plaintext, toMultipleOf: Self.attributePadding)
        return AEAD.seal(plaintext.span, associatedData: data, under: keys.attributes, &nonces)
    }

    /// Opens part A: access group and primary key.
    package func openNames(_ row: SealedRow) throws(RowFailure) -> ItemContent {
        let names = try open(row.names, namesData(of: row))
        return try ItemContent(row.header.itemClass, names: names)
    }

    /// Opens parts A and B.
    package func openContent(_ row: SealedRow) throws(RowFailure) -> ItemContent {
        let names = try open(row.names, namesData(of: row))
        let details = try open(row.details, detailsData(of: row))
        let content = try ItemContent(row.header.itemClass, names: names, details: details)
        guard (content.valueByteCount == nil) == (row.secret == nil) else { throw .content }
        try content.checkAccessControl(row.header)
        return content
    }

    private func open(
        _ sealed: [UInt8], _ data: LengthPrefixed
    ) throws(RowFailure) -> AttributeList {
        guard let list = AttributeList(encoded: try openPadded(sealed, data)) else {
            throw .content
        }
        return list
    }

    private func openPadded(
        _ sealed: [UInt8], _ data: LengthPrefixed
    ) throws(RowFailure) -> ArraySlice<UInt8> {
        guard
            let padded = try? AEAD.openIntoArray(
                sealed.span, associatedData: data, under: keys.attributes)
        else { throw .seal }
        guard
            let byteCount = try? Padding.unpaddedByteCount(
                padded.span, step: Self.attributePadding)
        else { throw .content }
        return padded[..<byteCount]
    }

    /// Opens part V, which is bound to the parts A and B that it was written with; of a value that
    /// takes a person, with the proof of one. Of one that takes a password, it gives the box.
    ///
    /// - Throws: ``RowFailure``: `needsPerson` where `proof` does not have the pair of keys.
    package func openValue(
        _ parts: ValueParts, _ secret: Span<UInt8>, _ proof: PresenceProof? = nil
    ) throws(RowFailure) -> SecretValue {
        let padded = try openPadded(parts, secret, proof)
        // Up to 1,024 bytes a value ends by 1,056, and above it 2,048 is the least.
        let step = padded.byteCount <= 1056 ? 32 : 1024
        guard
            let byteCount = try? padded.withBytes({ try Padding.unpaddedByteCount($0, step: step) }
            ),
            Self.valuePadding(byteCount) == step
        else { throw .content }
        return SecretValue(padded, byteCount: byteCount)
    }

    /// Proves that a row without part V never had one.
    package func checkHasNoValue(
        _ header: RowHeader, names: [UInt8], details: [UInt8]
    ) throws(RowFailure) {
        let list = try open(details, detailsData(header, names: names))
        guard list[ItemContent.valueByteCountTag] == nil else { throw .content }
    }

    private func namesData(of row: SealedRow) -> LengthPrefixed {
        let columns = NameHashes(
            account: row.accountHash, group: row.groupHash, place: row.placeHash)
        return namesData(row.header, columns, row.hashes)
    }

    private func namesData(
        _ header: RowHeader, _ columns: NameHashes, _ hashes: [UInt8]
    ) -> LengthPrefixed {
        var data = header.associatedData(
            .names, keychainID: keychainID, reserving: 120 + hashes.count)
        data.append(columns.account)
        data.append(columns.group)
        data.append(columns.place)
        data.append(hashes)
        return data
    }

    private func detailsData(of row: SealedRow) -> LengthPrefixed {
        detailsData(row.header, names: row.names)
    }

    private func detailsData(_ header: RowHeader, names: [UInt8]) -> LengthPrefixed {
        var data = header.associatedData(.details, keychainID: keychainID, reserving: 20)
        data.append(names.span.extracting(last: AEAD.tagByteCount))
        return data
    }

}

/// The tag of a sealed part. It stands for all of the part: it is as hard to forge as the part.
package typealias PartTag = FixedBytes<16, PartTagName>

/// Tells ``PartTag`` from other bytes.
package enum PartTagName {}

extension PartTag {
    /// The tag at the end of a sealed part.
    ///
    /// - Throws: ``RowFailure/seal`` for bytes that are too few to have one.
    package init(of sealed: [UInt8]) throws(RowFailure) {
        guard sealed.count >= 16 else { throw .seal }
        self.init(InlineArray { sealed[sealed.count - 16 + $0] })
    }
}

/// The hashes that have columns of their own; part A is bound to them.
package struct NameHashes {
    /// The column `account_hash`.
    package let account: IndexHash
    /// The column `group_hash`.
    package let group: IndexHash
    /// The column `place_hash`.
    package let place: IndexHash
}

/// What part V is bound to.
package struct ValueParts {
    /// The header of the row.
    package let header: RowHeader
    /// The tag of part A.
    package let names: PartTag
    /// The tag of part B.
    package let details: PartTag

    /// The parts of a row of which only the tags were read.
    package init(header: RowHeader, names: PartTag, details: PartTag) {
        self.header = header
        self.names = names
        self.details = details
    }

    /// - Throws: ``RowFailure/seal`` for parts that are too short.
    package init(_ row: SealedRow) throws(RowFailure) {
        self.init(
            header: row.header, names: try PartTag(of: row.names),
            details: try PartTag(of: row.details))
    }

    fileprivate func data(_ part: RowHeader.Part, _ keychainID: KeychainID) -> LengthPrefixed {
        var data = header.associatedData(part, keychainID: keychainID, reserving: 40)
        data.append(names)
        data.append(details)
        return data
    }
}

/// Part V, which is sealed twice where a person is needed: docs/FORMAT.md §5.2.
extension ItemCipher {
    /// Seals a padded value for a row whose parts A and B are sealed.
    func seal(
        _ padded: Span<UInt8>, of row: SealedRow, _ nonces: inout NonceSupply
    ) throws -> [UInt8] {
        let operation = "seal an item"
        let parts = try ValueParts(row)
        guard let pair = row.header.flags.presence else { return seal(padded, parts, &nonces) }
        guard let recipient = recipients[pair] else {
            throw KeychainFailure(
                .passcodeNotSet, during: operation,
                message: "there are no keys for items that need a person",
                hint: "set a passcode, or begin new keys with `valet rotate`")
        }
        do throws(SealingError) {
            let inner = try parts.data(.presence, keychainID).withBytes {
                data throws(SealingError) in
                try PublicKeySealing.seal(padded, associatedData: data, to: recipient)
            }
            return seal(inner.span, parts, &nonces)
        } catch {
            throw KeychainFailure(
                .keychainDamaged, during: operation, message: "a presence pair is not fit")
        }
    }

    private func seal(
        _ plaintext: Span<UInt8>, _ parts: ValueParts, _ nonces: inout NonceSupply
    ) -> [UInt8] {
        let data = parts.data(.secret, keychainID)
        return AEAD.seal(plaintext, associatedData: data, under: keys.value, &nonces)
    }

    /// Opens part V to check it; of a value that takes a person or a password, as far as the keys
    /// of its class go.
    package func checkValue(_ row: SealedRow, _ content: ItemContent) throws(RowFailure) {
        guard let secret = row.secret else { return }
        do throws(RowFailure) {
            let stored = try openValue(ValueParts(row), secret.span)
            try check(stored, row.header, content)
        } catch {
            guard error == .needsPerson else { throw error }
        }
    }

    /// Opens part V, padding and all.
    func openPadded(
        _ parts: ValueParts, _ secret: Span<UInt8>, _ proof: PresenceProof?
    ) throws(RowFailure) -> SecretBytes {
        let data = parts.data(.secret, keychainID)
        guard let opened = try? AEAD.open(secret, associatedData: data, under: keys.value) else {
            throw .seal
        }
        guard let pair = parts.header.flags.presence else { return opened }
        guard let recipient = recipients[pair], let proof else { throw .needsPerson }
        return try parts.data(.presence, keychainID).withBytes { data throws(RowFailure) in
            try opened.withBytes { inner throws(RowFailure) in
                try proof.open(inner, to: pair, of: recipient, associatedData: data)
            }
        }
    }
}

extension PresenceProof {
    /// Opens what was sealed to a pair of keys.
    ///
    /// - Throws: ``RowFailure``: `needsPerson` if the pair is not among what was opened, `seal` if
    ///   it is, and this was not sealed to it.
    fileprivate func open(
        _ sealed: Span<UInt8>, to pair: PresencePair, of recipient: Recipient,
        associatedData: Span<UInt8>
    ) throws(RowFailure) -> SecretBytes {
        for opened in keys where opened.has(pair, of: recipient) {
            do throws(SealingError) {
                let value = try opened.open(sealed, to: pair, associatedData: associatedData)
                if let value { return value }
            } catch {
                throw .seal
            }
        }
        throw .needsPerson
    }
}
