// SPDX-License-Identifier: Apache-2.0

// Writes of several threads in one transaction: docs/decisions/0059-shared-commits.md.
// `ItemStore.shareWrite` calls `share`; `OpenKeychain.write` then runs the batch's other calls.

internal import ValetDatabase
package import ValetKeychainModel
internal import ValetSystem

extension OpenKeychain {
    /// Runs `body` in a write transaction that calls of other threads may share.
    ///
    /// A call that finds no leader leads: it runs its own body, then the bodies of the calls that
    /// wait, and commits once. Any other call waits until a leader has carried it out, or until it
    /// leads in its turn.
    ///
    /// - Parameter body: Runs on the thread of the leader, and again if the batch fails as a whole.
    ///   It must neither wait nor use thread-local state.
    /// - Throws: As ``write(_:for:leading:_:afterCommit:)``.
    package func share<R: Sendable>(
        _ call: StoreCall, _ body: @escaping @Sendable (RowTransaction) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        guard let byteCount = call.byteCount else { return try write(call, body) }
        let result = Box<R>()
        let waiting = writes.enter(
            WaitingWrite(call, byteCount) { (rows) throws(KeychainFailure) in
                result.value = try body(rows)
            })
        switch waiting.map(writes.outcome) ?? .leads {
        case .leads: break
        case .runsAlone: return try write(call, body)
        case .isLate: throw KeychainFailure(pool.lock.busy(), during: call.operation)
        case .failed(let error): throw error
        case .committed(let header):
            renewIfUsed(header, call.deadline)
            guard let value = result.value else {
                throw KeychainFailure(.internalFault, during: call.operation)
            }
            return value
        }
        let batch = WriteBatch(writes, call.operation, byteCount)
        defer { batch.handOn() }
        do {
            return try write(call, leading: batch, body)
        } catch {
            guard batch.fail(with: error) else { throw error }
        }
        batch.handOn()
        return try write(call, body)
    }
}

/// Keeps the result of a call that another thread carries out.
// Sendable because its two threads take turns: see `WaitingWrite`.
private final class Box<Value>: @unchecked Sendable {
    var value: Value?
}

/// A call that waits for its turn to write.
// Sendable because one thread at a time uses it: the leader's thread from taking the call out of
// the queue until waking the call's thread, and otherwise the call's thread.
final class WaitingWrite: @unchecked Sendable {
    /// The outcome of the call.
    enum Outcome {
        /// It is the next leader.
        case leads
        /// It must run again, in a transaction of its own.
        case runsAlone
        /// Its deadline passed before a leader took it.
        case isLate
        /// Its changes are on the disk, in the keychain of this header.
        case committed(KeychainHeader)
        case failed(KeychainFailure)
    }

    let call: StoreCall
    let byteCount: Int
    let body: (RowTransaction) throws(KeychainFailure) -> Void
    fileprivate var outcome = Outcome.isLate
    fileprivate let waiter = Waiter()

    init(
        _ call: StoreCall, _ byteCount: Int,
        _ body: @escaping (RowTransaction) throws(KeychainFailure) -> Void
    ) {
        self.call = call
        self.byteCount = byteCount
        self.body = body
    }

    /// Wakes the thread of the call.
    func end(_ outcome: Outcome) {
        self.outcome = outcome
        waiter.wake()
    }
}

/// The calls of this process that write items to one keychain: one leads, the others wait in order
/// of arrival.
final class WriteQueue: Sendable {
    private struct State {
        var hasLeader = false
        var waiting: [WaitingWrite] = []

        /// Takes out the first call that can still be in time.
        mutating func first(where fits: (WaitingWrite) -> Bool) -> WaitingWrite? {
            while let first = waiting.first {
                let isLate = first.call.deadline.hasPassed
                guard isLate || fits(first) else { return nil }
                waiting.removeFirst()
                guard isLate else { return first }
                first.end(.isLate)
            }
            return nil
        }
    }

    private let state = Lock(State())

    /// Puts a call into the queue.
    ///
    /// - Returns: nil if the call leads, because there was no leader.
    func enter(_ write: @autoclosure () -> WaitingWrite) -> WaitingWrite? {
        state.withLock { state in
            guard state.hasLeader else {
                state.hasLeader = true
                return nil
            }
            let write = write()
            state.waiting.append(write)
            return write
        }
    }

