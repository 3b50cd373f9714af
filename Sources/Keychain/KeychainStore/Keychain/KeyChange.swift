// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetSystem

/// One call that changes the keys: it prepares the next epoch, and begins it in one transaction,
/// which seals every row again (docs/FORMAT.md §4.4). Each passcode change and each recovery is
/// such a call.
struct KeyChange {
    let store: ItemStore
    /// The name of the call in failures.
    let operation: String
    let options: EpochOptions
    /// Rows whose loss is expected. They do not count as damaged.
    var expectedLoss: RowKinds?

    /// Prepares and makes the change.
    ///
    /// - Parameters:
    ///   - next: Describes the next epoch.
    ///   - open: Returns the protector or recovery key that opens the current epoch.
    /// - Returns: The number of damaged rows that the change has moved into quarantine.
    func run(
        creating isCreating: Bool = false, to next: (KeychainHeader) -> NextEpoch,
        openedBy open: (KeychainPasscodes, KeychainHeader) throws(KeychainFailure) -> KeychainOpener
    ) throws(KeychainFailure) -> Int {
        let before = try quarantinedRowCount()
        try store.changeKeys(operation, creating: isCreating) {
            (keys, header) throws(KeychainFailure) -> Void? in
            let moment = try keys.moment(of: header)
            var plan = try keys.plan(header, open(keys, header), to: next(header))
            plan.moment = moment
            let isMade = try keys.countingWrongPasscodes { () throws(KeychainFailure) in
                try keys.make(plan, after: header, options)
            }
            return isMade ? () : nil
        }
        // The change is committed: a count that fails does not make it fail.
        return max(0, ((try? quarantinedRowCount()) ?? before) - before)
    }

    private func quarantinedRowCount() throws(KeychainFailure) -> Int {
        try store.inspect(operation) { (keys) throws(KeychainFailure) in
            try keys.quarantinedRowCount(but: expectedLoss)
        } ?? 0
    }

    /// Removes published keys, which have no use without a passcode. The change is
    /// committed: if this fails, the change does not, and later writes and unlocks try again.
    func removePublishedKeys() {
        _ = try? store.workOnKeys(operation) { (keys) throws(KeychainFailure) in
            try keys.lockWithoutPasscode(keys.deadline)
        }
    }
}
