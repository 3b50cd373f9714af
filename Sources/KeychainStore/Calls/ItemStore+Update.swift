// SPDX-License-Identifier: Apache-2.0

package import KeychainModel
internal import Sealing
package import SecretMemory

/// keychain-semantics §6.
extension ItemStore {
    private static let updating = "update items"

    /// Changes every item that matches, or none.
    ///
    /// - Parameter value: The new value; nil keeps what each item has.
    /// - Returns: How many items were changed.
    /// - Throws: ``KeychainFailure``: `itemNotFound` if none matches, `duplicateItem` if a primary
    ///   key is taken, `damaged` if a match is, `missingEntitlement`, `valueTooLarge`,
    ///   `passcodeNotSet`.
    package func update(
        _ query: ItemQuery, _ changes: ItemChanges, value: SecretValue?, for caller: Caller
    ) throws(KeychainFailure) -> Int {
        let count = try write(Self.updating, caller) { (access) in
            try access.update(query, changes, value: value, for: caller)
        }
        guard let count, count > 0 else {
            throw KeychainFailure(.itemNotFound, during: Self.updating)
        }
        return count
    }
}

extension WriteAccess {
    fileprivate func update(
        _ query: ItemQuery, _ changes: ItemChanges, value: SecretValue?, for caller: Caller
    ) throws -> Int {
        let groups = try caller.groups(changing: query.accessGroup, during: operation)
        if let group = changes.accessGroup {
            _ = try caller.group(writing: group, during: operation)
        }
        try check(value)
        let matches = try openMatches(query, groups)
        for match in matches { try update(match, changes, value: value) }
        return matches.count
    }

    /// Opens all rows that match.
    ///
    /// - Throws: ``RowFailure`` if one of them is damaged.
    private func openMatches(
        _ query: ItemQuery, _ groups: [AccessGroup]
    ) throws -> [OpenedRow] {
        var matches: [OpenedRow] = []
        for found in try state.find(query, groups, store) {
            guard case .row(let row) = found else { throw RowFailure.column }
            let opened = try open(row)
            if try query.fits(opened.content) { matches.append(opened) }
        }
        return matches
    }

    /// Changes one item.
    func update(
        _ match: OpenedRow, _ changes: ItemChanges, value: SecretValue?
    ) throws {
        let header = match.row.header
        let new = match.content.applying(changes, valueByteCount: value?.byteCount)
        var flags = header.flags
        if let isSynchronizable = changes.isSynchronizable {
            if isSynchronizable {
                flags.insert(.synchronizable)
            } else {
                flags.remove(.synchronizable)
            }
        }
        let item = hashed(new, header.itemClass, flags)
        let keepsKey = keepsKey(match, item)
        let predecessor =
            keepsKey
            ? Predecessor()
            : try makeWay(
                for: item, header.itemClass, isSynchronizable: flags.contains(.synchronizable))
        var content = new
        content.attributes[.modificationDate] = .date(
            keepsKey
                ? laterDate(than: match.content)
                : max(now.date, predecessor.modificationDate.map { $0 + 0.001 } ?? now.date))
        let kind = RowKind(
            protectionClass: changes.protectionClass ?? header.protectionClass, flags: flags)
        try replace(
            match.row, kind, IndexedContent(content, item.index), value: value ?? match.value,
            after: predecessor.logicalTime)
        if !keepsKey { try markDeletion(match) }
    }

    /// Whether an item has the primary key of the row that it is written over.
    private func keepsKey(_ match: OpenedRow, _ item: IndexedContent) -> Bool {
        let header = match.row.header
        guard !state.isNewest(header) else {
            return item.index.place.primaryKey == header.primaryKey
        }
        let old = hashed(match.content, header.itemClass, header.flags)
        return item.index.place.primaryKey == old.index.place.primaryKey
    }
}

extension ItemContent {
    /// The content after an update; dates of modification are the caller's concern.
    fileprivate func applying(_ changes: ItemChanges, valueByteCount: Int?) -> ItemContent {
        var new = self
        for (attribute, value) in changes.attributes where attribute != .modificationDate {
            new.attributes[attribute] = value
        }
        if let group = changes.accessGroup { new.accessGroup = group }
        if let valueByteCount { new.valueByteCount = valueByteCount }
        return new
    }
}
