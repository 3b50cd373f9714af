// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// An item as a caller has read it.
package struct ItemVersion: Hashable, Sendable {
    /// Names the item.
    package let reference: PersistentReference
    /// Every change of the item changes this date.
    package let modificationDate: Double?

    package init(_ reference: PersistentReference, modificationDate: Double?) {
        self.reference = reference
        self.modificationDate = modificationDate
    }
}

/// The changes of a migration: all are made, or none.
package struct ItemTransfer: Sendable {
    /// An item that gets another name, place or access control.
    package struct Change: Sendable {
        package let version: ItemVersion
        /// The new state of the item. Attributes that it leaves out stay, and so does the date of
        /// creation.
        package var item: NewItem
        /// The value that was read. It is written only if opening the item's own value needs a
        /// proof or a password.
        package let value: SecretValue?
        /// Whether `value` replaces the item's own one. Refused for an item whose value needs a
        /// proof or a password.
        package let setsValue: Bool
        /// Changes of its fields; the others stay.
        package var fields: [FieldChange] = []

        package init(_ version: ItemVersion, to item: NewItem, value: SecretValue?) {
            (self.version, self.item, self.value) = (version, item, value)
            setsValue = false
        }

        package init(_ version: ItemVersion, to item: NewItem, settingValue value: SecretValue) {
            (self.version, self.item, self.value) = (version, item, value)
            setsValue = true
        }

        fileprivate var changes: ItemChanges {
            var changes = ItemChanges(
                attributes: item.attributes, accessGroup: item.accessGroup,
                isSynchronizable: item.isSynchronizable)
            changes.accessControl = item.accessControl
            // A protection class alone replaces both the old class and the old access control.
            if item.accessControl == nil { changes.protectionClass = item.protectionClass }
            return changes
        }
    }

    package var additions: [Addition]
    /// Items to change in place.
    package var changes: [Change]
    package var deletions: [ItemVersion]

    package init(
        additions: [Addition] = [], changes: [Change] = [], deletions: [ItemVersion] = []
    ) {
        self.additions = additions
        self.changes = changes
        self.deletions = deletions
    }
}

extension ItemStore {
    /// Changes, deletes and adds items in one transaction, or does nothing.
    ///
    /// An item that is changed keeps its value, its attributes and its persistent reference.
    ///
    /// - Returns: How many of the deleted items are kept as former values.
    /// - Throws: As ``add(_:for:)``; `itemNotFound` if an item to change or delete does not exist
    ///   any more, or is not the version that was read; `damaged` if it cannot be read; `locked`.
    @discardableResult
    package func perform(
        _ transfer: ItemTransfer, for caller: Caller
    ) throws(KeychainFailure) -> Int {
        let operation = "move items"
        return try writeRows(operation, creating: true) { (rows) throws(KeychainFailure) in
            let items = ItemTransaction(rows, caller)
            var keptCount = 0
            // Before anything is deleted: an addition may have the fields of what is.
            let additions = try transfer.additions.map { (addition) throws(KeychainFailure) in
                try items.withFields(addition)
            }
            // Deletions come first, because another item may take the name of a deleted one.
            for version in transfer.deletions {
                if try items.deleteItem(try items.open(version).row) { keptCount += 1 }
            }
            for change in transfer.changes { try items.perform(change) }
            for addition in additions {
                if case .needsPerson(let demand) = try items.add(addition) {
                    guard case .proofs = demand else {
                        throw KeychainFailure(demand, during: operation)
                    }
                    throw KeychainFailure(.duplicateItem, during: operation)
                }
            }
            return keptCount
        } ?? 0
    }
}

extension ItemTransaction {
    fileprivate func perform(_ change: ItemTransfer.Change) throws(KeychainFailure) {
        let match = try open(change.version)
        let item = change.item
        if let group = item.accessGroup {
            _ = try caller.group(writing: group, during: operation)
        }
        // The error for an unavailable class names the reason: no passcode, or the lock.
        try check(item.protectionClass)
        if let accessControl = item.accessControl {
            let flags = match.row.header.flags
            try check(accessControl, isSynchronizable: flags.contains(.synchronizable))
        }
        guard match.isClosed || match.isBoxed else {
            let value = change.setsValue ? change.value : nil
            return try update(
                match, change.changes, value: newValue(of: match, value, change.fields))
        }
        // The value was opened with a proof or a password before this call. Without that value, the
        // item would lose its own.
        guard let value = change.value, !change.setsValue, change.fields.isEmpty else {
            throw KeychainFailure(.row(.needsPerson), during: operation)
        }
        try update(match, change.changes, value: ItemValue(value))
    }

    /// The addition with the fields of the item that it gets them of.
    fileprivate func withFields(_ addition: Addition) throws(KeychainFailure) -> Addition {
        guard let origin = addition.fieldsOrigin else { return addition }
        return addition.with(try fields(of: open(origin)))
    }

