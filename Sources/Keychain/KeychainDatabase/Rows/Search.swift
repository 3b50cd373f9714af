// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
package import ValetKeychainModel
internal import ValetSealing
package import ValetSystem

extension RowKeys {
    /// The rows that match `query` as far as unopened rows show.
    package func find(
        _ query: ItemQuery, _ groups: [AccessGroup], _ store: RowConnection
    ) throws(SystemError) -> [FoundRow] {
        if let reference = query.reference {
            return try find(reference, query, groups, store)
        }
        var rows: [FoundRow] = []
        for group in groups {
            let hasItem = query.limit == 1 && !rows.isEmpty
            rows += try Search(query, in: group, hasher, self).rows(store, hasItem: hasItem)
        }
        return rows
    }

    /// The numbers of possible matches, group by group, rising in each; up to `limit` in each.
    ///
    /// Not for queries by a reference or a primary key, which have few matches.
    package func candidates(
        _ query: ItemQuery, _ groups: [AccessGroup], _ store: RowConnection, limit: Int = .max
    ) throws(SystemError) -> [Int64] {
        var numbers: [Int64] = []
        for group in groups {
            numbers += try Search(query, in: group, hasher, self)
                .candidates(store, limit: limit).sorted()
        }
        return numbers
    }

    /// Whether at most `count` rows may match, with at most `byteCount` bytes together. Reads none
    /// of them.
    package func areFew(
        _ query: ItemQuery, _ groups: [AccessGroup], _ store: RowConnection, count: Int,
        byteCount: Int
    ) throws(SystemError) -> Bool {
        var numbers: [Int64] = []
        if let reference = query.reference {
            numbers = Self.number(of: reference).map { [$0] } ?? []
        } else {
            numbers = try candidates(query, groups, store, limit: count + 1)
        }
        guard numbers.count <= count else { return false }
        var sum = 0
        for number in numbers {
            let run = try store.byteCount.start()
            try run.bind(number, at: 1)
            guard try run.step() else { continue }
            // A damaged row may pretend to any size.
            let (total, isTooLarge) = sum.addingReportingOverflow(Int(clamping: run.int64(0)))
            guard !isTooLarge, total <= byteCount else { return false }
            sum = total
        }
        return true
    }

    /// nil for a reference that no row has.
    private static func number(of reference: PersistentReference) -> Int64? {
        var reader = ByteReader(reference.itemID, malformed: SystemError.row(.damagedContent))
        return (try? reader.integer(UInt64.self)).map { Int64(bitPattern: $0) }
    }

    /// The searches for `query`, one for each group.
    package func searches(_ query: ItemQuery, _ groups: [AccessGroup]) -> [Search] {
        groups.map { Search(query, in: $0, hasher, self) }
    }

    /// The row of that number, if one of `searches` matches it; nil if there is no such row.
    package func find(
        _ number: Int64, by searches: [Search], _ store: RowConnection
    ) throws(SystemError) -> FoundRow? {
        let run = try store.byNumber.start()
        try run.bind(number, at: 1)
        guard try run.step() else { return nil }
        return judged(try FoundRow(run), by: searches)
    }

    /// Whether there is a row of that number.
    package func hasRow(_ number: Int64, _ store: RowConnection) throws(SystemError) -> Bool {
        let run = try store.byNumber.start()
        try run.bind(number, at: 1)
        return try run.step()
    }

    /// A row that may match; nil for another item.
    ///
    /// Nobody has authenticated its columns yet, and a changed one would hide it. So a row that an
    /// index or a reference led to is ruled out only after its names have opened.
    private func judged(_ found: FoundRow, by searches: [Search]) -> FoundRow? {
        guard case .row(let row) = found, !searches.contains(where: { $0.matches(row) }) else {
            return found
        }
        return isForged(row) ? .damaged(number: found.number) : nil
    }

    /// The numbers of all rows, those of deleted items included.
    package func allNumbers(_ store: RowConnection) throws(SystemError) -> [Int64] {
        let run = try store.numbers.start()
        var numbers: [Int64] = []
        while try run.step() {
            let number = run.int64(0)
            guard numbers.last.map({ $0 < number }) ?? true else {
                throw SystemError(.corrupt, during: "list all rows", path: store.connection.path)
            }
            numbers.append(number)
        }
        return numbers
    }

    /// The item in the row of that number, whatever group it is in; nil if there is none.
    package func item(
        _ number: Int64, _ store: RowConnection
    ) throws(SystemError) -> FoundRow? {
        let run = try store.byNumber.start()
        try run.bind(number, at: 1)
        guard try run.step() else { return nil }
        let found = try FoundRow(run)
        guard case .row(let row) = found, row.header.flags.contains(.tombstone) else {
            return found
        }
        // An attacker with write access may mark an item as deleted, to hide it.
        return isForged(row) ? .damaged(number: number) : nil
    }

