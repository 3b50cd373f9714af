// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
package import ValetKeychainModel
internal import ValetKeys
package import ValetSealing
package import ValetSystem

// Table `former`: the rows that items had before (docs/FORMAT.md §8). Rows come into it as they
// are, so that keeping a value needs neither its key nor its user. For example, `valet set` over a
// row with number 7 and version 3 copies that row; then row 7 in table `item` gets version 4.

/// A row that an item had before.
package struct FormerRow {
    /// When it came into the table: milliseconds since 1970, with 16 more bits for the order. Names
    /// the row.
    package let kept: Int64
    /// `damaged` also for a row whose seal is wrong.
    package let reason: FormerReason
    /// Whether the row was damaged when it came into the table, so that its damage is known.
    package let isSetAside: Bool
    /// The name that the row's columns say; nil if they cannot be read.
    package let place: ItemPlace?
    /// The row as it was.
    package var row: FoundRow

    /// The row, if it may be opened.
    package var sound: SealedRow? {
        guard reason != .damaged, case .row(let row) = row else { return nil }
        return row
    }

    init(_ row: SealedRow, kept: Int64, _ reason: FormerReason) {
        (self.row, self.kept, self.reason) = (.row(row), kept, reason)
        isSetAside = reason == .damaged
        place = row.place
    }

    /// Reads the row that `run` is at, whose statement selects all columns of `former`.
    package init(
        _ run: borrowing Statement.Run, _ hasher: IndexHasher
    ) throws(SystemError) {
        kept = run.int64(Schema.Column.kept)
        row = try FoundRow(run)
        place = ItemPlace(
            run, from: Schema.Column.groupHash, account: Schema.Column.accountHash)
        let known = UInt8(exactly: run.int64(Schema.Column.reason)).flatMap(FormerReason.init)
        isSetAside = known == .damaged
        // No writer keeps a tombstone.
        guard case .row(let row) = row, let reason = known, !isSetAside,
            !row.header.flags.contains(.tombstone),
            let seal: IndexHash = try? run.fixedBytes(Schema.Column.seal),
            hasher.seal(of: row, kept: kept, reason) == seal
        else {
            reason = .damaged
            return
        }
        self.reason = reason
    }
}

extension ItemPlace {
    /// Reads the hashes of a place from column `first` on, and that of an account; nil if one of
    /// them has a wrong length.
    fileprivate init?(
        _ run: borrowing Statement.Run, from first: Int32, account: Int32
    ) {
        guard let group: IndexHash = try? run.fixedBytes(first),
            let service: IndexHash = try? run.fixedBytes(first + 1),
            let place: IndexHash = try? run.fixedBytes(first + 2),
            let account: IndexHash = try? run.fixedBytes(account)
        else { return nil }
        self.init(
            service: ServiceHashes(group: group, service: service, place: place), account: account)
    }
}

extension IndexHasher {
    /// Binds order and reason of a former row to its sealed parts. The tags stand for the parts.
    fileprivate func seal(of row: SealedRow, kept: Int64, _ reason: FormerReason) -> IndexHash {
        var parts = LengthPrefixed(reservingByteCount: 128)
        parts.append(UInt64(bitPattern: kept))
        parts.append(reason.rawValue)
        parts.append(row.nonce)
        for part in [row.names, row.secret].compactMap(\.self) {
            parts.append(Array(part.suffix(AEAD.tagByteCount)))
        }
        return former.indexHash(appending: parts)
    }
}

extension RowConnection {
    /// The former rows of one name, the newest first.
    package func formerRows(
        of place: ItemPlace, _ hasher: IndexHasher
    ) throws(SystemError) -> [FormerRow] {
        let run = try formerByName.start()
        try run.bind(place.account, at: 1)
        try run.bind(place.service.place, at: 2)
        return try rows(run, hasher)
    }

    /// The former row that was kept at that time.
    package func formerRow(
        _ kept: Int64, _ hasher: IndexHasher
    ) throws(SystemError) -> FormerRow? {
        let run = try formerFrom.start()
        try run.bind(kept, at: 1)
        guard try run.step(), run.int64(Schema.Column.kept) == kept else { return nil }
        return try FormerRow(run, hasher)
    }

    /// The former rows from that time on, the oldest first, with about `byteCount` bytes of values;
    /// none after the last one.
    package func formerRows(
        from kept: Int64, byteCount: Int, _ hasher: IndexHasher
    ) throws(SystemError) -> [FormerRow] {
        let run = try formerFrom.start()
        try run.bind(kept, at: 1)
        var (found, left) = ([FormerRow](), byteCount)
        while left > 0, try run.step() {
            let row = try FormerRow(run, hasher)
            left -= 256 + (row.sound?.secret?.count ?? 0)
            found.append(row)
        }
        return found
    }

