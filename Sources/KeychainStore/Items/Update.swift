// SPDX-License-Identifier: Apache-2.0

internal import ValetKeybag
internal import ValetKeychainKeys
package import ValetKeychainModel
package import ValetKeychainRows
internal import ValetSealing
package import ValetSecretMemory

/// spec/secitem.md §6.
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
        let update = ItemUpdate(query: query, changes: changes, value: value)
        return try self.update(update, for: caller, PersonAccess(.demanding)).get(Self.updating)
    }

    /// Like `update(_:_:value:for:)`, for a call that may bring a proof, which every change of
    /// an item that needs a person takes.
    ///
    /// - Throws: Like `update(_:_:value:for:)`; for a new access control, as ``add(_:for:_:)``.
    package func update(
        _ update: ItemUpdate, for caller: Caller, _ person: PersonAccess
    ) throws(KeychainFailure) -> Answer<Int> {
        let answer = try perform(.write, Self.updating, for: caller) { access in
            var access = access
            access.access = person
            return try access.update(update, for: caller)
        }
        guard let answer else { throw KeychainFailure(.itemNotFound, during: Self.updating) }
        if case .done(0) = answer { throw notFound(Self.updating) }
        return answer
    }
}

/// What an update is about.
package struct ItemUpdate: Sendable {
    /// Which items.
    package let query: ItemQuery
    /// What is set.
    package let changes: ItemChanges
    /// The new value; nil keeps what each item has.
    package let value: SecretValue?

    /// An update of what `query` finds.
    package init(query: ItemQuery, changes: ItemChanges, value: SecretValue?) {
        self.query = query
        self.changes = changes
        self.value = value
    }
}

extension RowTransaction {
    fileprivate func update(_ update: ItemUpdate, for caller: Caller) throws -> Answer<Int> {
        let (query, changes) = (update.query, update.changes)
        let groups = try caller.groups(changing: query.accessGroup, during: operation)
        if let group = changes.accessGroup {
            _ = try caller.group(writing: group, during: operation)
        }
        try check(update.value)
        if let new = changes.accessControl {
            try check(new, isSynchronizable: changes.isSynchronizable ?? false)
        }
        let matches = try openMatches(query, groups)
        // Nothing has been written yet.
        guard matches.demands.isEmpty else { return .authenticationRequired(matches.demands) }
        let demand = try passwordDemand(matches.rows, changes, value: update.value)
        if let demand { return .passwordRequired(demand) }
        for match in matches.rows { try self.update(match, changes, value: update.value) }
        return .done(matches.rows.count)
    }

    /// Opens all rows that match, and says what those demand that cannot be.
    ///
    /// - Throws: ``RowFailure`` if one of them is damaged.
    private func openMatches(
        _ query: ItemQuery, _ groups: [AccessGroup]
    ) throws -> (rows: [OpenedRow], demands: [AccessControl]) {
        var matches: [OpenedRow] = []
        var demands: [AccessControl] = []
        for found in try state.find(query, groups, store) {
            guard case .row(let row) = found else { throw RowFailure.column }
            let opened = try open(row)
            guard try query.fits(opened.content) else { continue }
            switch try verdict(on: opened) {
            case .open where !opened.isClosed: matches.append(opened)
            case .gone, .skipped: continue
            // Without its value an item would lose it.
            case .open, .demanded:
                guard let demand = try opened.content.accessControl else { continue }
                if !demands.contains(demand) { demands.append(demand) }
            }
        }
        return (matches, demands)
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
        let last = keepsKey ? match.content.modificationDate : predecessor.modificationDate
        content.attributes[.modificationDate] = .date(now.date(after: last))
        flags.setGuard(try content.guard(in: flags, operation))
        let kind = RowKind(
            protectionClass: changes.newClass ?? header.protectionClass, flags: flags)
        try replace(
            match.row, kind, IndexedContent(content, item.index),
            value: try stored(match, changes, value: value),
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

extension ItemChanges {
    /// The class that the items get, if they get another.
    fileprivate var newClass: ProtectionClass? {
        accessControl?.protectionClass ?? protectionClass
    }
}

extension ItemContent {
    /// What says how the value is to be sealed, in a row with `flags`.
    fileprivate func `guard`(
        in flags: RowFlags, _ operation: String
    ) throws -> AccessControl? {
        guard let accessControl = try accessControl else { return nil }
        guard !flags.contains(.synchronizable) else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "an item with an access control cannot be synchronizable")
        }
        return accessControl
    }

    /// The content after an update; dates of modification are the caller's concern.
    fileprivate func applying(_ changes: ItemChanges, valueByteCount: Int?) -> ItemContent {
        var new = self
        for (attribute, value) in changes.attributes where attribute != .modificationDate {
            new.attributes[attribute] = value
        }
        if let accessControl = changes.accessControl {
            new.attributes[.accessControl] = accessControl.attributeValue
        } else if changes.protectionClass != nil {
            // A class alone takes the place of class and access control (spec/secitem.md §6).
            new.attributes[.accessControl] = nil
        }
        if let group = changes.accessGroup { new.accessGroup = group }
        if let valueByteCount { new.valueByteCount = valueByteCount }
        return new
    }
}
