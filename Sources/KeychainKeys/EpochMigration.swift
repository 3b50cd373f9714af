// SPDX-License-Identifier: Apache-2.0

package import ValetDatabase
internal import ValetKeybag
internal import ValetKeychainModel
package import ValetKeychainRows
internal import ValetSealing
internal import ValetSecretMemory
package import ValetSystem

/// The database work of an epoch change, inside its transactions: docs/FORMAT.md §4.4. It replaces
/// the keybags, and moves rows to the new epoch. ``EpochFinisher`` calls it batch by batch.
package struct EpochMigration {
    private static let batchRowCount = 128
    private static let batchLookCount = 4096
    private static let batchByteCount = 4 << 20

    let writer: RowWriter
    let header: KeychainHeader
    /// The keys of both epochs.
    package let state: RowKeys
    /// Further keys: rows that one of these can open stay as they are.
    package var others: RowKeys?
    /// Opens values that require the user's presence; nil leaves their rows as they are.
    package var proof: PresenceProof?

    private var connection: Connection { writer.connection }

    // Step 2.

    /// Replaces the keybags by those of ``header``, and seals the records of programs again. If the
    /// new epoch has no passcode, deletes the items that need one.
    package func replaceKeybags() throws {
        try Self.replaceKeybags(by: header, connection)
        try sealPrograms()
        if header.newest.protector == .device { try deleteItemsOfPasscode() }
    }

    /// Replaces settings and keybags.
    package static func replaceKeybags(
        by header: KeychainHeader, _ connection: Connection
    ) throws(SystemError) {
        try Statement("DELETE FROM keychain", on: connection).execute()
        try Statement("DELETE FROM keybag", on: connection).execute()
        try header.settings.insert(into: connection)
        for keybag in header.keybags { try keybag.insert(into: connection) }
    }

    /// Seals the record of programs under the newest epoch.
    private func sealPrograms() throws {
        var records: [ProgramRecord] = []
        let all = Statement("SELECT id, sealed FROM program", on: connection)
        let run = try all.start()
        while try run.step() {
            let id: Digest = try run.fixedBytes(0)
            // An unreadable record is written again when its program next writes.
            let sealed = run.blob(1)
            let record =
                (try? state.open(program: sealed, id, in: state.older))
                ?? (try? state.open(program: sealed, id))
            if let record { records.append(record) }
        }
        try Statement("DELETE FROM program", on: connection).execute()
        for record in Set(records) { try writer.insert(record, state) }
    }

    /// Deletes the items that exist only with a passcode: those of the class
    /// `whenPasscodeSetThisDeviceOnly`, and those sealed to presence pairs, which are gone without
    /// a passcode.
    private func deleteItemsOfPasscode() throws {
        let number = Int64(ProtectionClass.whenPasscodeSetThisDeviceOnly.rawValue)
        // 768 is the mask of the presence kind in ``RowFlags``.
        let attributes = Statement(
            """
            DELETE FROM attribute WHERE number IN (
                SELECT number FROM item WHERE protection = ?1 OR flags & 768 <> 0)
            """, on: connection)
        let items = Statement(
            "DELETE FROM item WHERE protection = ?1 OR flags & 768 <> 0", on: connection)
        for statement in [attributes, items] {
            let run = try statement.start()
            try run.bind(number, at: 1)
            try run.finish()
        }
        try writer.deleteEmptyPlaces.start().finish()
    }

    // Steps 3 and 4.

    private var access: RowTransaction {
        RowTransaction(
            writer: writer, state: state, now: Moment(nanoseconds: WallClock.nanoseconds),
            operation: "change the keys", access: PersonAccess(.naming, proof: proof))
    }

    /// Moves one batch of entries of sync, whose numbers are above `number`, to the newest epoch.
    ///
    /// - Returns: The number up to which none is left.
    func sealEntries(above number: Int64) throws -> Int64 {
        try access.sealSyncEntries(above: number) ?? .max
    }

    /// Moves one batch of rows, whose numbers are above `number`, to the newest epoch. The batch
    /// is small, so that other writers do not wait for long.
    ///
    /// - Returns: The number of rows looked at, and the number up to which no older row is left;
    ///   nil if this was the last batch.
    func sealRows(above number: Int64) throws -> (count: Int, next: Int64?) {
        let access = access
        var (count, byteCount) = (0, 0)
        var last = number
        var rows: [FoundRow] = []
        let next = Statement(
            """
            SELECT item.*, group_hash, service_hash, place_hash
            FROM item LEFT JOIN place ON place.id = item.place
            WHERE number > ?1 ORDER BY number
            """, on: connection)
        let run = try next.start()
        try run.bind(number, at: 1)
        while try run.step() {
            guard rows.count < Self.batchRowCount, count < Self.batchLookCount,
                byteCount < Self.batchByteCount
            else {
                for row in rows { try access.sealAnew(row) }
                return (count, last)
            }
            let found = try FoundRow(run)
            last = found.number
            count += 1
            if case .row(let row) = found {
                if state.isNewest(row.header) || isLeft(row) { continue }
                byteCount += row.secret?.count ?? 0
            }
            rows.append(found)
        }
        for row in rows { try access.sealAnew(row) }
        return (count, nil)
    }

    /// Whether a row stays as it is: ``others`` can open it, or it waits for the passcode.
    private func isLeft(_ row: SealedRow) -> Bool {
        others?.knows(row.header) == true || (proof == nil && row.header.flags.presence != nil)
    }

    /// Moves all rows and entries of the older epoch to the newest one, inside one transaction.
    func sealAll() throws {
        var next: Int64? = .min
        while let number = next { next = try sealRows(above: number).next }
        var entry = Int64.min
        while entry < .max { entry = try sealEntries(above: entry) }
    }

    /// Whether any row is of another epoch than the newest.
    ///
    /// - Parameter sealable: Whether to look only at rows that can be sealed again without the
    ///   user.
    func hasOlderRows(sealable: Bool = false) throws -> Bool {
        // 768 is the mask of the presence kind in ``RowFlags``.
        let rows = Statement(
            """
            SELECT 1 FROM item WHERE epoch <> ?1 AND (?2 = 0 OR flags & 768 = 0) LIMIT 1
            """, on: connection)
        let run = try rows.start()
        try run.bind(header.newest.epoch.column, at: 1)
        try run.bind(sealable ? 1 : 0, at: 2)
        return try run.step()
    }

    /// Deletes the keybag of the older epoch.
    func dropOlderKeybag() throws {
        // Damaged rows that were set aside may have left places behind.
        try writer.deleteEmptyPlaces.start().finish()
        let delete = Statement("DELETE FROM keybag WHERE epoch < ?1", on: connection)
        let run = try delete.start()
        try run.bind(Int64(header.settings.epoch.rawValue), at: 1)
        try run.finish()
        let stamp = Statement("UPDATE keychain SET stamp = ?1 WHERE one = 1", on: connection)
        let update = try stamp.start()
        try update.bind(Int64.random(in: .min ... .max), at: 1)
        try update.finish()
    }
}

extension RowTransaction {
    /// Seals a row under the newest epoch. A damaged row goes to quarantine.
    fileprivate func sealAnew(_ found: FoundRow) throws {
        guard case .row(let row) = found, let opened = try openIfSound(row) else {
            return try quarantine(found)
        }
        // The value is sealed to a presence pair that is not open here.
        guard !opened.isClosed else { return }
        try moveToNewestEpoch(opened)
    }
}