    /// Whether an item has that name, damaged or not.
    package func hasItem(_ place: ItemPlace) throws(SystemError) -> Bool {
        let run = try byPrimaryKey.start()
        try run.bind(place)
        guard try run.step() else { return false }
        let flags = RowFlags(rawValue: UInt32(truncatingIfNeeded: run.int64(Schema.Column.flags)))
        return !flags.contains(.tombstone)
    }

    /// The name that the columns of a row say; nil if they cannot be read.
    fileprivate func place(ofRow number: Int64) throws(SystemError) -> ItemPlace? {
        let run = try placeOfRow.start()
        try run.bind(number, at: 1)
        return try run.step() ? ItemPlace(run, from: 0, account: 3) : nil
    }

    fileprivate func rows(
        _ run: borrowing Statement.Run, _ hasher: IndexHasher
    ) throws(SystemError) -> [FormerRow] {
        var found: [FormerRow] = []
        while try run.step() { found.append(try FormerRow(run, hasher)) }
        return found
    }
}

extension RowKeys {
    /// The former rows of the items that `query` describes, whatever class they had; the newest of
    /// each group first. Damaged ones are among them if they may match.
    package func formerRows(
        _ query: ItemQuery, _ groups: [AccessGroup], _ store: RowConnection
    ) throws(SystemError) -> [FormerRow] {
        var query = query
        query.protectionClass = nil
        var found: [FormerRow] = []
        for search in searches(query, groups) {
            let run = try search.startFormer(store)
            found += try store.rows(run, hasher).filter(search.mayFind)
        }
        guard let reference = query.reference else { return found }
        // A damaged one may have it.
        return found.filter { $0.sound.map { $0.header.reference == reference } ?? true }
    }
}

extension RowTransaction {
    /// A year in milliseconds. A row from later than that counts only if its seal proves it.
    private static let farAhead: Int64 = 366 * 86_400_000 << 16
    /// 30 days.
    private static let replacedTime: Int64 = 30 * 86_400_000 << 16

    /// Copies a row into table `former`, as it is. Returns the row's `kept`.
    @discardableResult
    package func keep(_ row: SealedRow, _ reason: FormerReason) throws(KeychainFailure) -> Int64 {
        try translating(operation) { () throws(SystemError) in try copyToFormer(row, reason) }
    }

    /// As ``keep(_:_:)``.
    @discardableResult
    package func copyToFormer(
        _ row: SealedRow, _ reason: FormerReason
    ) throws(SystemError) -> Int64 {
        let kept = try nextKept(of: row.place)
        try put(FormerRow(row, kept: kept, reason))
        return kept
    }

    /// Deletes the oldest former rows of a name above the limit, but neither the one that was just
    /// added, unless the limit is 0, nor the oldest value of the last 30 days that another device
    /// replaced.
    package func dropFormer(
        of place: ItemPlace, beyond limit: Int, sparing added: Int64
    ) throws(KeychainFailure) {
        try translating(operation) { () throws(SystemError) in
            let run = try writer.dropOldFormer.start()
            try run.bind(place.account, at: 1)
            try run.bind(place.service.place, at: 2)
            try run.bind(Int64(limit), at: 3)
            try run.bind(now.logicalTime - Self.replacedTime, at: 4)
            try run.bind(added, at: 5)
            try run.finish()
        }
    }

    /// Deletes the former rows of a name, and those of the item that has it now.
    package func dropFormer(of row: SealedRow) throws(KeychainFailure) {
        try translating(operation) { () throws(SystemError) in
            let run = try writer.purgeFormer.start()
            try run.bind(row.header.accountHash, at: 1)
            try run.bind(row.header.placeHash, at: 2)
            try run.bind(row.header.number, at: 3)
            try run.bind(row.header.salt, at: 4)
            try run.finish()
        }
    }

    /// Deletes the former row that was kept at that time, and all that have its name.
    package func dropFormer(namedLike kept: Int64) throws(KeychainFailure) {
        try translating(operation) { () throws(SystemError) in
            let run = try writer.dropNamedFormer.start()
            try run.bind(kept, at: 1)
            try run.finish()
        }
    }

    /// Deletes the former row that was kept at that time.
    package func dropFormer(_ kept: Int64) throws(KeychainFailure) {
        try translating(operation) { () throws(SystemError) in
            let run = try writer.dropFormer.start()
            try run.bind(kept, at: 1)
            try run.finish()
        }
    }