    private func find(
        _ reference: PersistentReference, _ query: ItemQuery, _ groups: [AccessGroup],
        _ store: RowConnection
    ) throws(SystemError) -> [FoundRow] {
        guard let number = Self.number(of: reference) else { return [] }
        let run = try store.byNumber.start()
        try run.bind(number, at: 1)
        guard try run.step() else { return [] }
        let found = try FoundRow(run)
        // A later item may have the number, or an item of another group the id.
        let isOther = found.itemID.map { $0 != reference.itemID } ?? false
        return judged(found, by: isOther ? [] : searches(query, groups)).map { [$0] } ?? []
    }

    /// Whether the names in a row prove that its columns were changed. False if the key of its
    /// class is not open.
    package func isForged(_ row: SealedRow) -> Bool {
        do {
            _ = try cipher(examining: row.header).openContent(row)
            return false
        } catch {
            return error.isDamage
        }
    }
}

/// A query in one access group, as the hashes that find its rows.
package struct Search {
    let query: ItemQuery
    /// The group that is searched.
    package let group: AccessGroup
    private let state: RowKeys
    private let groupHash: IndexHash
    private let hashed: [(attribute: Attribute, value: AttributeValue, hash: IndexHash)]
    /// The hashes of the lookup attributes that the query names.
    private let lookups: [IndexHash]
    /// The hashes of the primary key, for each requested value of the synchronizable flag; empty
    /// unless the query names all of a primary key.
    private let keys: [(place: ItemPlace, plain: IndexHash)]

    init(
        _ query: ItemQuery, in group: AccessGroup, _ hasher: IndexHasher, _ state: RowKeys
    ) {
        self.query = query
        self.group = group
        self.state = state
        let itemClass = query.itemClass
        groupHash = hasher.group(group, itemClass)
        let plain = query.attributes.filter {
            $0.key.isHashed && $0.key != .lookupAttributes
        }
        hashed = plain.map { attribute, value in
            let hash = hasher.attribute(attribute, value, itemClass, group: group)
            return (attribute, value, hash)
        }
        lookups =
            LookupAttributes(query.attributes[.lookupAttributes]).map {
                hasher.lookupHashes($0, group: group)
            } ?? []
        let flags = query.namesPrimaryKey ? query.synchronizable.flags : []
        keys = flags.map { flag in
            (
                hasher.place(itemClass, query.attributes, group: group, isSynchronizable: flag),
                hasher.plainKey(
                    itemClass, query.attributes, group: group, isSynchronizable: flag)
            )
        }
    }

    /// Runs the statement that leaves the fewest rows to look at.
    ///
    /// - Parameter hasItem: Whether the one requested item was found before. Then it can be read
    ///   even if the indexes to other items are damaged.
    func rows(_ store: RowConnection, hasItem: Bool) throws(SystemError) -> [FoundRow] {
        do {
            return try rows(store)
        } catch .corrupt where hasItem {
            return []
        }
    }

    private func rows(_ store: RowConnection) throws(SystemError) -> [FoundRow] {
        let place = hash(of: query.itemClass.placeAttribute)
        guard hash(of: .account) != nil, place != nil, !keys.isEmpty else {
            return try rows(route(store), store)
        }
        var all: [FoundRow] = []
        for key in keys {
            all += try named(key.place, store)
            // Otherwise a query that names a hint or a token would find its item twice.
            let known = Set(all.map(\.number))
            let hasItem = query.limit == 1 && !known.isEmpty
            let others = try variants(of: key.plain, store, hasItem: hasItem)
            all += others.filter { !known.contains($0.number) }
        }
        return all
    }

    /// The row with that primary key.
    private func named(
        _ place: ItemPlace, _ store: RowConnection
    ) throws(SystemError) -> [FoundRow] {
        let run = try store.byPrimaryKey.start()
        try run.bind(place)
        guard try run.step() else { return [] }
        return judged(try FoundRow(run), on: place.hashes, trustingHashes: false).map { [$0] } ?? []
    }

    /// Items with a view hint or a token whose other parts of the primary key match.
    private func variants(
        of plainKey: IndexHash, _ store: RowConnection, hasItem: Bool
    ) throws(SystemError) -> [FoundRow] {
        do {
            return try rows(Route(store.numbersByAttribute, [plainKey]), store)
        } catch .corrupt where hasItem {
            return []
        }
    }

    /// The rows that a route leads to, rising by their numbers.
    private func rows(
        _ route: Route, _ store: RowConnection
    ) throws(SystemError) -> [FoundRow] {
        var rows: [FoundRow] = []
        var last: Int64?
        for number in try route.numbers(limit: .max).sorted() {
            let run = try store.byNumber.start()
            try run.bind(number, at: 1)
            // An index names each row once, and no row that is not there.
            if number != last, try run.step() {
                if let row = judged(try FoundRow(run), on: route.hashes) { rows.append(row) }
            } else {
                rows.append(.damaged(number: number))
            }
            last = number
        }
        return rows
    }

    /// Starts a search for former rows that may match.
    func startFormer(_ store: RowConnection) throws(SystemError) -> Statement.Run {
        let account = hash(of: .account)
        let run = try (account == nil ? store.formerByGroup : store.formerByAccount).start()
        try run.bind(account ?? groupHash, at: 1)
        return run
    }

    /// Whether a former row that was found by this search's hash of the account or the group may
    /// match: a damaged one counts if the columns that can be read do not exclude it.
    func mayFind(_ former: FormerRow) -> Bool {
        guard case .row(let row) = former.row else {
            guard let place = former.place, let hash = hash(of: query.itemClass.placeAttribute)
            else { return true }
            return place.service.service == hash
        }
        guard isIndexed(row) else { return false }
        return former.sound == nil || isSort(row.header) || state.isForged(row)
    }

    /// The numbers of possible matches, unordered, up to `limit`.
    package func candidates(
        _ store: RowConnection, limit: Int
    ) throws(SystemError) -> [Int64] {
        try route(store).numbers(limit: limit)
    }

    /// The route that leaves the fewest rows to look at.
    private func route(_ store: RowConnection) throws(SystemError) -> Route {
        if let account = hash(of: .account) {
            return Route(store.numbersByAccount, [groupHash, account])
        }
        if let lookup = try rarestLookup(store) {
            return Route(store.numbersByAttribute, [lookup])
        }
        let place = hash(of: query.itemClass.placeAttribute)
        // A server has few passwords. A service may have many, and then a label leaves fewer.
        if let place, query.itemClass == .internetPassword {
            return Route(store.numbersByPlace, [groupHash, place])
        }
        let rare = hashed.first { entry in
            !isColumn(entry.attribute) && !entry.attribute.matchesDefault(entry.value)
        }
        if let rare { return Route(store.numbersByAttribute, [rare.hash]) }
        if let place { return Route(store.numbersByPlace, [groupHash, place]) }
        return Route(store.numbersByGroup, [groupHash])
    }

    /// The lookup attribute that the fewest items have; nil if the query names none.
    private func rarestLookup(_ store: RowConnection) throws(SystemError) -> IndexHash? {
        guard lookups.count > 1 else { return lookups.first }
        // Most searches have an attribute of few items: those of others are not all counted.
        let few = 64
        if let rare = try rarestLookup(store, below: few) { return rare }
        return try rarestLookup(store, below: .max)
    }

    /// The lookup attribute that the fewest items have, and fewer than `limit`.
    private func rarestLookup(
        _ store: RowConnection, below limit: Int
    ) throws(SystemError) -> IndexHash? {
        var rarest: (hash: IndexHash?, count: Int) = (nil, limit)
        for hash in lookups {
            // Counting stops at the lowest count so far.
            let count = try Route(store.numbersByAttribute, [hash])
                .numbers(limit: rarest.count).count
            if count < rarest.count { rarest = (hash, count) }
        }
        return rarest.hash
    }

    /// A statement that finds the numbers of rows by hashes that each of these rows has.
    private struct Route {
        private let statement: Statement
        let hashes: [IndexHash]

        init(_ statement: Statement, _ hashes: [IndexHash]) {
            (self.statement, self.hashes) = (statement, hashes)
        }

        /// The numbers, unordered, up to `limit`.
        func numbers(limit: Int) throws(SystemError) -> [Int64] {
            let run = try statement.start()
            for (index, hash) in hashes.enumerated() { try run.bind(hash, at: Int32(index + 1)) }
            var numbers: [Int64] = []
            while numbers.count < limit, try run.step() { numbers.append(run.int64(0)) }
            return numbers
        }
    }

    private func hash(of attribute: Attribute) -> IndexHash? {
        hashed.first { $0.attribute == attribute }?.hash
    }

    /// A row that an index led to by these hashes; nil for another item.
    ///
    /// A row without the hashes contradicts the index: one of them was changed. A row that only its
    /// class or flags rule out is opened first, because nobody has authenticated these.
    ///
    /// - Parameter trustsHashes: Whether a row that its other hashes rule out stays closed, because
    ///   a search meets too many of them.
    private func judged(
        _ found: FoundRow, on road: [IndexHash], trustingHashes trustsHashes: Bool = true
    ) -> FoundRow? {
        guard case .row(let row) = found, !matches(row) else { return found }
        // All hashes of a query depend on the group.
        let isContradiction = row.groupHash != groupHash || !road.allSatisfy(row.has)
        guard isContradiction || (!trustsHashes || isIndexed(row)) && state.isForged(row) else {
            return nil
        }
        return .damaged(number: found.number)
    }

    /// Whether a row matches, as far as its columns show.
    func matches(_ row: SealedRow) -> Bool { isSort(row.header) && isIndexed(row) }

    /// Whether a row's columns name the requested sort of item.
    private func isSort(_ header: RowHeader) -> Bool {
        header.itemClass == query.itemClass && !header.flags.contains(.tombstone)
            && (query.protectionClass == nil || query.protectionClass == header.protectionClass)
            && query.synchronizable.flags.contains(header.flags.contains(.synchronizable))
    }

    /// Whether a row has the requested hashes.
    private func isIndexed(_ row: SealedRow) -> Bool {
        guard row.groupHash == groupHash else { return false }
        guard !lookups.isEmpty || hashed.contains(where: { !isColumn($0.attribute) }) else {
            return hashed.allSatisfy { column($0.attribute, of: row) == $0.hash }
        }
        guard let others = try? OtherHashes(row.hashes) else { return true }
        guard lookups.allSatisfy(others.contains) else { return false }
        return hashed.allSatisfy { attribute, value, hash in
            if isColumn(attribute) { return column(attribute, of: row) == hash }
            guard let stored = others.hash(tagged: attribute.tag) else {
                return attribute.matchesDefault(value)
            }
            return stored == hash
        }
    }

    private func isColumn(_ attribute: Attribute) -> Bool {
        attribute == .account || attribute == query.itemClass.placeAttribute
    }

    private func column(_ attribute: Attribute, of row: SealedRow) -> IndexHash {
        attribute == .account ? row.header.accountHash : row.serviceHash
    }
}

