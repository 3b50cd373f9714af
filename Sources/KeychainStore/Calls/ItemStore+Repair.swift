// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetSystem

/// What became of a repair.
package struct IndexRepair: Hashable, Sendable {
    /// How many rows the indexes were rebuilt from.
    package var rowCount: Int
    /// Older rows of items that had been added for a second time; they are set aside.
    package var supersededCount: Int
    /// Records of programs that could not be read; they are gone.
    package var lostProgramCount: Int

    /// What a repair says of itself.
    package init(rowCount: Int, supersededCount: Int, lostProgramCount: Int) {
        self.rowCount = rowCount
        self.supersededCount = supersededCount
        self.lostProgramCount = lostProgramCount
    }
}

extension ItemStore {
    /// Rebuilds all that follows from the rows: the indexes, the search entries and the structure
    /// of the file. Loses no row, and changes nothing if it cannot keep them all.
    ///
    /// Opens the names and details of every row, so the keychain has to be unlocked. Other
    /// programs cannot write while it runs; a crash leaves the database as it was, or rebuilt.
    /// - Throws: ``KeychainFailure``: `keychainDamaged` if a table itself is damaged, `locked`,
    ///   `itemNotFound` if there is no keychain, `diskFull`, `readOnly`, `timedOut`.
    package func repairIndexes() throws(KeychainFailure) -> IndexRepair {
        try withEngine(KeychainFailure.repairing) { (engine) throws(KeychainFailure) in
            try engine.repairIndexes(Deadline(after: timeLimit), now)
        }
    }
}

extension Engine {
    private static let scratchName = KeychainLocation.newDatabaseName + "-scratch"
    /// How long the repair waits for readers of the old contents to end.
    private static let patience = Duration.seconds(1)

    fileprivate func repairIndexes(
        _ deadline: Deadline, _ now: Moment
    ) throws(KeychainFailure) -> IndexRepair {
        let operation = KeychainFailure.repairing
        guard !directory.isReadOnly else {
            throw KeychainFailure(.readOnly, during: operation, path: directory.path)
        }
        while true {
            let state = try read(operation, deadline) { (_, state) in state }
            guard state.isComplete else {
                throw KeychainFailure(
                    .locked, during: operation,
                    message: "the keychain is locked, and every item has to be opened for this",
                    hint: KeychainFailure.unlockHint)
            }
            if let repair = try repairIndexes(state, deadline, now) { return repair }
            guard !deadline.hasPassed else { throw KeychainFailure(.timedOut, during: operation) }
        }
    }

    /// - Returns: nil if the keys are no longer those of `state`; nothing is done then.
    private func repairIndexes(
        _ state: KeychainState, _ deadline: Deadline, _ now: Moment
    ) throws(KeychainFailure) -> IndexRepair? {
        try translating(KeychainFailure.repairing) {
            let held = try lock.acquire(before: deadline)
            guard try isInPlace() else {
                throw KeychainFailure(
                    .timedOut, during: KeychainFailure.repairing,
                    message: "the keychain was replaced meanwhile")
            }
            let writer = try writer(deadline)
            let scratch = try Connection.scratch(
                Self.scratchName, in: directory, deadline: deadline,
                cacheKibibytes: Self.cacheKibibytes)
            let summary = try rebuild(scratch, from: writer.reading, state, now)
            if summary != nil {
                try writer.connection.replaceContents(by: scratch)
                writer.hasRoomInLog = false
                writer.connection.deadline = Deadline(after: Self.patience)
                // The log has it all, so the next writer can do this, too.
                _ = try? writer.connection.checkpoint(.truncate)
            }
            try scratch.close()
            _ = consume held
            return summary.map {
                IndexRepair(
                    rowCount: $0.itemCount, supersededCount: $0.supersededCount,
                    lostProgramCount: $0.lostProgramCount)
            }
        }
    }

    private func rebuild(
        _ scratch: Connection, from store: StoreConnection, _ state: KeychainState, _ now: Moment
    ) throws -> DatabaseRebuild.Summary? {
        let rebuild = DatabaseRebuild(store, to: scratch, state, time: now.logicalTime >> 16)
        do {
            return try inTransaction(store) {
                guard try currentFacts(store).settings == state.settings else { return nil }
                return try rebuild.run()
            }
        } catch let error as SystemError
            where error.code == .corrupt || error.code == .constraint
        {
            throw KeychainFailure.damagedTable(path: store.connection.path)
        }
    }

    private func inTransaction<R>(_ store: StoreConnection, _ body: () throws -> R) throws -> R {
        let transaction = try ReadTransaction(on: store.connection)
        let result = try body()
        _ = consume transaction
        return result
    }
}

extension KeychainFailure {
    static let repairing = "rebuild the indexes"
    /// What helps where rows were changed or lost.
    static let restoreHint =
        "put the keychain's folder back from a copy, or restore a backup into a new keychain"
    /// What helps where only what follows from the rows is damaged.
    static let repairHint = "`valet doctor --repair-indexes` rebuilds what follows from the items"

    /// A table is damaged, and not only what follows from it.
    static func damagedTable(path: String) -> KeychainFailure {
        KeychainFailure(
            .keychainDamaged, during: repairing,
            message: "a table is damaged, and not only what follows from it; nothing was changed",
            path: path, hint: restoreHint)
    }

    /// An index leads to a row that it should not lead to, or does not find one that was written.
    static func damagedIndex(_ operation: String) -> KeychainFailure {
        KeychainFailure(
            .keychainDamaged, during: operation, message: "an index of the database is damaged",
            hint: repairHint)
    }
}
