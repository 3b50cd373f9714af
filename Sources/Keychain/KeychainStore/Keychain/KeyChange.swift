// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainDatabase
internal import ValetKeychainModel
internal import ValetSystem

/// One key change: a call that prepares the next epoch, and begins it in one transaction
/// (`KeychainPasscodes+KeyChange`), which seals every row again (docs/FORMAT.md §4.4). Each
/// passcode change and each recovery is such a call.
struct KeyChange {
    let store: ItemStore
    /// The name of the call in failures.
    let operation: String
    let options: KeyChangeOptions
    /// Rows whose loss is expected. They do not count as damaged.
    var expectedLoss: RowKinds?
    /// What the user knows to be destroyed; nil if nobody was asked.
    var agreedLoss: AgreedLoss?

    /// Prepares and makes the change.
    ///
    /// - Parameters:
    ///   - next: Describes the next epoch.
    ///   - open: Returns the protector or recovery key that opens the current epoch.
    func run(
        creating isCreating: Bool = false, to next: (KeychainHeader) -> KeyChangeRequest,
        openedBy open: (KeychainPasscodes, KeychainHeader) throws(KeychainFailure) -> KeychainOpener
    ) throws(KeychainFailure) -> KeyChangeOutcome {
        try store.changeKeys(operation, creating: isCreating) {
            (keys, header) throws(KeychainFailure) -> KeyChangePlan in
            let request = next(header)
            // Before the passcode is checked: a lock since then wins. Nothing has changed yet, so a
            // change fails here if its keys could not be published.
            let moment =
                request.unlocks ? try keys.moment(of: header, mustHavePage: true) : nil
            var plan = try keys.plan(header, open(keys, header), to: request, since: moment)
            plan.expectedLoss = expectedLoss
            plan.agreedLoss = agreedLoss
            return plan
        } _: { (keys, header, plan) throws(KeychainFailure) in
            try keys.countingWrongPasscodes { () throws(KeychainFailure) in
                try keys.make(plan, after: header, options)
            }
        }
    }
}
