// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing

/// An item to add, with its value.
package struct Addition: Sendable {
    /// Class, attributes, group and protection.
    package var item: NewItem
    /// At most ``ItemStore/maximalValueByteCount`` bytes; nil for an item without a value.
    package let value: SecretValue?
    /// The fields beside the value, which are all of its fields from now on; nil to keep those of
    /// an item that is there already.
    package private(set) var fields: EntryFields?
    /// The item whose fields it gets in place of ``fields``, in an ``ItemTransfer``.
    let fieldsOrigin: ItemVersion?

    package init(_ item: NewItem, value: SecretValue?, fields: EntryFields? = nil) {
        self.item = item
        self.value = value
        self.fields = fields
        fieldsOrigin = nil
    }

    /// An item that gets the fields of another one, if that has some.
    package init(_ item: NewItem, value: SecretValue?, fieldsOf origin: ItemVersion?) {
        (self.item, self.value, fieldsOrigin) = (item, value, origin)
    }

    /// The addition with these fields.
    func with(_ fields: EntryFields) -> Addition {
        Addition(item, value: value, fields: fields)
    }

    var byteCount: Int { itemValue?.sealedByteCount ?? 0 }

    /// What a new item gets.
    fileprivate var itemValue: ItemValue? { value.map { ItemValue($0, fields ?? EntryFields()) } }
}

/// spec/secitem.md §2, §3.9.
extension ItemStore {
    private static let adding = "add an item"
    private static let setting = "set an item"

    /// Adds an item to its group, or to the caller's default group.
    ///
    /// If an item with the primary key exists and requires the user's presence, the call needs a
    /// proof before it reports the duplicate, under ``PresenceAccess/Rule/demanding``
    /// (spec/secitem.md §10.4). An item that is bound to fingers that are no longer enrolled is
    /// replaced.
    ///
    /// - Returns: The item with all its attributes, without its value.
    /// - Throws: ``KeychainFailure``: `duplicateItem`, `missingEntitlement`, `valueTooLarge`;
    ///   `authenticationFailed` for an access control that can never be met, or that requires the
    ///   enrolled fingers if there are none; `invalidRequest` for an access control of a
    ///   synchronizable item; `passcodeNotSet` for a class or an access control that needs a
    ///   passcode.
    package func add(
        _ addition: Addition, for caller: Caller, _ person: PresenceAccess
    ) throws(KeychainFailure) -> ItemResult<StoredItem> {
        let added = try shareWrite(
            Self.adding, creating: true, byteCount: addition.byteCount
        ) { (rows) throws(KeychainFailure) in
            try ItemTransaction(rows, caller, person).add(addition)
        }
        guard let added else { throw KeychainFailure(.internalFault, during: Self.adding) }
        return added
    }

    /// Adds an item. If items with its primary key and protection class exist, in its group or,
    /// without one, in any group that the caller may write, changes only their values, and their
    /// access control if the addition has one. Where such an item is damaged, sets it aside and
    /// adds the item in its place. Needs no proof, because it reveals nothing.
    ///
    /// - Throws: As ``add(_:for:_:)``; `duplicateItem` if the only item is in the group of a new
    ///   one and has another protection class.
    package func set(
        _ addition: Addition, for caller: Caller
    ) throws(KeychainFailure) {
        _ = try shareWrite(
            Self.setting, creating: true, byteCount: addition.byteCount
        ) { (rows) throws(KeychainFailure) in
            try ItemTransaction(rows, caller).set(addition)
        }
    }
}

extension ItemTransaction {
    /// Adds an item.
    ///
    /// - Returns: The item, or what the user has to provide first. In the second case nothing has
    ///   been written.
    func add(_ addition: Addition) throws(KeychainFailure) -> ItemResult<StoredItem> {
        let prepared = try prepare(addition, in: check(addition))
        return try add(addition, prepared, over: rows.row(prepared.index.place))
    }

    /// - Parameter existing: The row in the item's place; nil if there is none.
    private func add(
        _ addition: Addition, _ prepared: IndexedContent, over existing: FoundRow?
    ) throws(KeychainFailure) -> ItemResult<StoredItem> {
        var prepared = prepared
        var demand = try demandedProof(for: existing)
        if demand == nil { demand = try demandedPassword(for: addition, existing) }
        if let demand { return .needsPerson(demand) }
        let predecessor = try rows.makeWay(over: existing)
        if let date = predecessor.modificationDate {
            prepared.content.attributes[.modificationDate] = .date(rows.now.date(after: date))
        }
        return .found(try insert(addition, prepared, after: predecessor.logicalTime))
    }

    /// Adds an item, or replaces the values of those that exist (spec/secitem.md §5.2).
    func set(_ addition: Addition) throws(KeychainFailure) {
        let own = try check(addition)
        let groups = try caller.groups(changing: addition.item.accessGroup, during: operation)
        var isSet = false
        for group in groups.filter({ $0 != own }) + [own] {
            let place = place(of: addition.item, in: group)
            let existing = try rows.row(place)
            switch try replace(existing, by: addition) {
            case .item: isSet = true
            case .otherItem where group == own && !isSet:
                throw KeychainFailure(
                    .duplicateItem, during: operation,
                    message: "an item of that name has another accessibility",
                    hint: "remove it first, or use its accessibility")
            case .nothing where group != own || isSet, .otherItem: break
            case .nothing, .damage:
                // A damaged item of any group may be the one that a reader finds first.
                let prepared = prepare(addition, in: group, at: place)
                try checkThatNothingIsNeeded(add(addition, prepared, over: existing))
                isSet = true
            }
        }
    }