/// A row that a search has found.
package enum FoundRow {
    case row(SealedRow)
    /// A row with columns that no writer writes.
    case damaged(number: Int64)

    /// Reads the row that `run` is at.
    ///
    /// - Throws: ``SystemError/Code/outOfMemory`` if too little memory is left to open the row's
    ///   value and return it.
    package init(_ run: borrowing Statement.Run) throws(SystemError) {
        // A value under a password is opened twice.
        let flags = RowFlags(column: run.int64(Schema.Column.flags))
        let copyCount = flags?.contains(.password) == true ? 4 : 3
        guard SpareMemory.has(copyCount, copiesOf: run.byteCount(Schema.Column.secret)) else {
            throw SystemError(.outOfMemory, during: "read an item")
        }
        do {
            self = .row(try SealedRow(run))
        } catch {
            self = .damaged(number: run.int64(Schema.Column.number))
        }
    }

    /// The row's number, whatever else is wrong with it.
    package var number: Int64 {
        switch self {
        case .row(let row): row.header.number
        case .damaged(let number): number
        }
    }

    /// The id of the row's item; nil if the row's columns are damaged.
    fileprivate var itemID: [UInt8]? {
        guard case .row(let row) = self else { return nil }
        return row.header.itemID
    }
}

extension ItemPlace {
    fileprivate var hashes: [IndexHash] {
        [service.group, service.service, service.place, account]
    }
}

