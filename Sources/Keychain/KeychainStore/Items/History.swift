// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

// Former values: what a person's write replaces or removes stays for `valet undo`. Table `former`
// has them (docs/FORMAT.md §8). Reasons: docs/decisions/0069-history.md.

/// A value that an item had before.
package struct FormerItem: Sendable {
    /// When it was replaced or removed: milliseconds since 1970, with 16 more bits for the order.
    package let kept: Int64
    /// Why it is not the item's value any more.
    package let reason: FormerReason
    /// The item as it was, without its value; nil if that is damaged.
    package let item: StoredItem?
    /// What all former values of one name share; nil if that is damaged.
    package let name: FormerName?
    /// Whether a damaged one has the name of an item.
    package let hasItem: Bool
}

/// The name of an item that need not be readable.
package struct FormerName: Hashable, Sendable {
    fileprivate let place: ItemPlace
}

extension ItemTransaction {
    /// Keeps the value of an item that this transaction is about to replace.
    ///
    /// - Returns: Whether it is kept: a caller that relies on that has to look.
    @discardableResult
    func keepFormerValue(
        of match: OpenedRow, replacedBy new: ItemValue?
    ) throws(KeychainFailure) -> Bool {
        guard match.row.secret != nil, !match.content.accessGroup.isOfKeychain,
            try !translating(match.isContained(in: new), during: operation)
        else { return false }
        return try keep(match.row, .changed)
    }

    /// Keeps a row that this transaction is about to replace or delete, if the caller keeps what it
    /// changes. Deletes the oldest former rows of the name above the limit.
    func keep(_ row: SealedRow, _ reason: FormerReason) throws(KeychainFailure) -> Bool {
        guard caller.keepsHistory, !row.header.flags.contains(.tombstone) else { return false }
        return try rows.keepWithinLimit(row, reason)
    }

    /// Puts a former row back, and keeps the present one in its stead, whatever the caller and the
    /// setting say: so nothing is lost.
    ///
    /// - Parameter present: The item that gets the former value; nil if there is none.
    fileprivate func restore(
        _ item: FormerItem, over present: ItemVersion?
    ) throws(KeychainFailure) {
        let found = try translating(
            state.open(item, rows.store, rows.access.proof), during: operation)
        guard let opened = found else { throw KeychainFailure(.itemNotFound, during: operation) }
        _ = try caller.group(writing: opened.content.accessGroup, during: operation)
        try rows.dropFormer(item.kept)
        guard let present else {
            let predecessor = try rows.makeWay(over: rows.row(opened.row.place))
            return try comeBack(opened, after: predecessor.logicalTime)
        }
        let match = try open(present)
        if match.row.secret != nil { try rows.keep(match.row, .changed) }
        let isOther = match.row.header.reference != opened.row.header.reference
        if isOther, match.row.place == opened.row.place {
            try rows.delete(match.row)
            return try comeBack(opened, after: match.row.logicalTime)
        }
        guard case .found = try rows.judge(match), !match.isClosed, !match.isBoxed else {
            throw refusal("the present value requires the user or a password")
        }
        guard !opened.isBoxed,
            let value = try translating(opened.itemValue, during: operation)
        else { throw refusal("the former value requires the user or a password") }
        try change(match, ItemChanges(), value: value)
    }

    private func comeBack(
        _ opened: OpenedRow, after logicalTime: Int64
    ) throws(KeychainFailure) {
        if try rows.insert(asItWas: opened, after: logicalTime) { return }
        // The item lives on under another name.
        guard !opened.isClosed, !opened.isBoxed else {
            throw refusal("the former value requires the user or a password")
        }
        let header = opened.row.header
        _ = try rows.insert(
            header.itemClass, header.kind,
            rows.hashed(opened.content, header.itemClass, header.flags), value: opened.value,
            after: logicalTime)
    }

    private func refusal(_ message: String) -> KeychainFailure {
        KeychainFailure(
            .interactionNotAllowed, during: operation, message: message,
            hint: "`valet remove` keeps the present value as well; `valet undo --version` then "
                + "brings the former one back")
    }

    /// Deletes the former rows that `query` finds, unless an item has their name.
    func dropFormerOfNothing(_ query: ItemQuery) throws(KeychainFailure) {
        let groups = try caller.groups(changing: query.accessGroup, during: operation)
        let kept = try translating(operation) { () throws(SystemError) in
            var kept: [Int64] = []
            for former in try state.formerRows(query, groups, rows.store) {
                if let place = former.place, try rows.store.hasItem(place) { continue }
                kept.append(former.kept)
            }
            return kept
        }
        for kept in kept { try rows.dropFormer(kept) }
    }

