// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetSystemSupport
import ValetTestValues

@testable import ValetDatabase

@Suite struct `The header of the log's index` {
    let folder: TestFolder
    let directory: PrivateDirectory
    let connection: Connection

    init() throws {
        folder = try TestFolder()
        directory = try folder.directory()
        connection = try directory.makeDatabase()
    }

    @Test func `The header of the log's index stays the same while nothing is committed`() throws {
        let reader = try directory.open(.readOnly)
        let index = try #require(try LogIndex(of: connection))
        let before = index.header
        _ = try reader.countRows()
        _ = try connection.countRows()
        do {
            let transaction = try Transaction(on: connection)
            try connection.insert([1])
            #expect(index.header == before)
            _ = consume transaction
        }
        #expect(index.header == before)
    }

    @Test func `Each commit changes the header of the log's index, also for other connections`()
        throws
    {
        let other = try directory.open()
        let own = try #require(try LogIndex(of: connection))
        let foreign = try #require(try LogIndex(of: other))
        var seen = [own.header]
        for number in 0..<100 {
            try (number % 2 == 0 ? connection : other).insert([UInt8(number)])
            #expect(own.header == foreign.header)
            #expect(!seen.contains(own.header))
            seen.append(own.header)
        }
    }

    @Test func `A restart of the log changes its header, and the header before never comes back`()
        throws
    {
        let index = try #require(try LogIndex(of: connection))
        var seen = [index.header]
        for number in 0..<20 {
            try connection.checkpoint(.truncate)
            try connection.insert([UInt8(number)])
            #expect(!seen.contains(index.header))
            seen.append(index.header)
        }
    }

    @Test func `A database without a log has no index`() throws {
        let copy = "copy.db"
        try connection.copy(to: copy, in: directory)
        let plain = try Connection(
            to: copy, in: directory, for: .readWrite, deadline: Deadline(after: .seconds(5)))
        try Statement("PRAGMA journal_mode = DELETE", on: plain).execute()
        #expect(try plain.countRows() == 0)
        #expect(try LogIndex(of: plain) == nil)
    }

    @Test func `A closed connection has no index`() throws {
        try connection.close()
        #expect(throws: SystemError.self) { try LogIndex(of: connection) }
    }
}
