// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

// The former values of items: what a person's write replaces or deletes stays for `valet undo`.
// Reasons: docs/decisions/0069-history.md.

extension ItemTransaction {
    /// Keeps the value of an item that this transaction is about to replace or delete. Deletes the
    /// oldest former values above the limit.
    ///
    /// Values that need a proof or a password are not kept: a copy would have to ask for it.
    ///
    /// - Parameter new: The value that replaces it; nil for a deletion.
    func keepFormerValue(
        of match: OpenedRow, replacedBy new: SecretValue? = nil
    ) throws(KeychainFailure) {
        let header = match.row.header
        guard caller.keepsHistory, let value = match.value, !header.flags.isGuarded,
            !header.flags.contains(.tombstone), !match.content.accessGroup.isOfKeychain,
            new?.isEqual(to: value) != true
        else { return }
        let limit = try number(of: .history)
        guard limit > 0 else { return }
        let slots = FormerValueSlot.all(
            of: match.content.accessGroup,
            isSynchronizable: header.flags.contains(.synchronizable))
        var former: [(row: SealedRow, slot: FormerValueSlot)] = []
        var free: FormerValueSlot?
        for slot in slots {
            if let row = try row(in: slot, header.itemClass, match.content) {
                former.append((row, slot))
            } else {
                free = free ?? slot
            }
        }
        former.sort { $0.row.logicalTime > $1.row.logicalTime }
        // Dates can go back, logical times cannot.
        let latest = former.lazy.map(\.row.logicalTime).first { $0 < .max } ?? 0
        for old in former.dropFirst(limit - 1) {
            try rows.delete(old.row)
            free = free ?? old.slot
        }
        guard let free else { return }
        var content = match.content
        content.accessGroup = free.accessGroup
        let kind = RowKind(protectionClass: header.protectionClass, flags: [])
        _ = try rows.insert(
            header.itemClass, kind, rows.hashed(content, header.itemClass, []), value: value,
            after: latest)
    }

    /// Keeps the value of an item that is about to be deleted. Does nothing if the item is locked,
    /// because its deletion must succeed.
    func keepFormerValue(of row: SealedRow) throws(KeychainFailure) {
        guard caller.keepsHistory else { return }
        do {
            if let opened = try rows.openIfSound(row) { try keepFormerValue(of: opened) }
        } catch {
            guard error.code == .locked else { throw error }
        }
    }

    /// The row in a slot; nil for a free slot. A damaged one goes to quarantine.
    private func row(
        in slot: FormerValueSlot, _ itemClass: ItemClass, _ content: ItemContent
    ) throws(KeychainFailure) -> SealedRow? {
        let existing = try rows.row(
            itemClass, content.attributes, group: slot.accessGroup, isSynchronizable: false)
        guard let existing else { return nil }
        if case .row(let row) = existing {
            // The item may have had a class that is locked now.
            if state.isLocked(row.header) { return row }
            if try rows.openIfSound(row) != nil { return row }
        }
        try rows.quarantine(existing)
        return nil
    }

    private func number(of setting: KeychainSetting) throws(KeychainFailure) -> Int {
        let item = setting.item
        let existing = try rows.row(
            item.itemClass, item.attributes, group: item.accessGroup ?? AccessGroup(""),
            isSynchronizable: false)
        guard case .row(let row)? = existing, let opened = try rows.openIfSound(row) else {
            return setting.usualValue
        }
        return opened.value.flatMap(setting.parse) ?? setting.usualValue
    }

    /// Puts a former value in the place of the present one, which becomes a former one.
    fileprivate func restore(_ version: ItemVersion) throws(KeychainFailure) {
        let match = try open(version)
        guard let slot = FormerValueSlot(match.content.accessGroup), let value = match.value else {
            throw KeychainFailure(.itemNotFound, during: operation)
        }
        // Deleted first, because the present value takes its slot.
        try rows.delete(match.row)
        var content = match.content
        content.accessGroup = try caller.group(writing: slot.group, during: operation)
        let header = match.row.header
        let item = rows.hashed(
            content, header.itemClass, slot.isSynchronizable ? .synchronizable : [])
        let existing = try rows.row(item.index.place)
        if case .row(let row)? = existing, !row.header.flags.contains(.tombstone),
            let present = try rows.openIfTaken(row)
        {
            return try update(present, ItemChanges(), value: value)
        }
        let predecessor = try rows.makeWay(over: existing)
        content.attributes[.modificationDate] = .date(
            rows.now.date(after: predecessor.modificationDate))
        let flags = RowFlags(isSynchronizable: slot.isSynchronizable, guardedBy: nil)
        _ = try rows.insert(
            header.itemClass, RowKind(protectionClass: header.protectionClass, flags: flags),
            IndexedContent(content, item.index), value: value, after: predecessor.logicalTime)
    }
}

extension ItemStore {
    /// Puts a former value back, in one transaction. The item's present value becomes a former one;
    /// an item that was deleted is there again.
    ///
    /// - Throws: `itemNotFound` if the former value is gone; what ``add(_:for:_:)`` throws.
    package func restore(_ version: ItemVersion, for caller: Caller) throws(KeychainFailure) {
        _ = try writeRows("restore a former value") {
            (rows) throws(KeychainFailure) in
            try ItemTransaction(rows, caller).restore(version)
        }
    }

    /// Deletes every former value of every application. Returns how many they were.
    ///
    /// - Throws: ``KeychainFailure/Code/locked``. Some may have been deleted by then.
    package func deleteHistory() throws(KeychainFailure) -> Int {
        let operation = "delete former values"
        var (walk, count) = (try walkEverything(), 0)
        while !walk.isAtEnd {
            let found = try step(of: &walk, operation) {
                (found, state) throws(KeychainFailure) -> [Int64] in
                try translating(operation) { () throws(SystemError) in
                    var numbers: [Int64] = []
                    for case .row(let row) in found where try state.isFormerValue(row) {
                        numbers.append(row.header.number)
                    }
                    return numbers
                }
            }
            guard let found, !found.isEmpty else { continue }
            count +=
                try writeRows(operation) { (rows) throws(KeychainFailure) in
                    var count = 0
                    for number in found {
                        let found = try translating(
                            rows.state.item(number, rows.store), during: operation)
                        guard case .row(let row)? = found,
                            try translating(rows.state.isFormerValue(row), during: operation)
                        else { continue }
                        try rows.delete(row)
                        count += 1
                    }
                    return count
                } ?? 0
        }
        return count
    }
}

extension RowKeys {
    /// - Throws: ``SystemError`` for a locked class. A damaged row is no former value.
    fileprivate func isFormerValue(_ row: SealedRow) throws(SystemError) -> Bool {
        let content = try unlessDamaged { () throws(SystemError) in
            try cipher(opening: row.header).openContent(row)
        }
        return content.map { FormerValueSlot($0.accessGroup) != nil } ?? false
    }
}

extension KeychainSetting {
    /// The number in an item's value; nil for anything else.
    package func parse(_ value: SecretValue) -> Int? {
        value.withBytes { bytes in
            var text = ""
            for index in bytes.indices { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
            return Int(text).flatMap { values.contains($0) ? $0 : nil }
        }
    }
}
