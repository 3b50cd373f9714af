// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Brings the stores' logs into the state in which they stay.
///
/// SQLite's log grows until it is checkpointed, and is overwritten from its beginning then. While
/// it grows, the file system commits a journal of its own with each sync, which takes as long as
/// the sync. Programs that write often meet a log that is only overwritten.
struct WarmUp {
    let itemCount: Int
    let folder: String

    /// Writes existing items until each log was begun anew, and says how many writes that took.
    func beginLogsAnew(of subjects: [Subject]) throws {
        var numbers = RandomNumbers(seed: 2)
        var said: [String] = []
        for subject in subjects where subject.label != .lmdb {
            // SQLite writes nothing if the value is the same.
            try subject.store.set(subject.name(0), sampleValue(.random(in: 0 ... .max)))
            guard let start = logSequence(of: subject) else {
                preconditionFailure("\(subject.label) has no log")
            }
            var count = 0
            while logSequence(of: subject) == start {
                precondition(count < 100_000, "the log of \(subject.label) is never begun anew")
                for _ in 0..<50 {
                    let number = Int.random(in: 0..<itemCount, using: &numbers)
                    let value = sampleValue(.random(in: 0 ... .max, using: &numbers))
                    try subject.store.set(subject.name(number), value)
                    count += 1
                }
            }
            said.append("\(subject.label) after \(count) writes")
        }
        let text =
            "(\(itemCount) items, each log was begun anew: \(said.joined(separator: ", ")))\n"
        FileHandle.standardError.write(Data(text.utf8))
    }

    /// How often the store's log was begun anew; nil if it has none yet.
    private func logSequence(of subject: Subject) -> UInt32? {
        let file = subject.label == .valet ? "keychain/keychain.db" : subject.label.rawValue + ".db"
        guard let log = FileHandle(forReadingAtPath: "\(folder)/\(file)-wal"),
            let header = try? log.read(upToCount: 16), header.count == 16
        else { return nil }
        // The checkpoint sequence number, big-endian: SQLite's file format, "WAL Header Format".
        return header[12..<16].reduce(0) { $0 << 8 | UInt32($1) }
    }
}
