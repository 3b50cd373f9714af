// SPDX-License-Identifier: Apache-2.0

internal import ValetCSQLite
package import ValetSystem

/// The header of SQLite's index of its log: `-shm`, which all processes that have the database open
/// share in memory. It shows without a system call whether anything was committed.
///
/// SQLite itself compares this header when a transaction begins, and decides by it whether its
/// cache of the database is still valid (https://sqlite.org/walformat.html, 2.1). Every commit and
/// every restart of the log changes it: it counts commits, and has the salts and the checksum of
/// the log.
// Sendable because it uses only memory that SQLite unmaps when the connection closes.
@safe package final class LogIndex: @unchecked Sendable {
    /// One copy of the header: 48 bytes.
    package struct Header: Equatable, Sendable {
        private let words: InlineArray<6, UInt64>

        fileprivate init(_ words: InlineArray<6, UInt64>) { self.words = words }

        package static func == (left: Self, right: Self) -> Bool {
            left.matches { right.words[Int($0)] }
        }

        /// Whether `word` returns each word of the header. The comparisons are written out, because
        /// a loop over a range would cost more than they do.
        @inline(__always)
        fileprivate func matches(_ word: (Int32) -> UInt64) -> Bool {
            words[0] == word(0) && words[1] == word(1) && words[2] == word(2)
                && words[3] == word(3) && words[4] == word(4) && words[5] == word(5)
        }

        /// How many frames of the log are committed.
        var frameCount: Int { Int(LogIndex.number(in: words[2])) }

        /// How many pages the database has; 0 if no frame of the log says so.
        var pageCount: Int {
            let second = LogIndex.isFirstLow ? words[2] >> 32 : words[2]
            return Int(UInt32(truncatingIfNeeded: second))
        }

        /// The bytes in the order of memory.
        var bytes: [UInt8] {
            words.indices.flatMap { place in
                let word = words[place].littleEndian
                return (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
            }
        }
    }

    private let memory: UnsafeRawPointer
    /// Keeps SQLite from unmapping the memory.
    private let connection: Connection

    /// The index of an open connection that has read something.
    ///
    /// - Returns: nil if this process cannot write the index, or there is no log.
    package init?(of connection: Connection) throws(SystemError) {
        let database = unsafe try connection.openDatabase("look at the log")
        guard let memory = unsafe valet_sqlite3_log_index(database) else { return nil }
        unsafe self.memory = memory
        self.connection = connection
    }

    /// Allocates disk space for every block of the index's file.
    func reserve() { unsafe valet_reserve_log_index(memory) }

    /// The current header. A header that is read while SQLite writes it equals no complete one.
    package var header: Header { header(at: 0) }

    /// Whether the header is still `known`: each read asks this.
    package func isAt(_ known: Header) -> Bool {
        known.matches { place in unsafe valet_log_index_word(memory, place) }
    }

    /// Whether the log has changes that are not in the database file yet.
    var hasChangesOfItsOwn: Bool {
        // The word behind both copies of the header: up to which frame checkpoints have copied the
        // log.
        let count = Self.number(in: unsafe valet_log_index_word(memory, 12))
        return header.frameCount > Int(count)
    }

    /// The first of the two numbers of 32 bits in a word.
    private static func number(in word: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: isFirstLow ? word : word >> 32)
    }

    private static var isFirstLow: Bool { !LogFormat.isMachineBigEndian }

    /// Both copies of the header. SQLite writes the second copy first.
    var headers: (first: Header, second: Header) { (header(at: 0), header(at: 6)) }

    private func header(at start: Int) -> Header {
        Header(
            InlineArray { place in
                unsafe valet_log_index_word(memory, Int32(start + place))
            })
    }

    /// Closes the connection, in a child of `fork`: the header cannot be read any longer.
    package func close() throws(SystemError) {
        try connection.close()
    }
}
