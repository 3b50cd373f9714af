// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory

/// Seals items into rows and opens them: docs/FORMAT.md §5.2.
struct ItemCipher {
    let keychainID: KeychainID
    let keys: ClassKeys
    /// To whom values are sealed that take a person.
    var recipients: [PresencePair: Recipient] = [:]

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
    ) throws(KeychainFailure) -> SealedRow {
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
            row.secret = try padded.withBytes { plaintext throws(KeychainFailure) in
                try seal(plaintext, of: row, &nonces)
            }
        }
        return row
    }

    /// Opens part A where it lies: the encoded list of access group and primary key.
    func openNames(
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
    func openNames(_ row: SealedRow) throws(RowFailure) -> ItemContent {
        let names = try open(row.names, namesData(of: row))
        return try ItemContent(row.header.itemClass, names: names)
    }

    /// Opens parts A and B.
    func openContent(_ row: SealedRow) throws(RowFailure) -> ItemContent {
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
    func openValue(
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
    func checkHasNoValue(
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
typealias PartTag = InlineArray<16, UInt8>

extension PartTag {
    /// The tag at the end of a sealed part.
    ///
    /// - Throws: ``RowFailure/seal`` for bytes that are too few to have one.
    init(of sealed: [UInt8]) throws(RowFailure) {
        guard sealed.count >= Self.count else { throw .seal }
        self.init { sealed[sealed.count - Self.count + $0] }
    }
}

/// The hashes that have columns of their own; part A is bound to them.
struct NameHashes {
    let account: IndexHash
    let group: IndexHash
    let place: IndexHash
}
