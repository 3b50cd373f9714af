// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetSystem

/// What becomes of damaged rows when keys are changed: docs/FORMAT.md §4.4.
extension ItemStore {
    /// Runs `body`, which changes keys.
    ///
    /// - Parameter expected: Rows that are known to go, and are not counted.
    /// - Returns: How many rows were set aside meanwhile.
    func countingRowsSetAside(
        _ operation: String, but expected: RowKinds? = nil,
        _ body: () throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) -> Int {
        let before = try quarantinedRowCount(but: expected, operation)
        try body()
        return max(0, try quarantinedRowCount(but: expected, operation) - before)
    }

    /// Removes for good the damaged rows that were set aside.
    ///
    /// - Returns: How many.
    /// - Throws: ``KeychainFailure``: `timedOut`, `readOnly`, `diskFull`; nothing is removed then.
    package func clearQuarantine() throws(KeychainFailure) -> Int {
        let operation = "remove what was set aside"
        return try writing(operation) { (access) throws(KeychainFailure) in
            try translating(operation) {
                let connection = access.store.connection
                let count = try connection.count(.quarantinedRows)
                try Statement("DELETE FROM quarantine", on: connection).start().finish()
                return count
            }
        } ?? 0
    }

    private func quarantinedRowCount(
        but expected: RowKinds?, _ operation: String
    ) throws(KeychainFailure) -> Int {
        try reading(operation) { (engine, deadline) throws(KeychainFailure) in
            try engine.quarantinedRowCount(but: expected, operation, deadline)
        } ?? 0
    }

    /// The failure of a call that found no item: one that was set aside cannot be found either.
    func notFound(_ operation: String) -> KeychainFailure {
        let missing = KeychainFailure(.itemNotFound, during: operation)
        // The answer does not hang on the hint.
        let count = try? reading(operation) { (engine, deadline) throws(KeychainFailure) in
            try engine.quarantinedRowCount(operation, deadline)
        }
        guard let count, count > 0 else { return missing }
        let items = count == 1 ? "1 damaged item was" : "\(count) damaged items were"
        return KeychainFailure(
            missing, hint: "\(items) set aside, and it may be among them: `valet doctor` says more")
    }
}
