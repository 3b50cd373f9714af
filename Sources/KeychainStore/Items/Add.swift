// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainKeys
package import ValetKeychainModel
package import ValetKeychainRows
package import ValetSecretMemory

/// An item to add, with its value.
package struct Addition: Sendable {
    /// Class, attributes, group and protection.
    package let item: NewItem
    /// At most ``ItemStore/maximalValueByteCount`` bytes; nil for an item without a value.
    package let value: SecretValue?

    /// An item that is to be added.
    package init(_ item: NewItem, value: SecretValue?) {
        self.item = item
        self.value = value
    }

    var byteCount: Int { value?.byteCount ?? 0 }
}

/// spec/secitem.md §2, §3.9.
extension ItemStore {
    private static let adding = "add an item"
    private static let setting = "set an item"

    /// Adds an item to its group, or to the caller's default group.
    ///
    /// Under ``PersonAccess/Rule/demanding`` an item that has the primary key and needs a person
    /// takes a proof before it is called a duplicate (spec/secitem.md §10.4). An item that is bound
    /// to fingers which are enrolled no longer is replaced.
    ///
    /// - Returns: The item with all its attributes, without its value.
    /// - Throws: ``KeychainFailure``: `duplicateItem`, `missingEntitlement`, `valueTooLarge`;
    ///   `authenticationFailed` for an access control that cannot be met, or that is to be bound to
    ///   fingers and is not; `invalidRequest` for one of a synchronizable item; `passcodeNotSet`
    ///   for a class or an access control that needs a passcode.
    package func add(
        _ addition: Addition, for caller: Caller, _ person: PersonAccess
    ) throws(KeychainFailure) -> ItemResult<StoredItem> {
        let added = try perform(
            .create, Self.adding, for: caller, sharing: addition.byteCount
        ) { (access) -> ItemResult<StoredItem> in
            var access = access
            access.access = person
            do {
                return .found(try access.add(addition, for: caller))
            } catch let demand as PersonDemand {
                return .needsPerson(demand)
            }
        }
        guard let added else { throw KeychainFailure(.internalFault, during: Self.adding) }
        return added
    }

    /// Adds an item, or gives the one that has its primary key another value and nothing else, but
    /// for an access control that the addition has. Takes no proof: nothing is given out.
    ///
    /// - Throws: As ``add(_:for:_:)``; `duplicateItem` if that item has another protection class.
    package func set(
        _ addition: Addition, for caller: Caller
    ) throws(KeychainFailure) {
        _ = try perform(
            .create, Self.setting, for: caller, sharing: addition.byteCount
        ) { access in
            try access.set(addition, for: caller)
        }
    }
}

extension RowTransaction {
    /// Adds an item.
    func add(_ addition: Addition, for caller: Caller) throws -> StoredItem {
        try add(addition, prepare(addition, in: check(addition, for: caller)))
    }

    private func add(_ addition: Addition, _ prepared: IndexedContent) throws -> StoredItem {
        var prepared = prepared
        let existing = try row(
            of: prepared, addition.item.itemClass,
            isSynchronizable: addition.item.isSynchronizable)
        try demandProof(for: existing)
        try demandPassword(for: addition, over: existing)
        let predecessor = try makeWay(over: existing)
        if let date = predecessor.modificationDate {
            prepared.content.attributes[.modificationDate] = .date(now.date(after: date))
        }
        return try insert(addition, prepared, after: predecessor.logicalTime)
    }

    /// Adds an item or replaces the value of the one that is there.
    func set(_ addition: Addition, for caller: Caller) throws {
        let item = addition.item
        let group = try check(addition, for: caller)
        let existing = try row(
            item.itemClass, item.attributes, group: group,
            isSynchronizable: item.isSynchronizable)
        if case .row(let row)? = existing, !row.header.flags.contains(.tombstone),
            let old = try openIfTaken(row)
        {
            guard row.header.protectionClass == item.protectionClass else {
                throw KeychainFailure(
                    .duplicateItem, during: operation,
                    message: "an item of that name has another accessibility",
                    hint: "remove it first, or use its accessibility")
            }
            try replace(old, value: addition.value, item.accessControl)
            return
        }
        _ = try add(addition, prepare(addition, in: group))
    }

    private func replace(
        _ old: OpenedRow, value: SecretValue?, _ accessControl: AccessControl?
    ) throws {
        var content = old.content
        var kind = old.row.header.kind
        if let accessControl {
            content.attributes[.accessControl] = accessControl.attributeValue
            kind.flags.setGuard(accessControl)
        }
        content.valueByteCount = value?.byteCount
        content.attributes[.modificationDate] = .date(
            now.date(after: content.modificationDate))
        let item =
            state.isNewest(old.row.header)
            ? try IndexedContent(content, sameKeyAs: old.row)
            : hashed(content, old.row.header.itemClass, old.row.header.flags)
        let stored =
            kind.flags.contains(.password) ? try boxed(value, old.row.header) : value
        try replace(old.row, kind, item, value: stored)
    }

