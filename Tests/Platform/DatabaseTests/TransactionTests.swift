// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetSystemSupport
import ValetTestValues

@testable import ValetDatabase

// Promise: 13.12
@Suite struct `A transaction` {
    let folder: TestFolder
    let directory: PrivateDirectory
    let connection: Connection

    init() throws {
        folder = try TestFolder()
        directory = try folder.directory()
        connection = try directory.makeDatabase()
    }

    @Test func `A committed transaction is kept`() throws {
        let transaction = try Transaction(on: connection)
        try connection.insert([1])
        try transaction.commit()
        #expect(!connection.isInTransaction)
        #expect(try directory.open().countRows() == 1)
    }

    @Test func `A dropped transaction is rolled back`() throws {
        do {
            let transaction = try Transaction(on: connection)
            try connection.insert([1])
            #expect(connection.isInTransaction)
            _ = consume transaction
        }
        #expect(!connection.isInTransaction)
        #expect(try connection.countRows() == 0)
    }

    @Test func `A transaction whose scope throws is rolled back`() throws {
        #expect(throws: SystemError.self) {
            let transaction = try Transaction(on: connection)
            try connection.insert([1])
            try connection.insert([1])
            try transaction.commit()
        }
        #expect(try connection.countRows() == 0)
    }

    @Test func `A transaction does not begin inside another`() throws {
        let transaction = try Transaction(on: connection)
        #expect(throws: SystemError.self) { _ = try Transaction(on: connection) }
        try connection.insert([1])
        try transaction.commit()
        #expect(try connection.countRows() == 1)
    }

    @Test func `A write transaction cannot begin on a connection for reading`() throws {
        let reader = try directory.open(.readOnly)
        let error = #expect(throws: SystemError.self) { _ = try Transaction(on: reader) }
        #expect(error?.code == .readOnly)
    }

    // Promise: 17.1
    @Test(arguments: [0, 60, 300])
    func `A transaction that cannot begin by its deadline reports that the database is busy`(
        _ milliseconds: Int
    ) throws {
        let other = try OtherProcess.inTransaction(folder.path("keychain.db"), "BEGIN IMMEDIATE")
        let (time, error) = timed(within: .milliseconds(milliseconds + 50)) {
            connection.deadline = Deadline(after: .milliseconds(milliseconds))
            _ = try Transaction(on: connection)
        }
        #expect((error as? SystemError)?.code == .busy)
        #expect(time >= .milliseconds(milliseconds))
        #expect(time < .milliseconds(milliseconds + 50))
        other.goOn()
    }

    @Test func `A transaction waits until its deadline for a stopped process`() throws {
        let other = try OtherProcess.inTransaction(folder.path("keychain.db"), "BEGIN IMMEDIATE")
        other.signal(SIGSTOP)
        let (time, error) = timed(within: .milliseconds(150)) {
            connection.deadline = Deadline(after: .milliseconds(100))
            _ = try Transaction(on: connection)
        }
        #expect((error as? SystemError)?.code == .busy)
        #expect(time < .milliseconds(150))
    }

    @Test func `A transaction begins as soon as the other process has ended its own`() throws {
        let other = try OtherProcess.inTransaction(folder.path("keychain.db"), "BEGIN IMMEDIATE")
        connection.deadline = Deadline(after: .seconds(20))
        other.goOn()
        let (time, error) = timed { _ = try Transaction(on: connection) }
        #expect(error == nil)
        #expect(time < .seconds(10))
    }

    @Test func `A read transaction sees one moment`() throws {
        let reader = try directory.open(.readOnly)
        do {
            let transaction = try ReadTransaction(on: reader)
            #expect(try reader.countRows() == 0)
            try connection.insert([1])
            #expect(try reader.countRows() == 0)
            _ = consume transaction
        }
        #expect(try reader.countRows() == 1)
        #expect(!reader.isInTransaction)
    }

    @Test func `A read transaction does not prevent writes`() throws {
        let other = try OtherProcess.inTransaction(folder.path("keychain.db"), "BEGIN")
        connection.deadline = .immediately
        try connection.insert([1])
        other.goOn()
    }
}

@Suite struct `The write-ahead log` {
    let folder: TestFolder
    let directory: PrivateDirectory
    let connection: Connection

    init() throws {
        folder = try TestFolder()
        directory = try folder.directory()
        connection = try directory.makeDatabase()
    }

    @Test func `The log is checkpointed only on request`() throws {
        try connection.checkpoint(.truncate)
        let before = try folder.read("keychain.db")
        for number in 0..<2_000 {
            try connection.insert([UInt8(number & 255), UInt8(number >> 8)], [1])
        }
        #expect(connection.walFrameCount > 2_000)
        try connection.close()
        #expect(try folder.read("keychain.db") == before)
    }

    @Test func `The log is counted in frames, and empty after a truncating checkpoint`() throws {
        try connection.insert([1])
        let frameCount = connection.walFrameCount
        #expect(frameCount > 0)
        let passive = try connection.checkpoint(.passive)
        #expect(passive == .init(frameCount: frameCount, checkpointedCount: frameCount))
        #expect(try connection.checkpoint(.truncate) == .init(frameCount: 0, checkpointedCount: 0))
        #expect(connection.walFrameCount == 0)
        #expect(try folder.read("keychain.db-wal").isEmpty)
    }

    @Test func `The log is not checkpointed beyond what a reader still needs`() throws {
        let other = try OtherProcess.inTransaction(folder.path("keychain.db"), "BEGIN")
        try connection.insert([1])
        let result = try connection.checkpoint(.passive)
        #expect(result.checkpointedCount < result.frameCount)
        other.goOn()
    }

    @Test func `Emptying the log waits for a reader until the deadline`() throws {
        let other = try OtherProcess.inTransaction(folder.path("keychain.db"), "BEGIN")
        try connection.insert([1])
        let (time, error) = timed(within: .milliseconds(150)) {
            connection.deadline = Deadline(after: .milliseconds(100))
            try connection.checkpoint(.truncate)
        }
        #expect((error as? SystemError)?.code == .busy)
        #expect(time >= .milliseconds(100) && time < .milliseconds(150))
        other.goOn()
    }

    // Promise: 13.1
    @Test func `The log is read again after all processes have ended`() throws {
        try connection.insert([1])
        try connection.close()
        #expect(try directory.open().countRows() == 1)
    }
}
