// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainDatabase
package import ValetKeychainModel
internal import ValetSystem

// `valet doctor --repair-indexes`: rebuilds the database from the rows of its tables.

/// The result of a repair.
package struct IndexRepair: Hashable, Sendable {
    /// The number of rows that the indexes were rebuilt from.
    package var rowCount = 0
    /// How many of them do not open. They are kept, as damaged items.
    package var damagedCount = 0
    /// How many of them another row of the same name has displaced. They are kept as former rows.
    package var formerCount = 0
    /// Whether rows of damaged pages may be missing.
    package var mayLackRows = false

    /// The result of a repair that has not begun.
    package init() {}
}

extension Keychain {
    /// Rebuilds everything that can be derived from the rows: the indexes, the search entries and
    /// the structure of the file. Keeps every row, or changes nothing. A page with one flipped bit
    /// is read as it was.
    ///
    /// - Parameter acceptsLoss: Whether to go on without rows of damaged pages.
    ///
    /// Opens the names and details of every row, so the keychain has to be unlocked. Other
    /// programs cannot write while it runs. A crash leaves the old database or the rebuilt one.
    /// - Throws: ``KeychainFailure``: `keychainDamaged` if a table itself is damaged, `locked`,
    ///   `itemNotFound` if there is no keychain, `diskFull`, `readOnly`, `timedOut`.
    package func repairIndexes(
        acceptingLoss acceptsLoss: Bool = false
    ) throws(KeychainFailure) -> IndexRepair {
        try store.workOnKeys(KeychainFailure.repairing) { (keys) throws(KeychainFailure) in
            let keychain = keys.keychain.forRepair()
            defer { keychain.close() }
            return try IndexRepairer(
                keychain: keychain, deadline: keys.deadline, now: store.now,
                acceptsLoss: acceptsLoss
            ).run()
        }
    }
}

/// Rebuilds the database of one keychain from its rows.
private struct IndexRepairer {
    private static let scratchName = KeychainFile.newDatabase + "-scratch"
    /// How long the repair waits for readers of the old contents.
    private static let patience = Duration.seconds(1)

    let keychain: OpenKeychain
    let deadline: Deadline
    let now: Moment
    let acceptsLoss: Bool

    private var pool: ConnectionPool { keychain.pool }

    func run() throws(KeychainFailure) -> IndexRepair {
        let operation = KeychainFailure.repairing
        guard !pool.directory.isReadOnly else {
            throw KeychainFailure(.readOnly, during: operation, path: pool.directory.path)
        }
        let call = StoreCall(
            operation: operation, location: keychain.location, deadline: deadline, now: now)
        while true {
            let state = try keychain.read(call) { $0.keys }
            guard state.rows.epoch.isComplete else {
                throw KeychainFailure(
                    .locked, during: operation,
                    message: "the keychain is locked, but the repair has to open every item",
                    advice: KeychainFailure.unlockAdvice)
            }
            if let repair = try repair(state) { return repair }
            guard !deadline.hasPassed else { throw KeychainFailure(.timedOut, during: operation) }
        }
    }

    /// - Returns: nil, with nothing done, if the keys are no longer those of `state`.
    private func repair(_ state: KeySet) throws(KeychainFailure) -> IndexRepair? {
        let operation = KeychainFailure.repairing
        let held = try translating(pool.lockForWriting(deadline), during: operation)
        let writer = try pool.writer(deadline, for: operation)
        let scratch = try translating(operation) { () throws(SystemError) in
            try Connection.scratch(Self.scratchName, in: pool.directory, deadline: deadline)
        }
        let repair = try rebuild(scratch, from: writer.reading, state)
        if repair != nil {
            try translating(
                writer.connection.replaceContents(by: scratch), during: operation)
            writer.hasRoomInLog = false
            writer.connection.deadline = Deadline(after: Self.patience)
            // The rebuilt database is safe in the log, so a failed checkpoint does no harm: the
            // next writer repeats it.
            _ = try? writer.connection.checkpoint(.truncate)
        }
        // A scratch database that stays open or is left over does no harm.
        try? scratch.close()
        _ = consume held
        return repair
    }

    private func rebuild(
        _ scratch: Connection, from store: RowConnection, _ state: KeySet
    ) throws(KeychainFailure) -> IndexRepair? {
        var rebuild = DatabaseRebuild(store, to: scratch, state.rows, now: now)
        let operation = KeychainFailure.repairing
        let transaction = try translating(
            ReadTransaction(on: store.connection), during: operation)
        let current = try keychain.currentHeader(store, for: operation)
        guard current.settings == state.settings else { return nil }
        guard current.settings.isWritable else {
            throw KeychainFailure(.newerFormat, during: operation, hint: "update this program")
        }
        let repair = try rebuild.run(acceptingLoss: acceptsLoss)
        _ = consume transaction
        return repair
    }
}

extension KeychainFailure {
    static let repairing = "rebuild the indexes"
    /// The hint for changed or lost rows.
    static let restoreHint =
        "put the keychain's folder back from a copy, or restore a backup into a new keychain"

    /// The hint for damaged pages: they may be of indexes or of tables.
    static let repairOrRestoreHint =
        repairHint + ", or changes nothing if items are lost; then " + restoreHint

    /// The failure for rows that a repair would drop.
    static func lostRows(path: String) -> KeychainFailure {
        KeychainFailure(
            .keychainDamaged, during: repairing,
            message: "rows of damaged pages are lost, or may be; nothing was changed", path: path,
            hint: restoreHint + "; `valet doctor --repair-indexes --yes` goes on without them")
    }

    /// The failure for a damaged table, which no rebuilding can mend.
    static func damagedTable(path: String) -> KeychainFailure {
        KeychainFailure(
            .keychainDamaged, during: repairing,
            message: "a table itself is damaged and cannot be rebuilt; nothing was changed",
            path: path, hint: restoreHint)
    }
}
