// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetKeys
internal import ValetSealing
internal import ValetSystem

/// Seals everything in a keychain under other keys, inside one transaction: every row and former
/// row with its hashes, every entry of sync (docs/FORMAT.md §4.4).
///
/// It takes about 20 µs for each small item. Its memory does not depend on their number: it holds 4
/// MiB of rows at most, and SQLite writes full pages of its cache to the log.
struct KeyChangeSealing {
    private static let batchRowCount = 128
    private static let batchByteCount = 4 << 20

    /// The keys that open the rows before the change.
    let former: RowKeys
    /// Opens values that require the user's presence; nil if these are lost.
    let proof: PresenceProof?
    /// Seals rows under the new keys.
    let rows: RowTransaction
    /// Whether damaged rows are set aside. If false, they are only counted.
    let setsDamagedAside: Bool
    /// Rows whose loss is expected. They do not count as damaged.
    let expectedLoss: RowKinds?

    private var connection: Connection { rows.writer.connection }

    private var hasPasscode: Bool { rows.state.epoch.hasKey(of: .whenPasscodeSetThisDeviceOnly) }

    /// Seals everything again.
    ///
    /// - Parameter progress: Called with the number of rows looked at.
    /// - Returns: The number of rows and entries that do not open, without rows of
    ///   ``expectedLoss``. Unless these are set aside, a caller must not commit if the number is
    ///   not 0.
    func run(progress: (Int) -> Void) throws(KeychainFailure) -> Int {
        var (damagedCount, count) = (0, 0)
        let next = Statement(
            """
            SELECT item.*, group_hash, service_hash, place_hash
            FROM item LEFT JOIN place ON place.id = item.place
            WHERE number >= ?1 ORDER BY number
            """, on: connection)
        var first: Int64? = .min
        while let number = first {
            let batch = try translating(
                nextRows(from: number, by: next), during: rows.operation)
            for found in batch where try !sealAnew(found) {
                damagedCount += isExpected(found) ? 0 : 1
            }
            count += batch.count
            first = batch.last?.number.successor
            progress(count)
        }
        damagedCount += try sealFormerAnew()
        // Rows that were set aside may have left places behind.
        try translating(
            rows.writer.deleteEmptyPlaces.start().finish(), during: rows.operation)
        // Rows come first, because an entry does not contain the names of an item that has a row.
        return try damagedCount + rows.sealSyncEntriesAnew(from: former)
    }

    /// The rows from a number on, in the order of their numbers; none after the last one.
    private func nextRows(from number: Int64, by next: Statement) throws(SystemError) -> [FoundRow]
    {
        let run = try next.start()
        try run.bind(number, at: 1)
        var batch: [FoundRow] = []
        var byteCount = 0
        while batch.count < Self.batchRowCount, byteCount < Self.batchByteCount, try run.step() {
            let found = try FoundRow(run)
            if case .row(let row) = found { byteCount += row.secret?.count ?? 0 }
            batch.append(found)
        }
        return batch
    }

    /// - Returns: The number of former rows that do not open and were not set aside before, without
    ///   those of ``expectedLoss``.
    private func sealFormerAnew() throws(KeychainFailure) -> Int {
        var (damagedCount, first) = (0, Int64?.some(.min))
        while let kept = first {
            let batch = try translating(
                rows.store.formerRows(
                    from: kept, byteCount: Self.batchByteCount, former.hasher),
                during: rows.operation)
            for former in batch where !former.isSetAside {
                if let row = former.sound, try isLost(row) {
                    try rows.dropFormer(former.kept)
                } else if let row = former.sound,
                    let opened = try translating(open(row), during: rows.operation)
                {
                    try rows.sealAnew(former, opened)
                    try moveSyncItem(opened)
                } else {
                    if setsDamagedAside { try rows.markDamaged(former) }
                    damagedCount += isExpected(former.row) ? 0 : 1
                }
            }
            first = batch.last?.kept.successor
        }
        return damagedCount
    }

    /// Seals a row under the new keys, or deletes it if it cannot exist without a passcode and
    /// there is none any more.
    ///
    /// - Returns: Whether the row opens.
    private func sealAnew(_ found: FoundRow) throws(KeychainFailure) -> Bool {
        if case .row(let row) = found, try isLost(row) {
            try rows.delete(row)
            return true
        }
        guard case .row(let row) = found,
            let opened = try translating(open(row), during: rows.operation)
        else {
            if setsDamagedAside { try rows.setAside(found) }
            return false
        }
        try rows.sealAnew(opened)
        try moveSyncItem(opened)
        return true
    }

    private func isExpected(_ found: FoundRow) -> Bool {
        guard case .row(let row) = found else { return false }
        return expectedLoss?.contains(row.header) ?? false
    }

    private func moveSyncItem(_ opened: OpenedRow) throws(KeychainFailure) {
        let header = opened.row.header
        guard header.flags.contains(.synchronizable) else { return }
        try rows.moveSyncItem(header.itemClass, opened.content, from: former)
    }

    /// Whether a row needs a passcode, and there is none any more.
    private func isLost(_ row: SealedRow) throws(KeychainFailure) -> Bool {
        guard !hasPasscode else { return false }
        return try translating(isOfPasscode(row), during: rows.operation)
    }

    /// Whether a row cannot exist without a passcode: it has the class
    /// `whenPasscodeSetThisDeviceOnly`, or its value is sealed to a presence pair. Its names have
    /// to open, because they authenticate both columns; else one flipped bit would delete an item.
    private func isOfPasscode(_ row: SealedRow) throws(SystemError) -> Bool {
        guard
            row.header.protectionClass == .whenPasscodeSetThisDeviceOnly
                || row.header.flags.presence != nil
        else { return false }
        return try openable { () throws(SystemError) in
            try former.cipher(opening: row.header).openContent(row)
        } != nil
    }

    /// Opens everything in a row; nil if it is damaged, or if the remaining keys do not open it.
    private func open(_ row: SealedRow) throws(SystemError) -> OpenedRow? {
        let opened = try openable { () throws(SystemError) in try former.open(row, proof) }
        return opened?.isClosed == true ? nil : opened
    }

    /// What `body` opens; nil if that is damaged, or if the former keys do not open it.
    private func openable<Opened>(
        _ body: () throws(SystemError) -> Opened
    ) throws(SystemError) -> Opened? {
        do {
            return try body()
        } catch {
            guard error.isDamage || error.code == .lockedRow else { throw error }
            return nil
        }
    }
}

extension RowWriter {
    /// Replaces settings and keybag.
    func replaceKeybag(by header: KeychainHeader) throws(SystemError) {
        try Statement("DELETE FROM keychain", on: connection).execute()
        try Statement("DELETE FROM keybag", on: connection).execute()
        try header.settings.insert(into: connection)
        try header.keybag.insert(into: connection)
    }
}
