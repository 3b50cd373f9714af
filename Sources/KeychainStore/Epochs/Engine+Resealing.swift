// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import KeychainModel
internal import LockState
internal import Sealing

/// The rest of an epoch change, from wherever it was left: docs/FORMAT.md §4.4, steps 3 to 5.
extension Engine {
    private static let operation = "change the keys"
    /// How long others may go first between two batches, in nanoseconds.
    private static let pause: Int64 = 5_000_000
    /// How long one batch waits for others.
    private static let patience = Duration.seconds(5)
    /// How often in a row it may do so in vain: who is in the way seals rows, too.
    private static let attemptLimit = 12

    /// Goes on with an epoch change for as long as `deadline` allows.
    ///
    /// - Parameter progress: Is told how many rows were looked at.
    /// - Returns: Whether nothing is left to be done.
    /// - Throws: ``KeychainFailure``: `locked`, `timedOut`, `diskFull`, `inputOutput`; what was
    ///   done stays.
    func finishEpochChange(
        before deadline: Deadline, progress: (_ rowCount: Int) -> Void = { _ in }
    ) throws(KeychainFailure) -> Bool {
        var number = Int64.min
        var count = 0
        var attempt = 0
        while true {
            do throws(KeychainFailure) {
                guard try !isResealed(&number, &count) else { break }
                attempt = 0
            } catch {
                attempt += 1
                guard error.code == .timedOut, attempt < Self.attemptLimit else { throw error }
            }
            progress(count)
            guard deadline.sleep(atMost: Self.pause) else { return false }
        }
        return try erase(Deadline(after: Self.patience))
    }

    /// One batch; also what is left to do once there are no more rows of the older epoch.
    private func isResealed(
        _ number: inout Int64, _ count: inout Int
    ) throws(KeychainFailure) -> Bool {
        let above = number
        let outcome = try write(Self.operation, Deadline(after: Self.patience), isOfItems: false) {
            (writer, state) throws(KeychainFailure) -> (count: Int, next: Int64?)? in
            try translating(Self.operation) {
                try EpochWriter(writer: writer, state: state).goOn(above: above)
            }
        }
        guard let outcome = outcome ?? nil else { return true }
        count += outcome.count
        number = outcome.next ?? .min
        return false
    }

    /// After somebody's write: one batch of an epoch change that nobody else may finish. Whatever
    /// becomes of it, the write is done, and the next one tries again.
    ///
    /// - Parameter state: What the write has seen. Other threads may have seen something else
    ///   since, or before, and rows of keys that a state does not know look damaged to it.
    /// - Returns: How long the writer is to let others go first, in nanoseconds: it had the lock
    ///   for long, and who waits for it looks every two milliseconds.
    func goOnWithEpochChange(_ writer: StoreWriter, _ state: KeychainState) -> Int64 {
        let isChanging = state.older != nil
        if isChanging {
            guard state.isComplete, (try? sealBatch(writer, state)) == true else {
                return Self.pause
            }
        }
        if mayEraseNow() { _ = try? erase(writer) }
        return isChanging ? Self.pause : 0
    }

    /// - Returns: Whether no row of the older epoch is left.
    private func sealBatch(_ writer: StoreWriter, _ state: KeychainState) throws -> Bool {
        let transaction = try Transaction(on: writer.connection)
        let outcome = try EpochWriter(writer: writer, state: state).goOn(above: resealedNumber)
        try transaction.commit()
        resealedNumber = outcome?.next ?? .min
        return outcome == nil
    }
}

extension EpochWriter {
    /// Seals a batch; drops the older keybag when no row is left.
    ///
    /// - Returns: As ``sealRows(above:)``; nil if there is no older epoch, or no longer.
    func goOn(above number: Int64) throws -> (count: Int, next: Int64?)? {
        guard state.older != nil else { return nil }
        guard state.isComplete else { throw RowFailure.locked }
        let outcome = try sealRows(above: number)
        guard outcome.next == nil else { return outcome }
        // Somebody may have left rows below where this began.
        guard try !hasOlderRows() else { return (outcome.count, .min) }
        try dropOlderKeybag()
        return nil
    }
}
