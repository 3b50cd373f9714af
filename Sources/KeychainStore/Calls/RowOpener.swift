// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
internal import ValetSecretMemory

/// Opens what a search found, as far as the call needs it, and compares it with the query again.
struct RowOpener {
    let query: ItemQuery
    let parts: ItemParts
    let state: KeychainState
    let access: PersonAccess

    /// What became of one row.
    private enum Outcome {
        case item(StoredItem)
        case demanded(AccessControl)
        case locked(PasswordLock)
        /// The query does not match after all, or the item is left out.
        case nothing
    }

    /// Opens rows until the query's limit is reached.
    ///
    /// - Throws: ``RowFailure/locked`` if the key of one of them is not open.
    func open(_ rows: [FoundRow]) throws(RowFailure) -> FoundItems {
        var found = FoundItems()
        let limit = query.limit ?? .max
        for row in rows where found.items.count + found.closedCount < limit {
            do throws(RowFailure) {
                guard case .row(let row) = row else { throw .column }
                switch try open(row) {
                case .item(let item): found.items.append(item)
                case .demanded(let accessControl): found.demand(accessControl)
                case .locked(let lock): found.demand(lock)
                case .nothing: break
                }
            } catch {
                guard error.isDamage else { throw error }
                found.damage = KeychainFailure(translating: error, during: "open an item")
            }
        }
        return found
    }

    private func open(_ row: SealedRow) throws(RowFailure) -> Outcome {
        let cipher = try state.cipher(opening: row.header)
        let content =
            needsDetails(of: row)
            ? try cipher.openContent(row) : try cipher.openNames(row)
        try compare(content, hasDetails: needsDetails(of: row))
        guard fits(content) else { return .nothing }
        if let pair = row.header.flags.presence, let accessControl = try content.accessControl {
            let recipient = cipher.recipients[pair]
            switch access.verdict(on: accessControl, sealedTo: pair, of: recipient) {
            case .open: break
            case .demanded: return .demanded(accessControl)
            case .skipped, .gone: return .nothing
            }
        }
        guard parts.contains(.value), let secret = row.secret else {
            return .item(item(row, content, value: nil))
        }
        let stored = try cipher.openValue(ValueParts(row), secret.span, access.proof)
        guard !row.header.flags.contains(.password) else {
            return try outcome(of: cipher.box(stored, row.header, content), in: row, content)
        }
        guard stored.byteCount == content.valueByteCount else { throw .content }
        if row.header.flags.presence != nil, access.rule == .demanding,
            let tag = ValueTag(of: secret)
        {
            // Here the proof was found to be enough: what it opens elsewhere is not given out.
            access.proof?.grant(tag)
        }
        return .item(item(row, content, value: stored))
    }

    private func outcome(
        of box: PasswordBox, in row: SealedRow, _ content: ItemContent
    ) throws(RowFailure) -> Outcome {
        guard let password = access.password(for: box.lock) else {
            return access.skipsPasswords ? .nothing : .locked(box.lock)
        }
        return .item(item(row, content, value: try box.open(with: password)))
    }

    private func item(
        _ row: SealedRow, _ content: ItemContent, value: SecretValue?
    ) -> StoredItem {
        StoredItem(
            itemClass: row.header.itemClass, reference: row.header.reference,
            accessGroup: content.accessGroup,
            isSynchronizable: row.header.flags.contains(.synchronizable),
            protectionClass: row.header.protectionClass, attributes: content.attributes,
            valueByteCount: content.valueByteCount, value: value)
    }

    /// Whether part B has to be opened: what it takes to read an item is in it, too.
    private func needsDetails(of row: SealedRow) -> Bool {
        parts.needsDetails || query.needsDetails || row.header.flags.presence != nil
    }

    /// A hash said that these attributes match; if they do not, the row was tampered with.
    private func compare(_ content: ItemContent, hasDetails: Bool) throws(RowFailure) {
        let names = query.itemClass.primaryKeyAttributes
        for (attribute, wanted) in query.attributes where attribute.isHashed {
            guard hasDetails || names.contains(attribute) else { continue }
            guard let stored = content.attributes[attribute] ?? attribute.defaultValue,
                attribute.matches(wanted, stored)
            else { throw .content }
        }
    }

    /// Filters that no hash serves.
    private func fits(_ content: ItemContent) -> Bool {
        for (attribute, wanted) in query.attributes where !attribute.isHashed {
            guard let stored = content.attributes[attribute], attribute.matches(wanted, stored)
            else { return false }
        }
        return query.fitsHost(content)
    }
}

extension ItemParts {
    /// Whether part B has to be opened.
    fileprivate var needsDetails: Bool { contains(.attributes) || contains(.value) }
}

extension ItemQuery {
    fileprivate var needsDetails: Bool {
        let names = itemClass.primaryKeyAttributes
        return attributes.keys.contains { !names.contains($0) }
    }
}