    /// Opens an item, but only if it has not changed since it was read. So a value that another
    /// process has stored since then is neither deleted nor overwritten.
    func open(_ version: ItemVersion) throws(KeychainFailure) -> OpenedRow {
        let groups = try caller.groups(changing: nil, during: operation)
        let query = ItemQuery(version.reference)
        let all = try translating(state.find(query, groups, rows.store), during: operation)
        guard let found = all.first else {
            throw KeychainFailure(.itemNotFound, during: operation)
        }
        guard case .row(let row) = found else {
            throw KeychainFailure(.row(.damagedColumn), during: operation)
        }
        let opened = try rows.open(row)
        guard opened.content.modificationDate == version.modificationDate else {
            throw KeychainFailure(
                .itemNotFound, during: operation,
                message: "an item was changed while it was being moved",
                hint: "nothing was moved; try again")
        }
        return opened
    }
}

/// Storing under a name that may lead to several items, or to one of another protection class.
extension ItemStore {
    /// Gives the item that `query` finds the value and the protection class of `addition`. If
    /// `query` finds none, adds `addition`; if it finds several, deletes all but one. All in one
    /// transaction.
    ///
    /// The item keeps its group, attributes and persistent reference. It becomes synchronizable if
    /// the addition is. Of several items, the first one that is synchronizable like the addition
    /// stays. If `query` finds damaged items alone, the addition sets aside the one in its place.
    ///
    /// A locked item is deleted, and the addition takes its place.
    ///
    /// - Throws: ``KeychainFailure``: `missingEntitlement`, `valueTooLarge`, `passcodeNotSet`;
    ///   `locked` also if a found item is locked and synchronizable; `damaged` if a damaged item
    ///   would stay beside the value.
    package func replace(
        _ query: ItemQuery, with addition: Addition, for caller: Caller
    ) throws(KeychainFailure) {
        _ = try shareWrite(
            "set an item", creating: true, byteCount: addition.byteCount
        ) { (rows) throws(KeychainFailure) in
            try ItemTransaction(rows, caller).replace(query, with: addition)
        }
    }
}

extension ItemTransaction {
    fileprivate func replace(_ query: ItemQuery, with addition: Addition) throws(KeychainFailure) {
        let item = addition.item
        let groups = try caller.groups(changing: query.accessGroup, during: operation)
        try check(byteCount: addition.byteCount)
        try check(item.protectionClass)
        try deleteClosed(query, groups)
        var damage: KeychainFailure?
        var matches = try openMatches(query, groups).readable(noting: &damage)
        let isAlike = { (match: OpenedRow) in
            match.row.header.flags.contains(.synchronizable) == item.isSynchronizable
        }
        guard let chosen = matches.firstIndex(where: isAlike) ?? matches.indices.first else {
            try addWithoutAsking(addition)
            // A search for the value must not meet a damaged item first.
            if damage != nil { _ = try openMatches(query, groups).items }
            return
        }
        if let damage { throw damage }
        let target = matches.remove(at: chosen)
        for other in matches { try deleteItem(other.row) }
        let changes = ItemChanges(
            isSynchronizable: item.isSynchronizable ? true : nil,
            protectionClass: item.protectionClass)
        try update(target, changes, value: newValue(of: target, addition.value))
    }

    /// Deletes the items that match and are locked. A locked item can be deleted (spec/secitem.md
    /// §9.3), so an addition whose class is open can replace it. One with fields stays, because the
    /// addition could not keep them: then the call fails with `locked`. A synchronizable one cannot
    /// be replaced: its tombstone would need its names.
    private func deleteClosed(
        _ query: ItemQuery, _ groups: [AccessGroup]
    ) throws(KeychainFailure) {
        guard !query.hasUnindexedFilter else { return }
        let found = try translating(state.find(query, groups, rows.store), during: operation)
        for case .row(let row) in found
        where state.isLocked(row.header)
            && row.header.flags.isDisjoint(with: [.synchronizable, .fields])
        {
            try deleteItem(row)
        }
    }

    /// Opens the rows that match.
    func openMatches(
        _ query: ItemQuery, _ groups: [AccessGroup]
    ) throws(KeychainFailure) -> FoundItems<OpenedRow> {
        var (matches, damage) = ([OpenedRow](), KeychainFailure?.none)
        for found in try translating(state.find(query, groups, rows.store), during: operation) {
            do throws(SystemError) {
                let opened = try state.open(found, rows.access.proof)
                if try query.fits(opened.content) { matches.append(opened) }
            } catch {
                let failure = KeychainFailure(error, during: operation)
                guard error.isDamage else { throw failure }
                damage = damage ?? failure
            }
        }
        return FoundItems(matches, damage: damage)
    }
}