    /// Deletes the items and their former rows, and other former rows with all of their names.
    ///
    /// - Throws: `duplicateItem` if an item that is not among `items` has one of these names.
    func purge(
        _ items: [ItemVersion], _ former: [FormerItem]
    ) throws(KeychainFailure) {
        for item in items { try deleteItem(try open(item).row) }
        for item in former {
            let hasItem = try translating(operation) { () throws(SystemError) in
                let row = try rows.store.formerRow(item.kept, state.hasher)
                return try row?.place.map(rows.store.hasItem) ?? false
            }
            guard !hasItem else {
                throw KeychainFailure(
                    .duplicateItem, during: operation,
                    message: "an item that was not chosen has some of the former values",
                    hint: "nothing was removed; `valet history` shows them")
            }
            try rows.dropFormer(namedLike: item.kept)
        }
    }
}

extension OpenedRow {
    /// Whether a new value has all that this row has: the same value, and each field. Then nothing
    /// is lost. False for a value that stayed closed.
    fileprivate func isContained(in new: ItemValue?) throws(SystemError) -> Bool {
        guard let value, let new, !row.header.flags.contains(.password) else { return false }
        guard row.header.flags.contains(.fields) else { return value.isEqual(to: new.value) }
        let old = try content.value(sealedAs: value)
        return old.value.isEqual(to: new.value)
            && old.fields.list.allSatisfy {
                new.fields[$0.name]?.value.isEqual(to: $0.value) == true
            }
    }
}

extension RowTransaction {
    /// The setting, as this transaction sees it; nil if its item is damaged.
    private func knownNumber(of setting: KeychainSetting) throws(KeychainFailure) -> Int? {
        let item = setting.item
        let existing = try row(
            item.itemClass, item.attributes, group: item.accessGroup ?? AccessGroup(""),
            isSynchronizable: false)
        guard let existing else { return setting.usualValue }
        guard case .row(let row) = existing, let opened = try openIfSound(row) else { return nil }
        return opened.value.flatMap(setting.parse) ?? setting.usualValue
    }

    /// The setting, as this transaction sees it.
    ///
    /// - Throws: ``KeychainFailure/Code/damaged``: any other number could lose values.
    func number(of setting: KeychainSetting) throws(KeychainFailure) -> Int {
        if let number = try knownNumber(of: setting) { return number }
        throw KeychainFailure(
            .damaged, during: operation, message: "the setting '\(setting.rawValue)' is damaged",
            hint: "`valet settings \(setting.rawValue) N` stores it again")
    }

    /// Keeps a row that this transaction is about to replace or delete, and deletes the oldest
    /// former rows of its name above the limit.
    ///
    /// - Returns: false, with nothing done, if the limit is 0.
    func keepWithinLimit(_ row: SealedRow, _ reason: FormerReason) throws(KeychainFailure) -> Bool {
        let limit = try number(of: .history)
        guard limit > 0 else { return false }
        let kept = try keep(row, reason)
        try dropFormer(of: row.place, beyond: limit, sparing: kept)
        return true
    }

    /// Keeps what another device has replaced or removed, and deletes the oldest former rows of the
    /// name above the limit.
    package func keepReplaced(
        _ itemClass: ItemClass, _ kind: RowKind, _ item: IndexedContent, value: SecretValue?
    ) throws(KeychainFailure) {
        guard let kept = try keepUnlessKnown(itemClass, kind, item, value: value),
            let limit = try knownNumber(of: .history)
        else { return }
        try dropFormer(of: item.index.place, beyond: limit, sparing: kept)
    }

    /// Keeps a value as one that another device has replaced, whatever the limit.
    ///
    /// - Returns: nil if the value is kept already.
    package func keepUnlessKnown(
        _ itemClass: ItemClass, _ kind: RowKind, _ item: IndexedContent, value: SecretValue?
    ) throws(KeychainFailure) -> Int64? {
        let known = try translating(
            store.formerRows(of: item.index.place, state.hasher), during: operation)
        for row in known.compactMap(\.sound) where !state.isLocked(row.header) {
            guard let old = try openIfSound(row), old.content == item.content else { continue }
            if value.map({ old.value?.isEqual(to: $0) == true }) ?? (old.value == nil) {
                return nil
            }
        }
        return try insertFormer(itemClass, kind, item, value: value, (nil, .replaced))
    }
}

extension ItemStore {
    /// The value of a former item; nil if the item had none.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if it is gone, `damaged`, `locked`;
    ///   `interactionNotAllowed` if it requires the user or a password.
    package func formerValue(_ item: FormerItem) throws(KeychainFailure) -> ItemValue? {
        let operation = "read a former value"
        let found = try readRows(operation) { (snapshot) throws(KeychainFailure) in
            try translating(snapshot.state.open(item, snapshot.store, nil), during: operation)
        }
        guard let opened = found ?? nil else {
            throw KeychainFailure(.itemNotFound, during: operation)
        }
        guard !opened.isClosed, !opened.isBoxed else {
            throw KeychainFailure(.interactionNotAllowed, during: operation)
        }
        return try translating(opened.itemValue, during: operation)
    }