    /// What other devices replaced, the oldest first, with the sizes of the sealed values.
    package func replacedRows() throws(KeychainFailure) -> [(kept: Int64, byteCount: Int)] {
        try translating(operation) { () throws(SystemError) in
            let run = try store.replaced.start()
            var rows: [(kept: Int64, byteCount: Int)] = []
            while try run.step() { rows.append((run.int64(0), Int(clamping: run.int64(1)))) }
            return rows
        }
    }

    /// Adds a former row that was no row of this keychain. It gets a later `kept` if its own is in
    /// use.
    ///
    /// - Returns: Its `kept`.
    @discardableResult
    package func insertFormer(
        _ itemClass: ItemClass, _ kind: RowKind, _ item: IndexedContent, value: SecretValue?,
        _ former: (kept: Int64?, reason: FormerReason)
    ) throws(KeychainFailure) -> Int64 {
        let row = try newRow(itemClass, kind, item, value: value, after: 0)
        return try translating(operation) { () throws(SystemError) in
            let kept =
                if let kept = former.kept {
                    try free(from: kept)
                } else {
                    try nextKept(of: item.index.place)
                }
            try put(FormerRow(row, kept: kept, former.reason))
            return kept
        }
    }

    /// Moves a damaged row unchanged into table `former`, to make way for a new row.
    package func setAside(_ row: FoundRow) throws(KeychainFailure) {
        try translating(operation) { () throws(SystemError) in
            try copyDamagedToFormer(row.number)
            // The row's list of hashes may be the damaged part.
            for statement in [writer.deleteAttributes, writer.delete] {
                let run = try statement.start()
                try run.bind(row.number, at: 1)
                try run.finish()
            }
        }
    }

    private func copyDamagedToFormer(_ number: Int64) throws(SystemError) {
        let place = try store.place(ofRow: number)
        let run = try store.byNumber.start()
        try run.bind(number, at: 1)
        if try run.step() { try copyDamagedToFormer(run, of: place) }
    }

    /// Copies the damaged row that `run` is at into table `former`. Its statement selects all
    /// columns of `item`, and may select the hashes of the row's place.
    ///
    /// - Parameter place: The name of the row; nil if its columns say none.
    package func copyDamagedToFormer(
        _ run: borrowing Statement.Run, of place: ItemPlace?
    ) throws(SystemError) {
        let insertion = try writer.putAnyFormer.start()
        try insertion.bindColumns(of: run)
        if let place {
            for (index, hash) in place.service.all.enumerated() {
                try insertion.bind(hash, at: Schema.Column.groupHash + Int32(index) + 1)
            }
            try insertion.bind(place.account, at: Schema.Column.accountHash + 1)
        }
        try insertion.bind(nextKept(of: place), at: Schema.Column.kept + 1)
        try insertion.bind(Int64(FormerReason.damaged.rawValue), at: Schema.Column.reason + 1)
        try insertion.finish()
    }

    /// Gives the former rows of an item its new primary key, and a class that is no weaker than the
    /// item's. Rows that do not open in this call stay as they are.
    func moveFormer(
        of old: SealedRow, to item: IndexedContent, _ kind: RowKind
    ) throws(KeychainFailure) {
        let found = try translating(
            store.formerRows(of: old.place, state.hasher), during: operation)
        for former in found {
            guard let row = former.sound, let opened = try openable(row) else { continue }
            var content = opened.content
            content.accessGroup = item.content.accessGroup
            for attribute in row.header.itemClass.primaryKeyAttributes {
                content.attributes[attribute] = item.content.attributes[attribute]
            }
            var new = row.header.kind
            new.protectionClass = new.protectionClass.strengthened(by: kind.protectionClass)
            if let accessControl = try translating(content.accessControl, during: operation) {
                content.attributes[.accessControl] =
                    accessControl.with(new.protectionClass).attributeValue
            }
            new.flags.remove(.synchronizable)
            new.flags.formUnion(kind.flags.intersection(.synchronizable))
            try put(former, sealing: opened, content, new)
        }
    }

    /// For a key change: seals a former row that the keys of the former epoch have opened.
    package func sealAnew(_ former: FormerRow, _ opened: OpenedRow) throws(KeychainFailure) {
        try put(former, sealing: opened, opened.content, opened.row.header.kind)
    }

    /// Notes that a former row does not open.
    package func markDamaged(_ former: FormerRow) throws(KeychainFailure) {
        try translating(operation) { () throws(SystemError) in
            let run = try writer.markDamaged.start()
            try run.bind(former.kept, at: 1)
            try run.finish()
        }
    }

