// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing

/// spec/secitem.md §6.
extension ItemStore {
    private static let updating = "update items"

    /// Changes every item that matches, or none. Every change of an item that requires the user's
    /// presence needs a proof.
    ///
    /// - Returns: How many items were changed.
    /// - Throws: ``KeychainFailure``: `duplicateItem` if a primary key is taken, `damaged` if a
    ///   match is damaged, `missingEntitlement`, `valueTooLarge`, `passcodeNotSet`; for a new
    ///   access control, as ``add(_:for:_:)``.
    package func update(
        _ update: ItemUpdate, for caller: Caller, _ person: PresenceAccess
    ) throws(KeychainFailure) -> ItemResult<Int> {
        let isSmall = update.query.namesOneItem && update.fields.isEmpty
        let byteCount = isSmall ? update.value?.byteCount ?? 0 : nil
        let result = try shareWrite(
            Self.updating, byteCount: byteCount
        ) { (rows) throws(KeychainFailure) in
            try ItemTransaction(rows, caller, person).update(update)
        }
        return result ?? .absent
    }
}

/// An update of the items that a query finds.
package struct ItemUpdate: Sendable {
    /// The items to change.
    package let query: ItemQuery
    /// The new attributes.
    package let changes: ItemChanges
    /// The new value; nil keeps the value of each item.
    package let value: SecretValue?
    /// Changes of fields; the others stay.
    package let fields: [FieldChange]

    package init(
        query: ItemQuery, changes: ItemChanges, value: SecretValue?, fields: [FieldChange] = []
    ) {
        self.query = query
        self.changes = changes
        self.value = value
        self.fields = fields
    }
}

extension ItemTransaction {
    fileprivate func update(_ update: ItemUpdate) throws(KeychainFailure) -> ItemResult<Int> {
        let (query, changes) = (update.query, update.changes)
        let groups = try caller.groups(changing: query.accessGroup, during: operation)
        if let group = changes.accessGroup {
            _ = try caller.group(writing: group, during: operation)
        }
        try check(byteCount: update.value?.byteCount)
        if let new = changes.accessControl {
            try check(new, isSynchronizable: changes.isSynchronizable ?? false)
        }
        let matches = try judgedMatches(query, groups)
        // Nothing has been written yet.
        if let demand = matches.demand { return .needsPerson(demand) }
        let demand = try rows.passwordDemand(matches.rows, changes, value: update.value)
        if let demand { return .needsPerson(demand) }
        for match in matches.rows {
            let value = try newValue(of: match, update.value, update.fields)
            try self.update(match, changes, value: value)
        }
        return matches.rows.isEmpty ? .absent : .found(matches.rows.count)
    }

    /// Opens all rows that match, and collects the demands of those that need the user.
    ///
    /// - Throws: ``KeychainFailure/Code/damaged`` if one of them is damaged.
    private func judgedMatches(
        _ query: ItemQuery, _ groups: [AccessGroup]
    ) throws(KeychainFailure) -> (rows: [OpenedRow], demand: PresenceDemand?) {
        var matches: [OpenedRow] = []
        var demands: [PresenceDemand] = []
        for opened in try openMatches(query, groups).items {
            switch try rows.judge(opened) {
            case .found where !opened.isClosed: matches.append(opened)
            case .found:
                // The value is closed. An update without it would lose the value.
                if let demand = try translating(
                    opened.content.accessControl, during: operation)
                {
                    demands.append(.proofs([demand]))
                }
            case .absent: break
            case .needsPerson(let demand): demands.append(demand)
            }
        }
        return (matches, PresenceDemand(demands))
    }