    /// Puts former values back, all or none. The present value of an item becomes a former one; an
    /// item that was removed is there again.
    ///
    /// - Parameter present: The item that gets the value; nil if there is none.
    /// - Throws: `itemNotFound` if a former value is gone, or the item has changed;
    ///   `duplicateItem` if there is an item after all; `interactionNotAllowed` if the value of
    ///   one of them would be lost.
    package func restore(
        _ items: [FormerItem], over present: ItemVersion? = nil, for caller: Caller
    ) throws(KeychainFailure) {
        let operation = "restore a former value"
        let isDone: Void? = try writeRows(operation) { (rows) throws(KeychainFailure) in
            let transaction = ItemTransaction(rows, caller)
            for item in items { try transaction.restore(item, over: present) }
        }
        if isDone == nil { throw keychain.notFound(operation) }
    }

    /// Deletes items and all former values of their names for good: all or none.
    ///
    /// - Throws: `itemNotFound` if an item to delete is gone or has changed; `duplicateItem` if one
    ///   that is not among them has one of these former values.
    package func purge(
        _ items: [ItemVersion], _ former: [FormerItem], for caller: Caller
    ) throws(KeychainFailure) {
        let operation = "remove items"
        let isDone: Void? = try writeRows(operation) { (rows) throws(KeychainFailure) in
            try ItemTransaction(rows, caller.purging).purge(items, former)
        }
        if isDone == nil { throw keychain.notFound(operation) }
    }

    private static let deletingFormer = "delete former values"

    /// The number of former values of every application, damaged ones included.
    package func formerCount() throws(KeychainFailure) -> Int {
        try readRows(Self.deletingFormer) { (snapshot) throws(KeychainFailure) in
            try translating(
                RowCount.former(in: snapshot.store.connection), during: Self.deletingFormer)
        } ?? 0
    }

    /// Deletes every former value of every application, damaged ones included, and keeps none from
    /// now on, in one step. Returns how many they were.
    ///
    /// - Parameters:
    ///   - setting: The setting with its new value, which `caller` may write.
    ///   - agreed: How many the user knows of; nil if nobody was asked. If there are more, nothing
    ///     is changed.
    package func deleteHistory(
        setting: Addition, atMost agreed: Int?, for caller: Caller
    ) throws(KeychainFailure) -> Int {
        let operation = Self.deletingFormer
        return try writeRows(operation, creating: true) { (rows) throws(KeychainFailure) in
            let connection = rows.store.connection
            let count = try translating(RowCount.former(in: connection), during: operation)
            if let agreed, count > agreed {
                throw .changedSinceQuestion(
                    "since the question, there are more former values", during: operation)
            }
            try ItemTransaction(rows, caller).set(setting)
            try translating(
                Statement("DELETE FROM former", on: connection).execute(), during: operation)
            return count
        } ?? 0
    }
}

extension RowKeys {
    /// The former values that each of the searches describes, the last one first, each once.
    func former(
        _ searches: [(query: ItemQuery, groups: [AccessGroup])], _ store: RowConnection
    ) throws(SystemError) -> [FormerItem] {
        var (found, known) = ([FormerItem](), Set<Int64>())
        for search in searches {
            for row in try formerRows(search.query, search.groups, store)
            where !known.contains(row.kept) {
                guard let item = try item(row, fitting: search.query, store) else { continue }
                known.insert(row.kept)
                found.append(item)
            }
        }
        return found.sorted { $0.kept > $1.kept }
    }

    /// Opens the row of a former value that was read before; its value may stay closed.
    ///
    /// - Returns: nil if it is gone.
    fileprivate func open(
        _ item: FormerItem, _ store: RowConnection, _ proof: PresenceProof?
    ) throws(SystemError) -> OpenedRow? {
        guard let former = try store.formerRow(item.kept, hasher) else { return nil }
        guard let row = former.sound, let known = item.item else { throw .row(.damagedSeal) }
        return row.header.reference == known.reference ? try open(row, proof) : nil
    }

    /// What a former row had, without its value; nil if it does not match `query` after all.
    fileprivate func item(
        _ former: FormerRow, fitting query: ItemQuery, _ store: RowConnection
    ) throws(SystemError) -> FormerItem? {
        guard let row = former.sound,
            let content = try unlessDamaged({ () throws(SystemError) in
                try cipher(opening: row.header).openContent(row)
            })
        else {
            let hasItem = try former.place.map { (place) throws(SystemError) in
                try store.hasItem(place)
            }
            return FormerItem(
                kept: former.kept, reason: .damaged, item: nil,
                name: former.place.map(FormerName.init), hasItem: hasItem ?? false)
        }
        guard try query.fits(content) else { return nil }
        return FormerItem(
            kept: former.kept, reason: former.reason,
            item: StoredItem(row, content, value: nil), name: former.place.map(FormerName.init),
            hasItem: false)
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