    /// Checks an addition; returns the group that it goes to.
    private func check(
        _ addition: Addition, for caller: Caller
    ) throws -> AccessGroup {
        let group = try caller.group(writing: addition.item.accessGroup, during: operation)
        try check(addition.value)
        // An unavailable class is reported before a duplicate: spec/secitem.md §3.10.
        _ = try state.cipher(addition.item.protectionClass, during: operation)
        if let accessControl = addition.item.accessControl {
            try check(accessControl, isSynchronizable: addition.item.isSynchronizable)
        }
        return group
    }

    /// Completes the attributes of an addition.
    private func prepare(_ addition: Addition, in group: AccessGroup) throws -> IndexedContent {
        let item = addition.item
        var attributes = item.attributes
        for attribute in item.itemClass.primaryKeyAttributes
        where attributes[attribute] == nil && !Attribute.variants.contains(attribute) {
            attributes[attribute] = attribute.defaultValue
        }
        attributes[.accessControl] = item.accessControl?.attributeValue
        attributes[.creationDate] = .date(now.date)
        attributes[.modificationDate] = .date(now.date)
        let content = ItemContent(
            accessGroup: group, attributes: attributes,
            valueByteCount: addition.value?.byteCount)
        return hashed(content, item.itemClass, item.isSynchronizable ? .synchronizable : [])
    }

    /// - Throws: ``KeychainFailure/Code/valueTooLarge``.
    func check(_ value: SecretValue?) throws(KeychainFailure) {
        guard (value?.byteCount ?? 0) <= ItemStore.maximalValueByteCount else {
            throw KeychainFailure(
                .valueTooLarge, during: operation,
                hint: "keep large data in a file of its own and its key here")
        }
    }

    /// Clears the place of a row that is about to be written: of a tombstone or a damaged row.
    ///
    /// - Returns: What the row that is written has to be later than.
    /// - Throws: ``KeychainFailure/Code/duplicateItem`` if a sound item is there.
    func makeWay(
        for item: IndexedContent, _ itemClass: ItemClass, isSynchronizable: Bool
    ) throws -> Predecessor {
        try makeWay(over: try row(of: item, itemClass, isSynchronizable: isSynchronizable))
    }

    private func makeWay(over existing: FoundRow?) throws -> Predecessor {
        guard let existing else { return Predecessor() }
        guard case .row(let row) = existing, let opened = try openIfTaken(row) else {
            try quarantine(existing)
            return Predecessor()
        }
        try checkIsGone(opened)
        try delete(row)
        return Predecessor(
            logicalTime: row.logicalTime, modificationDate: opened.content.modificationDate)
    }

    /// Before anything is written: whether the user has to be asked for a password, and not in
    /// vain, because of an item that is there.
    ///
    /// - Throws: ``PersonDemand/newPassword``; ``KeychainFailure/Code/duplicateItem``.
    private func demandPassword(for addition: Addition, over existing: FoundRow?) throws {
        guard addition.item.accessControl?.takesPassword == true, addition.value != nil,
            access.newPassword == nil
        else { return }
        if case .row(let row)? = existing, let opened = try openIfTaken(row) {
            try checkIsGone(opened)
        }
        throw PersonDemand.newPassword
    }

    /// - Throws: ``KeychainFailure/Code/duplicateItem`` unless it is a tombstone, or an item that
    ///   is as good as not there.
    private func checkIsGone(_ opened: OpenedRow) throws {
        if opened.row.header.flags.contains(.tombstone) { return }
        if case .absent = try judge(opened) { return }
        throw KeychainFailure(.duplicateItem, during: operation)
    }

    /// As ``openIfSound(_:)``; an item that is locked has its place, whatever is in it: the class
    /// that is written is open, so that one has another.
    private func openIfTaken(_ row: SealedRow) throws -> OpenedRow? {
        do throws(RowFailure) {
            return try openIfSound(row)
        } catch {
            guard !row.header.flags.contains(.tombstone) else { throw error }
            throw KeychainFailure(.duplicateItem, during: operation)
        }
    }

    private func insert(
        _ addition: Addition, _ prepared: IndexedContent, after logicalTime: Int64
    ) throws -> StoredItem {
        let (item, content) = (addition.item, prepared.content)
        let row = try insert(
            item.itemClass,
            RowKind(
                protectionClass: item.protectionClass,
                flags: RowFlags(
                    isSynchronizable: item.isSynchronizable, guardedBy: item.accessControl)),
            prepared, value: addition.value, after: logicalTime)
        return StoredItem(
            itemClass: item.itemClass, reference: row.header.reference,
            accessGroup: content.accessGroup, isSynchronizable: item.isSynchronizable,
            protectionClass: item.protectionClass, attributes: content.attributes,
            valueByteCount: content.valueByteCount, value: nil)
    }
}

extension Moment {
    /// The modification date of what is written now in the place of what was modified `last`: the
    /// present, or a millisecond after `last` if the clock seems to stand still (spec/secitem.md
    /// §2.5). A date that is more than a second ahead is a mistake of the clock then or now, and
    /// is not continued: the logical time orders the writes.
    func date(after last: Double?) -> Double {
        guard let last, last >= date, last - date < 1 else { return date }
        return last + 0.001
    }
}

/// The tombstone in whose place a row is written; empty without a tombstone.
struct Predecessor {
    var logicalTime: Int64 = 0
    var modificationDate: Double?
}

extension ItemContent {
    var modificationDate: Double? {
        guard case .date(let date)? = attributes[.modificationDate] else { return nil }
        return date
    }
}