    /// What is in a row; nil for one that is damaged or locked, or that needs the user.
    private func openable(_ row: SealedRow) throws(KeychainFailure) -> OpenedRow? {
        guard !state.isLocked(row.header) else { return nil }
        let opened = try openIfSound(row)
        return opened?.isClosed == true ? nil : opened
    }

    private func put(
        _ former: FormerRow, sealing opened: OpenedRow, _ content: ItemContent, _ kind: RowKind
    ) throws(KeychainFailure) {
        var header = opened.row.header
        let item = hashed(content, header.itemClass, kind.flags)
        header.protectionClass = kind.protectionClass
        header.flags = kind.flags
        header.epoch = state.epoch.keys.epoch
        header.placeHash = item.index.place.service.place
        header.accountHash = item.index.place.account
        let cipher = try translating(state.cipher(kind.protectionClass), during: operation)
        let row = try cipher.seal(
            header, content, item.index, value: opened.value,
            logicalTime: opened.row.logicalTime)
        try translating(
            put(FormerRow(row, kept: former.kept, former.reason)), during: operation)
    }

    private func put(_ former: FormerRow) throws(SystemError) {
        guard case .row(let row) = former.row else { return }
        let run = try writer.putFormer.start()
        try row.bind(to: run)
        for (index, hash) in row.place.service.all.enumerated() {
            try run.bind(hash, at: Schema.Column.groupHash + Int32(index) + 1)
        }
        try run.bind(former.kept, at: Schema.Column.kept + 1)
        try run.bind(Int64(former.reason.rawValue), at: Schema.Column.reason + 1)
        if !former.isSetAside {
            let seal = state.hasher.seal(of: row, kept: former.kept, former.reason)
            try run.bind(seal, at: Schema.Column.seal + 1)
        }
        try run.finish()
    }

    /// The `kept` of the next former row of a name: the time, or one more than the greatest one of
    /// that name. A damaged row that claims a time far ahead does not count.
    private func nextKept(of place: ItemPlace?) throws(SystemError) -> Int64 {
        guard let place else { return try free(from: now.logicalTime) }
        let run = try writer.lastKept.start()
        try run.bind(place.account, at: 1)
        try run.bind(place.service.place, at: 2)
        try run.bind(now.logicalTime, at: 3)
        while try run.step() {
            let former = try FormerRow(run, state.hasher)
            if former.sound != nil || former.kept < now.logicalTime + Self.farAhead {
                return try free(from: following(former.kept))
            }
        }
        return try free(from: now.logicalTime)
    }

    /// The first `kept` from that one on that no row has.
    private func free(from kept: Int64) throws(SystemError) -> Int64 {
        var free = kept
        while true {
            let run = try writer.formerAt.start()
            try run.bind(free, at: 1)
            guard try run.step() else { return free }
            free = try following(free)
        }
    }
}

extension Int64 {
    /// The next number; nil after the last one.
    package var successor: Int64? { self < .max ? self + 1 : nil }
}

extension ProtectionClass {
    /// The weakest class that is in no respect weaker than the two.
    fileprivate func strengthened(by other: ProtectionClass) -> ProtectionClass {
        let isBound = isThisDeviceOnly || other.isThisDeviceOnly
        return switch max(strength, other.strength) {
        case 0: isBound ? .alwaysThisDeviceOnly : .always
        case 1: isBound ? .afterFirstUnlockThisDeviceOnly : .afterFirstUnlock
        case 2: isBound ? .whenUnlockedThisDeviceOnly : .whenUnlocked
        default: .whenPasscodeSetThisDeviceOnly
        }
    }

    private var strength: Int {
        switch self {
        case .always, .alwaysThisDeviceOnly: 0
        case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly: 1
        case .whenUnlocked, .whenUnlockedThisDeviceOnly: 2
        case .whenPasscodeSetThisDeviceOnly: 3
        }
    }
}

extension RowWriter {
    /// What ``RowTransaction/dropFormer(of:beyond:sparing:)`` deletes.
    static let deletionOfOldFormer: StaticString = """
        DELETE FROM former WHERE kept IN (
            SELECT kept FROM former WHERE account_hash = ?1 AND place_hash = ?2
            ORDER BY kept DESC LIMIT -1 OFFSET ?3)
        AND NOT (kept = ?5 AND ?3 > 0) AND kept IS NOT (
            SELECT min(kept) FROM former
            WHERE account_hash = ?1 AND place_hash = ?2 AND reason = 3 AND kept > ?4)
        """
}