    /// What an item has after a change of its value, of its fields, or of both; nil if it keeps
    /// what it has.
    ///
    /// - Throws: ``KeychainFailure``: `invalidRequest` for fields of an item without a value, and
    ///   for too many; `valueTooLarge`.
    func newValue(
        of match: OpenedRow, _ value: SecretValue?, _ changes: [FieldChange] = []
    ) throws(KeychainFailure) -> ItemValue? {
        guard value != nil || !changes.isEmpty else { return nil }
        guard match.row.header.flags.contains(.fields) || !changes.isEmpty else {
            return value.map { ItemValue($0) }
        }
        guard !match.row.header.flags.isGuarded else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "a secret that requires the user or a password has no fields",
                hint: "store the fields as a secret of their own")
        }
        let old = try translating(match.itemValue, during: operation)
        guard let present = value ?? old?.value else {
            throw KeychainFailure(
                .invalidRequest, during: operation, message: "an item without a value has no fields"
            )
        }
        guard let fields = (old?.fields ?? EntryFields()).applying(changes) else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "a secret has at most \(EntryFields.maximalCount) fields")
        }
        let new = ItemValue(present, fields)
        try check(byteCount: new.sealedByteCount)
        return new
    }

    /// The fields of an item that is about to get a new value.
    func fields(of old: OpenedRow) throws(KeychainFailure) -> EntryFields {
        guard old.row.header.flags.contains(.fields) else { return EntryFields() }
        return try translating(old.itemValue, during: operation)?.fields ?? EntryFields()
    }

    /// Changes one item, and keeps the value that it had.
    func update(
        _ match: OpenedRow, _ changes: ItemChanges, value: ItemValue?
    ) throws(KeychainFailure) {
        if let value { try keepFormerValue(of: match, replacedBy: value) }
        try change(match, changes, value: value)
    }

    /// Changes one item, whose value is kept or not needed.
    func change(
        _ match: OpenedRow, _ changes: ItemChanges, value: ItemValue?
    ) throws(KeychainFailure) {
        let header = match.row.header
        var new = match.content.applying(changes)
        if let value { new.note(value) }
        var flags = header.flags
        if let isSynchronizable = changes.isSynchronizable {
            if isSynchronizable {
                flags.insert(.synchronizable)
            } else {
                flags.remove(.synchronizable)
            }
        }
        let item = rows.hashed(new, header.itemClass, flags)
        let keepsKey = keepsKey(match, item)
        let predecessor =
            keepsKey
            ? Predecessor()
            : try rows.makeWay(
                for: item, header.itemClass, isSynchronizable: flags.contains(.synchronizable))
        var content = new
        let last = keepsKey ? match.content.modificationDate : predecessor.modificationDate
        content.attributes[.modificationDate] = .date(rows.now.date(after: last))
        flags.setGuard(try accessControl(of: content, in: flags))
        let kind = RowKind(
            protectionClass: changes.newClass ?? header.protectionClass, flags: flags)
        var old = match.row
        old.logicalTime = max(old.logicalTime, predecessor.logicalTime)
        try rows.replace(
            old, kind, IndexedContent(content, item.index),
            value: try rows.stored(match, changes, value: value?.sealedForm))
        if !keepsKey { try markDeletion(match) }
    }

    /// The access control of a row with `flags`. It decides how the value is sealed.
    private func accessControl(
        of content: ItemContent, in flags: RowFlags
    ) throws(KeychainFailure) -> AccessControl? {
        let known = try translating(content.accessControl, during: operation)
        guard let accessControl = known else { return nil }
        guard !flags.contains(.synchronizable) else {
            throw KeychainFailure(
                .invalidRequest, during: operation,
                message: "an item with an access control cannot be synchronizable")
        }
        return accessControl
    }

    /// Whether an item has the same primary key as the row that it replaces.
    private func keepsKey(_ match: OpenedRow, _ item: IndexedContent) -> Bool {
        item.index.place == match.row.place
    }
}

extension ItemChanges {
    /// The new class of the items; nil if they keep theirs.
    fileprivate var newClass: ProtectionClass? {
        accessControl?.protectionClass ?? protectionClass
    }
}

extension ItemContent {
    /// The content after an update. The caller sets the date of modification.
    fileprivate func applying(_ changes: ItemChanges) -> ItemContent {
        let own: [Attribute] = [.modificationDate, .fieldCount]
        var new = self
        for (attribute, value) in changes.attributes where !own.contains(attribute) {
            new.attributes[attribute] = value
        }
        if let accessControl = changes.accessControl {
            new.attributes[.accessControl] = accessControl.attributeValue
        } else if changes.protectionClass != nil {
            // A class alone takes the place of class and access control (spec/secitem.md §6).
            new.attributes[.accessControl] = nil
        }
        if let group = changes.accessGroup { new.accessGroup = group }
        return new
    }
}
