// SPDX-License-Identifier: Apache-2.0

internal import Database
internal import KeychainModel

extension Engine {
    /// The log is taken over when it has so many pages: about 4 MB, so that its file is soon
    /// as long as it gets, and a crash leaves little to read.
    private static let checkpointFrameCount = 1000

    /// Runs `body` in one transaction under the keychain's lock.
    ///
    /// - Returns: nil, and nothing is done, if the keychain has been replaced.
    /// - Throws: ``KeychainFailure``: `timedOut`, `readOnly`, `diskFull`, `newerFormat`, and what
    ///   `body` throws; nothing is changed then.
    func write<R>(
        _ operation: String, _ deadline: Deadline,
        _ body: (StoreWriter, KeychainState) throws(KeychainFailure) -> R
    ) throws(KeychainFailure) -> R? {
        try translating(operation) {
            guard !directory.isReadOnly else {
                throw DatabaseError(.readOnly, during: "write", path: directory.path)
            }
            let held = try lock.acquire(before: deadline)
            guard try isInPlace() else { return nil }
            let writer = try writer(deadline)
            let result = try transact(writer, operation, body)
            takeOverLogIfDue(writer)
            _ = consume held
            return result
        }
    }

    private func transact<R>(
        _ writer: StoreWriter, _ operation: String,
        _ body: (StoreWriter, KeychainState) throws(KeychainFailure) -> R
    ) throws -> R {
        let transaction = try Transaction(on: writer.connection)
        let state = try currentState(writer.reading)
        guard state.settings.isWritable else {
            throw KeychainFailure(
                .newerFormat, during: operation,
                message: "a newer version allows this one to read the keychain only",
                path: directory.path, hint: "update this program")
        }
        let result = try body(writer, state)
        try transaction.commit()
        return result
    }

    private func takeOverLogIfDue(_ writer: StoreWriter) {
        guard writer.connection.walFrameCount >= Self.checkpointFrameCount else { return }
        // What was written is safe in the log; the next writer tries again.
        _ = try? writer.connection.checkpoint(.passive)
    }
}
