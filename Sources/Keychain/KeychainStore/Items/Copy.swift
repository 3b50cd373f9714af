// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainDatabase
package import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

extension ItemStore {
    private static let copying = "read items"

    /// The items that match: at least one, at most the query's limit.
    ///
    /// They come group by group, in the order of the caller's groups; within a group, in the order
    /// in which they were added. If the query names a whole primary key, the local item comes
    /// before the synchronized one, and each comes before those that also have a view hint or a
    /// token. Damaged rows do not count towards the limit.
    ///
    /// Values of items that require the user's presence are not given out under
    /// ``PresenceAccess/Rule/naming``: do not ask for them.
    ///
    /// - Throws: ``KeychainFailure``: `damaged` if nothing but damaged items matches, `locked`,
    ///   `missingEntitlement`.
    package func copy(
        _ query: ItemQuery, _ parts: ItemParts, for caller: Caller, _ access: PresenceAccess
    ) throws(KeychainFailure) -> ItemResult<FoundItems<StoredItem>> {
        let groups = try caller.groups(searching: query.accessGroup, during: Self.copying)
        let result = try readRows(Self.copying) { (snapshot) throws(KeychainFailure) in
            do throws(SystemError) {
                let rows = try snapshot.state.find(query, groups, snapshot.store)
                snapshot.end()
                return try RowOpener(
                    query: query, parts: parts, state: snapshot.state, access: access
                ).open(rows)
            } catch {
                throw KeychainFailure(error, during: Self.copying)
            }
        }
        // Throws if nothing but damaged items matches.
        if case .found(let found)? = result { _ = try found.hasItem() }
        return result ?? .absent
    }

    /// Whether an item matches; opens only what it must, and does not ask the user.
    ///
    /// An item that is bound to fingers counts as present until `enrolment` says that others are
    /// enrolled. If `enrolment` is unknown, the result is a demand to find out.
    package func contains(
        _ query: ItemQuery, for caller: Caller, enrolment: PresenceAccess.Enrolment
    ) throws(KeychainFailure) -> ItemResult<Bool> {
        var query = query
        query.limit = 1
        let access = PresenceAccess(.naming, enrolment: enrolment)
        let result = try copy(query, [], for: caller, access).map { _ in true }
        if case .absent = result { return .found(false) }
        return result
    }

    /// The value of the first item that matches; nil for an item without a value.
    ///
    /// - Throws: As ``copy(_:_:for:_:)``; `damaged` also if a damaged item comes before it.
    package func value(
        of query: ItemQuery, for caller: Caller, _ access: PresenceAccess
    ) throws(KeychainFailure) -> ItemResult<SecretValue?> {
        var query = query
        query.limit = 1
        return try copy(query, .value, for: caller, access).map {
            (found) throws(KeychainFailure) in try found.items.first?.value
        }
    }
}

/// Several items in one transaction.
extension ItemStore {
    private static let readingSeveral = "read several items"
    private static let settingSeveral = "set several items"

