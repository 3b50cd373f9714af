// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetLockState
internal import ValetSealing
internal import ValetSystem

/// The rest of an epoch change, from wherever it was left: docs/FORMAT.md §4.4, steps 3 to 5.
extension Engine {
    private static let operation = "change the keys"
    /// How long others may go first between two batches, in nanoseconds.
    private static let pause: Int64 = 5_000_000
    /// How long one batch waits for others.
    private static let patience = Duration.seconds(5)
    /// How often in a row it may do so in vain: the program in the way seals rows, too.
    private static let attemptLimit = 12

    /// Goes on with an epoch change for as long as `deadline` allows.
    ///
    /// - Parameters:
    ///   - begun: What the caller has begun; nil for what somebody else has left, and an unlock.
    ///   - progress: Is told how many rows were looked at.
    /// - Returns: Whether nothing is left to be done.
    /// - Throws: ``KeychainFailure``: `locked`, `timedOut`, `diskFull`, `inputOutput`; what was
    ///   done stays.
    func finishEpochChange(
        before deadline: Deadline, of begun: BegunEpoch? = nil,
        progress: (_ rowCount: Int) -> Void = { _ in }
    ) throws(KeychainFailure) -> Bool {
        let kept = takeProofForResealing()
        var progressed = Resealing(keys: begun?.keys, proof: begun?.proof ?? kept)
        var attempt = 0
        while true {
            do throws(KeychainFailure) {
                guard try goOn(&progressed) else { break }
                attempt = 0
            } catch {
                attempt += 1
                guard error.code == .timedOut, attempt < Self.attemptLimit else { throw error }
            }
            progress(progressed.count)
            guard deadline.sleep(atMost: Self.pause) else { return false }
        }
        guard !progressed.waitsForPasscode else { return false }
        return try erase(Deadline(after: Self.patience))
    }

    /// One batch; also what is left to do once there are no more rows of the older epoch.
    ///
    /// - Returns: Whether there is more that can be done now.
    private func goOn(_ resealing: inout Resealing) throws(KeychainFailure) -> Bool {
        let (above, proof) = (resealing.number, resealing.proof)
        let outcome = try write(
            Self.operation, Deadline(after: Self.patience), isOfItems: false, with: resealing.keys
        ) { (writer, state) throws(KeychainFailure) -> EpochWriter.Outcome in
            try translating(Self.operation) {
                try EpochWriter(writer: writer, state: state, proof: proof).goOn(above: above)
            }
        }
        switch outcome {
        case .done: return false
        case .waitsForPasscode:
            resealing.waitsForPasscode = true
            return false
        case .sealed(let count, let next):
            resealing.count += count
            resealing.number = next
            return true
        }
    }

    /// After somebody's write: one batch of an epoch change that nobody else may finish. Whatever
    /// becomes of it, the write is done, and the next one tries again.
    ///
    /// - Parameter state: What the write has seen. Other threads may have seen something else
    ///   since, or before, and rows of keys that a state does not know look damaged to it.
    /// - Returns: How long the writer is to let others go first, in nanoseconds: it had the lock
    ///   for long, and a waiter looks every two milliseconds.
    func goOnWithEpochChange(_ writer: StoreWriter, _ state: KeychainState) -> Int64 {
        let isChanging = state.older != nil
        if !isChanging, resealedNumber == .max { resealedNumber = .min }
        if isChanging {
            // The next unlock with the passcode does the rest: nobody waits for that.
            guard resealedNumber < .max else { return 0 }
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
        switch outcome {
        case .done: resealedNumber = .min
        case .sealed(_, let next): resealedNumber = next
        // The next unlock with the passcode does what is left.
        case .waitsForPasscode: resealedNumber = .max
        }
        return outcome == .done
    }
}

/// How far the rest of an epoch change has come.
private struct Resealing {
    let keys: KeychainState?
    let proof: PresenceProof?
    var number = Int64.min
    var count = 0
    var waitsForPasscode = false
}

extension EpochWriter {
    /// What a batch came to.
    enum Outcome: Hashable {
        /// There is no older epoch, or no longer.
        case done
        /// So many rows were looked at, and none is left up to `next`.
        case sealed(count: Int, next: Int64)
        /// Only rows are left whose values take a person.
        case waitsForPasscode
    }

    /// Seals a batch; drops the older keybag when no row is left.
    func goOn(above number: Int64) throws -> Outcome {
        guard state.older != nil else { return .done }
        guard state.isComplete else { throw RowFailure.locked }
        let outcome = try sealRows(above: number)
        if let next = outcome.next { return .sealed(count: outcome.count, next: next) }
        guard try hasOlderRows() else {
            try dropOlderKeybag()
            return .done
        }
        // Somebody may have left rows below where this began.
        let isToBeginAgain = try hasOlderRows(sealable: true)
        return isToBeginAgain ? .sealed(count: outcome.count, next: .min) : .waitsForPasscode
    }
}
