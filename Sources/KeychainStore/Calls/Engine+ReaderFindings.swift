// SPDX-License-Identifier: Apache-2.0

internal import ValetDatabase
internal import ValetSystem

/// What `doctor` says about readers.
extension Engine {
    /// How long a reader may take before anybody is told, in nanoseconds.
    private static let patience: Int64 = 200_000_000

    /// The processes that keep the log from being shortened: those that are stopped in the middle
    /// of reading, and those that go on reading while the log is long. While one reads, whatever
    /// is written makes the log longer.
    func readerFindings() -> [Finding] {
        let first = directory.readers(of: KeychainLocation.databaseName)
        guard !first.isEmpty else { return [] }
        _ = Deadline.never.sleep(atMost: Self.patience)
        let log = try? directory.check(file: KeychainLocation.databaseName + "-wal")
        let byteCount = log?.byteCount ?? 0
        let isLong = byteCount > 2 * Int64(Connection.keptLogByteCount)
        return directory.readers(of: KeychainLocation.databaseName).filter { reader in
            first.contains { $0.process == reader.process } && (reader.isStopped || isLong)
        }.map { Self.finding($0, byteCount, directory.path(of: KeychainLocation.databaseName)) }
    }

    private static func finding(
        _ reader: DatabaseReader, _ byteCount: Int64, _ path: String
    ) -> Finding {
        let name = reader.program.isEmpty ? "" : " (\(reader.program))"
        let state = reader.isStopped ? "is stopped while it reads" : "is reading"
        let advice = reader.isStopped ? "let it go on, `kill -CONT \(reader.process)`," : "wait,"
        return Finding(
            .warning,
            "process \(reader.process)\(name) \(state): the log, which has \(byteCount) bytes, "
                + "grows with each write until it is done",
            path: path + "-wal", hint: "\(advice) or end it, `kill \(reader.process)`")
    }
}
