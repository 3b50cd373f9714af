// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainKeys
package import ValetKeychainModel
package import ValetKeychainRows
package import ValetSecretMemory
internal import ValetSystem

/// What a search found.
package struct FoundItems: Sendable {
    /// What could be opened, in the order of ``ItemStore/copy(_:_:for:)``.
    package var items: [StoredItem] = []
    /// Set when rows that matched are damaged; they are not among the items.
    package var damage: KeychainFailure?
    /// What those that were not opened demand; each once.
    var demands: [AccessControl] = []
    /// What passwords have to open.
    var locks: [PasswordLock] = []
    /// How many were not opened for what they demand.
    var closedCount = 0

    /// Counts an item that was not opened.
    mutating func demand(_ accessControl: AccessControl) {
        closedCount += 1
        if !demands.contains(accessControl) { demands.append(accessControl) }
    }

    /// Counts an item whose password is not here.
    mutating func demand(_ lock: PasswordLock) {
        closedCount += 1
        locks.append(lock)
    }
}

extension ItemStore {
    private static let copying = "read items"
    static let reading = "read an item"

    /// The items that match: at least one, at most the query's limit.
    ///
    /// They come group by group, in the order of the caller's groups; in each in the order of
    /// adding. Where the query names all of a primary key, the local item comes before the
    /// synchronized one, and each before those that have a view hint or a token, too.
    ///
    /// - Throws: ``KeychainFailure``: `itemNotFound` if none matches, `damaged` if nothing but
    ///   damaged items does, `missingEntitlement`; `interactionNotAllowed` if one needs a person.
    package func copy(
        _ query: ItemQuery, _ parts: ItemParts, for caller: Caller
    ) throws(KeychainFailure) -> FoundItems {
        try copy(query, parts, for: caller, PersonAccess(.demanding)).get(Self.copying)
    }

    /// Like `copy(_:_:for:)`, for a call that may bring a proof.
    ///
    /// Values of items that need a person are not given out under ``PersonAccess/Rule/naming``:
    /// do not ask for them.
    package func copy(
        _ query: ItemQuery, _ parts: ItemParts, for caller: Caller, _ access: PersonAccess
    ) throws(KeychainFailure) -> Answer<FoundItems> {
        let groups = try caller.groups(searching: query.accessGroup, during: Self.copying)
        let found = try perform(.read, Self.copying) { snapshot in
            let rows = try snapshot.state.find(query, groups, snapshot.store)
            snapshot.end()
            return try RowOpener(query: query, parts: parts, state: snapshot.state, access: access)
                .open(rows)
        }
        guard let found, !found.items.isEmpty || found.closedCount > 0 else {
            if let damage = found?.damage { throw damage }
            // A caller that asks only whether there is one needs no reasons.
            throw parts.isEmpty
                ? KeychainFailure(.itemNotFound, during: Self.copying) : notFound(Self.copying)
        }
        guard found.demands.isEmpty else { return .authenticationRequired(found.demands) }
        guard found.locks.isEmpty else { return .passwordRequired(.existing(found.locks)) }
        return .done(found)
    }

    /// Whether an item matches; opens nothing that it need not open, and needs no user.
    ///
    /// - Throws: `interactionNotAllowed` for an item that is bound to fingers.
    package func contains(
        _ query: ItemQuery, for caller: Caller
    ) throws(KeychainFailure) -> Bool {
        try contains(query, for: caller, enrolment: .unknown).get(Self.copying)
    }

    /// Like `contains(_:for:)`, for a call that may know which fingers are enrolled.
    ///
    /// An item that is bound to fingers is there until ``PersonAccess/enrolment`` says that others
    /// are enrolled. A caller that does not know gets the demand to look.
    package func contains(
        _ query: ItemQuery, for caller: Caller, enrolment: PersonAccess.Enrolment
    ) throws(KeychainFailure) -> Answer<Bool> {
        var query = query
        query.limit = 1
        let access = PersonAccess(.naming, enrolment: enrolment)
        do throws(KeychainFailure) {
            switch try copy(query, [], for: caller, access) {
            case .done: return .done(true)
            case .authenticationRequired(let demands): return .authenticationRequired(demands)
            case .passwordRequired(let demand): return .passwordRequired(demand)
            }
        } catch {
            if error.code == .itemNotFound { return .done(false) }
            throw error
        }
    }

    /// The value of the first item that matches.
    ///
    /// - Returns: nil for an item without a value.
    /// - Throws: As ``copy(_:_:for:)``.
    package func value(
        of query: ItemQuery, for caller: Caller
    ) throws(KeychainFailure) -> SecretValue? {
        try value(of: query, for: caller, PersonAccess(.demanding)).get(Self.reading)
    }

    /// Like `value(of:for:)`, for a call that may bring a proof.
    package func value(
        of query: ItemQuery, for caller: Caller, _ access: PersonAccess
    ) throws(KeychainFailure) -> Answer<SecretValue?> {
        var query = query
        query.limit = 1
        switch try copy(query, .value, for: caller, access) {
        case .done(let found): return .done(found.items.first?.value)
        case .authenticationRequired(let demands): return .authenticationRequired(demands)
        case .passwordRequired(let demand): return .passwordRequired(demand)
        }
    }
}

/// Several items in one transaction.
extension ItemStore {
    private static let readingSeveral = "read several items"
    private static let settingSeveral = "set several items"

    /// The values of the items of these names, all as they were at one moment.
    ///
    /// - Returns: By account; an item that is not there, or has no value, is missing.
    /// - Throws: ``KeychainFailure``: `damaged` if one of them cannot be read, `locked`,
    ///   `interactionNotAllowed` if one needs a person, `missingEntitlement`.
    package func values(
        of accounts: Set<String>, in service: PasswordService, for caller: Caller
    ) throws(KeychainFailure) -> [String: SecretValue] {
        let groups = try caller.groups(searching: service.accessGroup, during: Self.readingSeveral)
        let found = try perform(.read, Self.readingSeveral) { snapshot in
            let state = snapshot.state
            var rows: [(query: ItemQuery, found: [FoundRow])] = []
            for account in accounts {
                let query = PasswordName(account, in: service).query
                rows.append((query, try state.find(query, groups, snapshot.store)))
            }
            snapshot.end()
            var values: [String: SecretValue] = [:]
            for (account, row) in zip(accounts, rows) {
                let opened = try RowOpener(
                    query: row.query, parts: .value, state: state, access: PersonAccess(.demanding)
                ).open(row.found)
                guard opened.closedCount == 0 else { throw RowFailure.needsPerson }
                if let damage = opened.damage, opened.items.isEmpty { throw damage }
                values[account] = opened.items.first?.value
            }
            return values
        }
        return found ?? [:]
    }

    /// Sets all items as ``set(_:for:)`` sets one, or does nothing.
    ///
    /// - Throws: As ``set(_:for:)``.
    package func set(
        _ additions: [Addition], for caller: Caller
    ) throws(KeychainFailure) {
        guard !additions.isEmpty else { return }
        _ = try perform(.create, Self.settingSeveral, for: caller) { access in
            for addition in additions { try access.set(addition, for: caller) }
        }
    }
}

/// Opens what a search found, as far as the call needs it, and compares it with the query again.
struct RowOpener {
    let query: ItemQuery
    let parts: ItemParts
    let state: RowKeys
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
