// SPDX-License-Identifier: Apache-2.0

import ValetDatabase
import ValetSystem

/// The database that the tests of this module make, and what they put in.
extension PrivateDirectory {
    /// A new database with the table `t (k BLOB PRIMARY KEY, v BLOB)`.
    func makeDatabase(_ name: String = "keychain.db") throws -> Connection {
        let connection = try Connection(
            to: name, in: self, for: .create, deadline: Deadline(after: .seconds(5)))
        try Statement(
            "CREATE TABLE t (k BLOB PRIMARY KEY, v BLOB) STRICT, WITHOUT ROWID", on: connection
        ).execute()
        return connection
    }

    func open(
        _ access: Connection.Access = .readWrite, within limit: Duration = .seconds(5)
    ) throws -> Connection {
        try Connection(to: "keychain.db", in: self, for: access, deadline: Deadline(after: limit))
    }
}

extension Connection {
    func insert(_ key: [UInt8], _ value: [UInt8] = []) throws {
        let run = try Statement("INSERT INTO t VALUES (?1, ?2)", on: self).start()
        try run.bind(key, at: 1)
        try run.bind(value, at: 2)
        try run.finish()
    }

    func countRows() throws -> Int64 {
        let run = try Statement("SELECT count(*) FROM t", on: self).start()
        return try run.step() ? run.int64(0) : -1
    }
}