extension SealedRow {
    /// How many lookup attributes the item has, as its columns show; nil if they are damaged.
    package var lookupCount: Int? {
        try? OtherHashes(hashes).count { IndexHasher.lookupTags.contains($0.tag) }
    }

    /// Whether a search by `hash` should lead to the row.
    fileprivate func has(_ hash: IndexHash) -> Bool {
        [groupHash, serviceHash, header.placeHash, header.accountHash].contains(hash)
            || (try? OtherHashes(hashes))?.contains(hash) == true
    }
}

extension Attribute {
    /// Whether a search for `value` finds an item that has this attribute at its default.
    func matchesDefault(_ value: AttributeValue) -> Bool {
        guard let defaultValue else { return false }
        return matches(value, defaultValue)
    }
}

extension ItemQuery {
    /// Whether the query names all of a primary key, hint and token aside.
    package var namesPrimaryKey: Bool {
        itemClass.primaryKeyAttributes.allSatisfy { attribute in
            Attribute.variants.contains(attribute) || attributes[attribute] != nil
        }
    }
}

extension ItemQuery.Synchronizable {
    /// The requested values of the flag.
    package var flags: [Bool] {
        switch self {
        case .localOnly: [false]
        case .synchronizedOnly: [true]
        case .any: [false, true]
        }
    }
}
