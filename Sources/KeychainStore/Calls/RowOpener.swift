// SPDX-License-Identifier: Apache-2.0

internal import KeychainModel
internal import SecretMemory

/// Opens what a search found, as far as the call needs it, and compares it with the query again.
struct RowOpener {
    let query: ItemQuery
    let parts: ItemParts
    let state: KeychainState

    /// Opens rows until the query's limit is reached.
    ///
    /// - Throws: ``RowFailure/locked`` if the key of one of them is not open.
    func open(_ rows: [FoundRow]) throws(RowFailure) -> FoundItems {
        var found = FoundItems()
        let limit = query.limit ?? .max
        for row in rows where found.items.count < limit {
            do throws(RowFailure) {
                guard case .row(let row) = row else { throw .column }
                if let item = try open(row) { found.items.append(item) }
            } catch {
                guard error.isDamage else { throw error }
                found.damage = KeychainFailure(translating: error, during: "open an item")
            }
        }
        return found
    }

    /// Opens one row; nil if the query does not match after all.
    private func open(_ row: SealedRow) throws(RowFailure) -> StoredItem? {
        let cipher = try state.cipher(opening: row.header)
        let content =
            parts.needsDetails || query.needsDetails
            ? try cipher.openContent(row) : try cipher.openNames(row)
        try compare(content)
        guard fits(content) else { return nil }
        var value: SecretValue?
        if parts.contains(.value), let secret = row.secret {
            value = try cipher.openValue(
                row.header, names: row.names, details: row.details, secret: secret)
            guard value?.byteCount == content.valueByteCount else { throw .content }
        }
        return StoredItem(
            itemClass: row.header.itemClass, reference: row.header.reference,
            accessGroup: content.accessGroup,
            isSynchronizable: row.header.flags.contains(.synchronizable),
            protectionClass: row.header.protectionClass, attributes: content.attributes,
            valueByteCount: content.valueByteCount, value: value)
    }

    /// A hash said that these attributes match; if they do not, the row was tampered with.
    private func compare(_ content: ItemContent) throws(RowFailure) {
        let names = query.itemClass.primaryKeyAttributes
        let hasDetails = parts.needsDetails || query.needsDetails
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
