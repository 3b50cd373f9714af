// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainKeys
internal import ValetKeychainModel
internal import ValetKeychainRows
internal import ValetSystem

/// One call that changes the keys: it prepares the next epoch, begins it, and seals every row again
/// (docs/FORMAT.md §4.4). Each change of the passcode is one, and so is a recovery.
struct KeyChange {
    let store: ItemStore
    /// The name of the call in failures.
    let operation: String
    let options: EpochOptions
    /// Rows whose loss is expected. They do not count as damaged.
    var expectedLoss: RowKinds?

    /// Prepares, begins and finishes the change. Finishes an interrupted change first.
    ///
    /// - Parameters:
    ///   - next: Describes the next epoch.
    ///   - open: Returns the protector or recovery key that opens the present epoch.
    /// - Returns: The number of damaged rows that it has set aside.
    func run(
        _ kind: ItemStore.ChangingKeys = .changeKeys, to next: (KeychainHeader) -> NextEpoch,
        openedBy open: (KeyAccess, KeychainHeader) throws -> KeychainOpener
    ) throws(KeychainFailure) -> Int {
        let before = try quarantinedRowCount()
        let begun: BegunEpoch = try store.perform(kind, operation) { keys, header in
            let moment = try keys.moment(of: header)
            let opener = try open(keys, header)
            // Rows that the old keys cannot open now are lost once those keys are erased.
            if !options.skipsDamaged {
                guard try keys.checkRows(of: header, openedBy: opener) else { return nil }
            }
            // Comes before any preparation: a change prepared from the present keys would be out of
            // date.
            guard try !keys.hasFinishedFirst(header, openedBy: opener) else { return nil }
            var change = try keys.change(header, opener, to: next(header))
            change.moment = moment
            return try keys.countingWrongPasscodes { try keys.begin(change, after: header) }
        }
        do throws(KeychainFailure) {
            try finish(begun)
        } catch {
            throw KeychainFailure(error, adding: Self.unfinished)
        }
        return max(0, try quarantinedRowCount() - before)
    }

    /// The addition to a failure after the new keys are in force.
    private static let unfinished =
        "the new keys are in force, and a new passcode with them, but some items are still under "
        + "the old keys: the next call that changes an item continues"

    private func finish(_ begun: BegunEpoch) throws(KeychainFailure) {
        try store.perform(.keys, operation) { keys in
            let total = try keys.rowCount()
            let isDone = try EpochFinisher(keychain: keys.keychain).finish(
                before: .never, of: begun
            ) { options.progress(min($0, total), total) }
            if isDone { options.progress(total, total) }
        }
    }

    private func quarantinedRowCount() throws(KeychainFailure) -> Int {
        try store.perform(.inspect, operation) {
            try $0.quarantinedRowCount(but: expectedLoss)
        } ?? 0
    }

    /// Removes published keys, which have no use without a passcode.
    func removePublishedKeys() throws(KeychainFailure) {
        try store.perform(.keys, operation) { try $0.lockWithoutPasscode($0.deadline) }
    }
}