    /// Waits until the call leads or has been carried out. Stops waiting at the deadline of the
    /// call, unless a leader has taken it by then.
    func outcome(of write: WaitingWrite) -> WaitingWrite.Outcome {
        if write.waiter.wait(until: write.call.deadline) { return write.outcome }
        let isTaken = state.withLock { state in
            guard let place = state.waiting.firstIndex(where: { $0 === write }) else { return true }
            state.waiting.remove(at: place)
            return false
        }
        // The leader is in its transaction, which waits only for the disk.
        if isTaken { _ = write.waiter.wait(until: .never) }
        return write.outcome
    }

    /// How many calls wait now.
    var count: Int { state.withLock { $0.waiting.count } }

    /// Takes out the call that has waited longest, if it is in time and writes at most `byteCount`.
    fileprivate func next(upTo byteCount: Int) -> WaitingWrite? {
        state.withLock { state in
            state.first { $0.byteCount <= byteCount }
        }
    }

    /// Makes the call that has waited longest the leader.
    fileprivate func handOn() {
        state.withLock { state in
            guard let next = state.first(where: { _ in true }) else {
                state.hasLeader = false
                return
            }
            next.end(.leads)
        }
    }
}

/// The calls that a leader runs in its transaction for other threads. Used by its thread alone.
package final class WriteBatch {
    /// The most calls that share a commit, including the leader's.
    static let largestCount = 256
    /// The most bytes that these calls write together.
    static let largestByteCount = 1 << 20

    private let queue: WriteQueue
    /// The name of the leader's call in failures.
    private let operation: String
    private var leads = true
    private var byteCount: Int
    private var taken: [(write: WaitingWrite, error: KeychainFailure?)] = []
    /// Whether an error in one of the calls has ended the transaction.
    private var isBroken = false

    init(_ queue: WriteQueue, _ operation: String, _ byteCount: Int) {
        self.queue = queue
        self.operation = operation
        self.byteCount = byteCount
    }

    /// Runs the waiting calls, each in a savepoint: a failed call is undone alone.
    ///
    /// - Parameter isOpen: Whether the keys of the transaction are still open. A call takes part
    ///   only if they are open after its arrival, so that an earlier lock counts.
    /// - Throws: The error of a call that has ended the transaction.
    func run(
        on connection: Connection, while isOpen: () -> Bool,
        _ run: (StoreCall, (RowTransaction) throws(KeychainFailure) -> Void) throws(KeychainFailure)
            -> Void
    ) throws(KeychainFailure) {
        while leads, taken.count + 1 < Self.largestCount,
            let write = queue.next(upTo: Self.largestByteCount - byteCount)
        {
            guard isOpen() else { return write.end(.runsAlone) }
            byteCount += write.byteCount
            taken.append((write, nil))
            do throws(KeychainFailure) {
                let savepoint = try translating(
                    Savepoint(on: connection), during: write.call.operation)
                try run(write.call, write.body)
                do {
                    try savepoint.release()
                } catch {
                    throw KeychainFailure(error, during: write.call.operation)
                }
            } catch {
                isBroken = !connection.isInTransaction
                guard !isBroken else { throw error }
                taken[taken.count - 1].error = error
            }
        }
    }

    /// Wakes the calls whose transaction was committed. Errors are delivered only now, too: they
    /// may concern items that the same transaction has written.
    func acknowledge(_ keys: KeySet) {
        for (write, error) in taken {
            write.end(error.map { .failed($0) } ?? .committed(keys.header))
        }
        taken = []
    }

    /// Wakes the calls whose transaction failed.
    ///
    /// If one call has ended the transaction for all, or the disk was full, each runs again alone:
    /// the others may succeed without it.
    /// - Returns: Whether the leader must run again alone, too.
    func fail(with error: KeychainFailure) -> Bool {
        let isRepeated = isBroken || (error.code == .diskFull && !taken.isEmpty)
        for (write, _) in taken {
            let isOfLeader = error.operation == operation
            let own =
                isOfLeader ? KeychainFailure(error, during: write.call.operation) : error
            write.end(isRepeated ? .runsAlone : .failed(own))
        }
        taken = []
        return isRepeated
    }

    /// Ends the lead; the next call takes over.
    func handOn() {
        guard leads else { return }
        leads = false
        queue.handOn()
    }
}
