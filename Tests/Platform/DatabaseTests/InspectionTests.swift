// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetSystemSupport
import ValetTestValues

@testable import ValetDatabase

@Suite struct `Looking into a database` {
    let folder: TestFolder
    let directory: PrivateDirectory
    let connection: Connection

    init() throws {
        folder = try TestFolder()
        directory = try folder.directory()
        connection = try directory.makeDatabase()
    }

    @Test func `An inspection lists the schema as it was written, sorted`() throws {
        try Statement("CREATE TABLE a (x INTEGER) STRICT", on: connection).execute()
        try Statement("CREATE INDEX i ON t (v)", on: connection).execute()
        #expect(
            try connection.schema() == [
                "CREATE INDEX i ON t (v)", "CREATE TABLE a (x INTEGER) STRICT",
                "CREATE TABLE t (k BLOB PRIMARY KEY, v BLOB) STRICT, WITHOUT ROWID",
            ])
    }

    @Test func `An inspection of a sound database finds nothing`() throws {
        try connection.insert([1])
        #expect(try connection.integrityProblems().isEmpty)
    }

    @Test func `An inspection finds a damaged page`() throws {
        for number in 0..<50 {
            try connection.insert([UInt8(number)], .init(repeating: 1, count: 900))
        }
        try connection.checkpoint(.truncate)
        try connection.close()
        var bytes = try folder.read("keychain.db")
        bytes.replaceSubrange(12_288..<12_388, with: repeatElement(0xff, count: 100))
        try folder.write(bytes, to: "keychain.db")
        let damaged = try directory.open()
        #expect(try !damaged.integrityProblems().isEmpty)
    }

    @Test func `An inspection copies the database to a file of mode 0600`() throws {
        try connection.insert([1], [2])
        try connection.copy(to: "copy.db", in: directory)
        #expect(folder.mode("copy.db") == 0o600)
        let copy = try Connection(to: "copy.db", in: directory, for: .readWrite, deadline: .never)
        #expect(try copy.countRows() == 1)
        try copy.useWriteAheadLog()
        #expect(try Statement("PRAGMA journal_mode", on: copy).onlyText() == "wal")
    }

    @Test func `An inspection does not copy over an existing file`() throws {
        try folder.write([1, 2, 3], to: "copy.db")
        let error = #expect(throws: SystemError.self) {
            try connection.copy(to: "copy.db", in: directory)
        }
        #expect(error?.code == .alreadyExists)
        #expect(try folder.read("copy.db") == [1, 2, 3])
    }

    @Test func `A failed copy of a database leaves no file`() throws {
        let transaction = try Transaction(on: connection)
        #expect(throws: SystemError.self) { try connection.copy(to: "copy.db", in: directory) }
        #expect(folder.mode("copy.db") == nil)
        try transaction.commit()
    }

    @Test func `A connection that has copied a database cannot attach another one`() throws {
        try connection.copy(to: "copy.db", in: directory)
        #expect(throws: SystemError.self) {
            try Statement("ATTACH ':memory:' AS other", on: connection).execute()
        }
    }

    // Promise: 1.12
    @Test func `A deleted row leaves nothing after vacuum and checkpoint`() throws {
        let secret = Array("remnant-of-a-deleted-row".utf8)
        try connection.insert([1], secret)
        try connection.checkpoint(.truncate)
        try Statement("DELETE FROM t", on: connection).execute()
        try connection.vacuum()
        try connection.checkpoint(.truncate)
        for name in ["keychain.db", "keychain.db-wal"] {
            #expect(Data(try folder.read(name)).range(of: Data(secret)) == nil)
        }
    }
}