    /// The values of the items with these accounts, all from one snapshot.
    ///
    /// - Returns: By account; items that do not exist or have no value are left out.
    /// - Throws: ``KeychainFailure``: `damaged` if one of them cannot be read, `locked`,
    ///   `interactionNotAllowed` if one requires the user's presence, `missingEntitlement`.
    package func values(
        of accounts: Set<String>, in service: PasswordService, for caller: Caller
    ) throws(KeychainFailure) -> [String: SecretValue] {
        let groups = try caller.groups(searching: service.accessGroup, during: Self.readingSeveral)
        let found = try readRows(Self.readingSeveral) { (snapshot) throws(KeychainFailure) in
            let state = snapshot.state
            var rows: [(query: ItemQuery, found: [FoundRow])] = []
            for account in accounts {
                let query = PasswordName(account, in: service).query
                let found = try translating(
                    state.find(query, groups, snapshot.store), during: Self.readingSeveral)
                rows.append((query, found))
            }
            snapshot.end()
            var values: [String: SecretValue] = [:]
            for (account, row) in zip(accounts, rows) {
                let opener = RowOpener(
                    query: row.query, parts: .value, state: state,
                    access: PresenceAccess(.demanding))
                switch try translating(opener.open(row.found), during: Self.readingSeveral) {
                case .found(let found): values[account] = try found.items.first?.value
                case .absent: break
                case .needsPerson(let demand):
                    throw KeychainFailure(demand, during: Self.readingSeveral)
                }
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
        _ = try writeRows(Self.settingSeveral, creating: true) {
            (rows) throws(KeychainFailure) in
            let items = ItemTransaction(rows, caller)
            for addition in additions { try items.set(addition) }
        }
    }
}

/// Opens what a search found, as far as the call needs it, and compares it with the query again.
struct RowOpener {
    let query: ItemQuery
    let parts: ItemParts
    let state: RowKeys
    let access: PresenceAccess

    private typealias Opened = Result<ItemResult<StoredItem>, SystemError>

    /// Opening this many rows takes ten times as long as starting a thread.
    private static let pieceCount = 128

    /// Opens rows until the query's limit is reached.
    ///
    /// - Throws: ``SystemError``: `lockedRow` if the key of one of them is not open.
    func open(_ rows: [FoundRow]) throws(SystemError) -> ItemResult<FoundItems<StoredItem>> {
        // A value may be large, and is opened once.
        guard rows.count > Self.pieceCount, query.limit == nil, !parts.contains(.value) else {
            return try joined(rows.lazy.map(opened))
        }
        // A second thread helps, because opening takes longer than all else.
        let opening = ParallelMap { (rows: ArraySlice<FoundRow>) in rows.map(opened) }
        for start in stride(from: 0, to: rows.count, by: Self.pieceCount) {
            opening.add(rows[start...].prefix(Self.pieceCount))
        }
        return try joined(opening.finish().joined())
    }

    private func opened(_ row: FoundRow) -> Opened {
        Result { () throws(SystemError) in
            guard case .row(let row) = row else { throw .row(.damagedColumn) }
            return try open(row)
        }
    }

    private func joined(
        _ all: some Sequence<Opened>
    ) throws(SystemError) -> ItemResult<FoundItems<StoredItem>> {
        var (items, damage) = ([StoredItem](), KeychainFailure?.none)
        var demands: [PresenceDemand] = []
        let limit = query.limit ?? .max
        var rows = all.makeIterator()
        while items.count + demands.count < limit, let row = rows.next() {
            do throws(SystemError) {
                switch try row.get() {
                case .found(let item): items.append(item)
                case .absent: break
                case .needsPerson(let demand): demands.append(demand)
                }
            } catch {
                guard error.isDamage else { throw error }
                damage = damage ?? KeychainFailure(error, during: "open an item")
            }
        }
        if let demand = PresenceDemand(demands) { return .needsPerson(demand) }
        return items.isEmpty && damage == nil
            ? .absent : .found(FoundItems(items, damage: damage))
    }

    /// - Returns: `absent` also for a row that does not match after all.
    func open(_ row: SealedRow) throws(SystemError) -> ItemResult<StoredItem> {
        let cipher = try state.cipher(opening: row.header)
        let content = try cipher.openContent(row)
        try compare(content)
        guard fits(content) else { return .absent }
        if let pair = row.header.flags.presence, let accessControl = try content.accessControl {
            let recipient = cipher.recipients[pair]
            switch access.judge(accessControl, sealedTo: pair, of: recipient) {
            case .found: break
            case .absent: return .absent
            case .needsPerson(let demand): return .needsPerson(demand)
            }
        }
        guard parts.contains(.value), let secret = row.secret else {
            return .found(StoredItem(row, content, value: nil))
        }
        let stored = try cipher.openValue(ValueParts(row), secret.span, access.proof)
        guard !row.header.flags.contains(.password) else {
            return try open(cipher.box(stored, row.header, content), in: row, content)
        }
        let value = try content.value(sealedAs: stored)
        if row.header.flags.presence != nil, access.rule == .demanding,
            let tag = try? PartTag(of: secret)
        {
            // Only here does a sufficient proof release the value.
            access.proof?.grant(tag)
        }
        return .found(StoredItem(row, content, value: value))
    }

    private func open(
        _ box: PasswordBox, in row: SealedRow, _ content: ItemContent
    ) throws(SystemError) -> ItemResult<StoredItem> {
        guard let password = access.password(for: box.lock) else {
            return access.skipsPasswords ? .absent : .needsPerson(.passwords([box.lock]))
        }
        let value = ItemValue(try box.open(with: password))
        return .found(StoredItem(row, content, value: value))
    }

    /// A hash said that these attributes match; if they do not, the row was tampered with.
    private func compare(_ content: ItemContent) throws(SystemError) {
        for (attribute, wanted) in query.attributes where attribute.isHashed {
            guard let stored = content.attributes[attribute] ?? attribute.defaultValue,
                attribute.finds(wanted, in: stored)
            else { throw .row(.damagedContent) }
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