    /// What is in the place of an item that is to be set.
    private enum Occupant {
        /// The item.
        case item
        /// An item of another protection class.
        case otherItem
        /// Nothing, or a tombstone.
        case nothing
        /// A row that is damaged, whatever it says it is.
        case damage
    }

    private func place(of item: NewItem, in group: AccessGroup) -> ItemPlace {
        state.hasher.place(
            item.itemClass, item.attributes, group: group, isSynchronizable: item.isSynchronizable)
    }

    /// Replaces the value of the item in a row; changes nothing else.
    ///
    /// - Returns: What was in the row.
    private func replace(
        _ existing: FoundRow?, by addition: Addition
    ) throws(KeychainFailure) -> Occupant {
        guard let existing else { return .nothing }
        guard case .row(let row) = existing else { return .damage }
        let isTombstone = row.header.flags.contains(.tombstone)
        guard !isTombstone, row.header.protectionClass == addition.item.protectionClass else {
            if state.isForged(row) { return .damage }
            return isTombstone ? .nothing : .otherItem
        }
        guard let old = try rows.openIfTaken(row) else { return .damage }
        var fields = addition.fields ?? EntryFields()
        if addition.fields == nil { fields = try self.fields(of: old) }
        let value = addition.value.map { ItemValue($0, fields) }
        try check(byteCount: value?.sealedByteCount)
        try keepFormerValue(of: old, replacedBy: value)
        try replace(old, value: value, addition.item.accessControl)
        return .item
    }

    /// Adds an item for a call that cannot ask for anything.
    func addWithoutAsking(_ addition: Addition) throws(KeychainFailure) {
        try checkThatNothingIsNeeded(add(addition))
    }

    private func checkThatNothingIsNeeded(
        _ result: ItemResult<StoredItem>
    ) throws(KeychainFailure) {
        guard case .needsPerson(let demand) = result else { return }
        throw KeychainFailure(demand, during: operation)
    }

    private func replace(
        _ old: OpenedRow, value: ItemValue?, _ accessControl: AccessControl?
    ) throws(KeychainFailure) {
        var content = old.content
        var kind = old.row.header.kind
        if let accessControl {
            content.attributes[.accessControl] = accessControl.attributeValue
            kind.flags.setGuard(accessControl)
        }
        content.note(value)
        content.attributes[.modificationDate] = .date(
            rows.now.date(after: content.modificationDate))
        let item: IndexedContent
        do {
            item = try IndexedContent(content, sameKeyAs: old.row)
        } catch {
            throw KeychainFailure(error, during: operation)
        }
        let stored =
            kind.flags.contains(.password)
            ? try rows.boxed(value?.value, old.row.header) : value?.sealedForm
        try rows.replace(old.row, kind, item, value: stored)
    }

    /// Checks an addition; returns the group that it goes to.
    private func check(_ addition: Addition) throws(KeychainFailure) -> AccessGroup {
        let group = try caller.group(writing: addition.item.accessGroup, during: operation)
        try check(byteCount: addition.byteCount)
        try check(addition.item.protectionClass)
        if let accessControl = addition.item.accessControl {
            try check(accessControl, isSynchronizable: addition.item.isSynchronizable)
        }
        return group
    }

    /// Completes the attributes of an addition.
    private func prepare(
        _ addition: Addition, in group: AccessGroup, at place: ItemPlace? = nil
    ) -> IndexedContent {
        let item = addition.item
        var attributes = item.attributes
        for attribute in item.itemClass.primaryKeyAttributes
        where attributes[attribute] == nil && !Attribute.variants.contains(attribute) {
            attributes[attribute] = attribute.defaultValue
        }
        attributes[.accessControl] = item.accessControl?.attributeValue
        attributes[.creationDate] = .date(rows.now.date)
        attributes[.modificationDate] = .date(rows.now.date)
        var content = ItemContent(
            accessGroup: group, attributes: attributes, valueByteCount: nil)
        content.note(addition.itemValue)
        return rows.hashed(
            content, item.itemClass, item.isSynchronizable ? .synchronizable : [], at: place)
    }

    /// The demand for the password of the new value; nil if it needs none, or the call has one.
    ///
    /// - Throws: ``KeychainFailure/Code/duplicateItem``.
    private func demandedPassword(
        for addition: Addition, _ existing: FoundRow?
    ) throws(KeychainFailure) -> PresenceDemand? {
        guard addition.item.accessControl?.takesPassword == true, addition.value != nil,
            rows.access.newPassword == nil
        else { return nil }
        if case .row(let row)? = existing, let opened = try rows.openIfTaken(row) {
            try rows.checkIsGone(opened)
        }
        return .newPassword
    }

    private func insert(
        _ addition: Addition, _ prepared: IndexedContent, after logicalTime: Int64
    ) throws(KeychainFailure) -> StoredItem {
        let item = addition.item
        let row = try rows.insert(
            item.itemClass,
            RowKind(
                protectionClass: item.protectionClass,
                flags: RowFlags(
                    isSynchronizable: item.isSynchronizable, guardedBy: item.accessControl)),
            prepared, value: addition.itemValue?.sealedForm, after: logicalTime)
        return StoredItem(row, prepared.content, value: nil)
    }
}

extension Moment {
    /// The modification date of a write that replaces an item of date `last`: the present, or a
    /// millisecond after `last` if that is later (spec/secitem.md §2.5). If `last` is more than a
    /// second ahead, the clock was or is wrong, so the present is used: the logical time orders the
    /// writes.
    package func date(after last: Double?) -> Double {
        guard let last, last + 0.001 > date, last - date < 1 else { return date }
        return last + 0.001
    }
}
