// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainModel
internal import ValetSealing
internal import ValetSecretMemory

/// What part V is bound to.
struct ValueParts {
    let header: RowHeader
    /// The tag of part A.
    let names: PartTag
    /// The tag of part B.
    let details: PartTag

    init(header: RowHeader, names: PartTag, details: PartTag) {
        self.header = header
        self.names = names
        self.details = details
    }

    /// - Throws: ``RowFailure/seal`` for parts that are too short.
    init(_ row: SealedRow) throws(RowFailure) {
        self.init(
            header: row.header, names: try PartTag(of: row.names),
            details: try PartTag(of: row.details))
    }

    fileprivate func data(_ part: RowHeader.Part, _ keychainID: KeychainID) -> LengthPrefixed {
        var data = header.associatedData(part, keychainID: keychainID, reserving: 40)
        data.append(names.span)
        data.append(details.span)
        return data
    }
}

/// Part V, which is sealed twice where a person is needed: docs/FORMAT.md §5.2.
extension ItemCipher {
    /// Seals a padded value for a row whose parts A and B are sealed.
    func seal(
        _ padded: Span<UInt8>, of row: SealedRow, _ nonces: inout NonceSupply
    ) throws(KeychainFailure) -> [UInt8] {
        let operation = "seal an item"
        let parts: ValueParts
        do throws(RowFailure) {
            parts = try ValueParts(row)
        } catch {
            throw KeychainFailure(translating: error, during: operation)
        }
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
    func checkValue(_ row: SealedRow, _ content: ItemContent) throws(RowFailure) {
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
