// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetKeychainModel
internal import ValetSystem

extension Engine {
    /// The log is taken over when it has so many pages: the more, the more often a page has
    /// changed again and is written to the database but once.
    private static let checkpointFrameCount = 1000
    /// A write of fewer pages has no use for the room.
    private static let busyFrameCount = 16
    /// Where there is less, the log gets only the room that it needs.
    private static let spaceForLog = 64 << 20
    /// Where there is less, the log must not grow if that can be helped.
    private static let tightSpace = 8 << 20

    /// Runs `body` in one transaction under the keychain's lock.
    ///
    /// - Parameters:
    ///   - isOfItems: Whether this is a call of the store's users, which may do a part of what an
    ///     epoch change has left undone.
    ///   - keys: Opened keys that count whatever is locked, as long as they are of the keychain as
    ///     it is.
    /// - Throws: ``KeychainFailure``: `timedOut`, also if the keychain was replaced; `readOnly`,
    ///   `diskFull`, `newerFormat`, and what `body` throws. Nothing is changed then in the
    ///   keychain that has its place.
    func write<R>(
        _ operation: String, _ deadline: Deadline, isOfItems: Bool = true,
        with keys: KeychainState? = nil,
        _ body: (StoreWriter, KeychainState) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R {
        while true {
            switch try attempt(operation, deadline, isOfItems: isOfItems, with: keys, body) {
            case .done(let result, _): return result
            // Nobody waits for us while we wait for the TPM.
            case .sealed(let facts): try unseal(facts, deadline)
            }
        }
    }

    /// What became of one attempt to write.
    private enum Attempt<R> {
        case done(R, KeychainState)
        case sealed(KeychainFacts)
    }

    private func attempt<R>(
        _ operation: String, _ deadline: Deadline, isOfItems: Bool, with keys: KeychainState?,
        _ body: (StoreWriter, KeychainState) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> Attempt<R> {
        try translating(operation) {
            guard !directory.isReadOnly else {
                throw SystemError(.readOnly, during: "write", path: directory.path)
            }
            let held = try lock.acquire(before: deadline)
            try checkPlace(during: operation)
            let writer = try writer(deadline)
            makeRoomInLog(writer)
            let attempt = try transact(writer, operation, with: keys) {
                (writer, state) throws(KeychainFailure) in
                if isOfItems { try RequiredLevel.check(state.facts, operation) }
                return try body(writer, state)
            }
            guard case .done(_, let state) = attempt else { return attempt }
            // Replaced while it was committed: it went where nobody looks any more.
            if isReplaced { try checkPlace(during: operation) }
            tend(writer)
            let pause = isOfItems ? goOnWithEpochChange(writer, state) : 0
            _ = consume held
            renewIfUsed(state.facts, deadline)
            if pause > 0 { _ = deadline.sleep(atMost: pause) }
            return attempt
        }
    }

    private func transact<R>(
        _ writer: StoreWriter, _ operation: String, with keys: KeychainState?,
        _ body: (StoreWriter, KeychainState) throws(KeychainFailure) -> R
    ) throws -> Attempt<R> {
        let transaction = try Transaction(on: writer.connection)
        let own = try keys?.following(currentFacts(writer.reading))
        let reading = try own.map(StateReading.certain) ?? currentState(writer.reading)
        if case .sealed(let facts) = reading { return .sealed(facts) }
        // Nobody else changes epochs under the lock: keys that do not fit are none.
        let state = try settled(reading)
        guard state.settings.isWritable else {
            throw KeychainFailure(
                .newerFormat, during: operation,
                message: "a newer version allows this one to read the keychain only",
                path: directory.path, hint: "update this program")
        }
        let result = try body(writer, state)
        // Between this and the commit nothing can keep anybody from replacing the folder.
        try checkPlace(during: operation)
        try transaction.commit()
        return .done(result, state)
    }

    /// Has the log begin anew where the disk is full or nearly so: the room that its file has is
    /// room for this transaction then, which may be the one that removes something.
    private func makeRoomInLog(_ writer: StoreWriter) {
        guard let space = try? directory.availableByteCount(), space < Self.tightSpace else {
            return
        }
        _ = try? writer.connection.checkpoint(.passive)
    }

    /// Keeps the log's file at the length at which commits are cheap, and what is in it short.
    private func tend(_ writer: StoreWriter) {
        // The transaction is safe in the log, whatever becomes of this; the next writer tries
        // again.
        let frameCount = writer.connection.walFrameCount
        if !writer.hasReserveInLog {
            writer.hasReserveInLog = true
            try? writer.connection.lengthenLog(to: Connection.reservedLogByteCount)
        }
        if !writer.hasRoomInLog, frameCount >= Self.busyFrameCount {
            writer.hasRoomInLog = true
            if let space = try? directory.availableByteCount(), space >= Self.spaceForLog {
                try? writer.connection.lengthenLog(to: Connection.keptLogByteCount)
            }
        }
        if frameCount >= Self.checkpointFrameCount {
            // Another program may have made the log short meanwhile.
            writer.hasRoomInLog = false
            writer.hasReserveInLog = false
            _ = try? writer.connection.checkpoint(.passive)
        }
    }
}
