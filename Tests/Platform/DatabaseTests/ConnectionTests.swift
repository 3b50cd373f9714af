// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetSystemSupport
import ValetTestValues

@testable import ValetDatabase

@Suite struct `Opening a database` {
    let folder: TestFolder
    let directory: PrivateDirectory

    init() throws {
        folder = try TestFolder()
        directory = try folder.directory()
    }

    @Test(arguments: [Connection.Access.readWrite, .readOnly])
    func `Opening a missing database reports that it is missing`(_ access: Connection.Access) {
        let error = #expect(throws: SystemError.self) { try directory.open(access) }
        #expect(error?.code == .missing)
        #expect(error?.path == folder.path("keychain.db"))
        #expect(folder.mode("keychain.db") == nil)
    }

    @Test func `Creating a database refuses an existing one`() throws {
        try directory.makeDatabase().insert([1])
        let error = #expect(throws: SystemError.self) { try directory.open(.create) }
        #expect(error?.code == .alreadyExists)
        #expect(try directory.open(.readOnly).countRows() == 1)
    }

    // Promise: 2.1
    @Test(arguments: [0o000, 0o077, 0o777] as [mode_t])
    func `A database's files have mode 0600 whatever the umask`(_ mask: mode_t) throws {
        let path = folder.path
        try withUmask(mask) {
            _ = try PrivateDirectory.open(path, creating: false).makeDatabase()
        }
        for suffix in ["", "-wal", "-shm"] {
            #expect(folder.mode("keychain.db" + suffix) == 0o600)
        }
    }

    @Test(
        arguments: [
            ("PRAGMA journal_mode", "wal"), ("PRAGMA synchronous", "2"),
            ("PRAGMA wal_autocheckpoint", "0"), ("PRAGMA trusted_schema", "0"),
            ("PRAGMA secure_delete", "1"), ("PRAGMA mmap_size", "0"), ("PRAGMA temp_store", "2"),
            ("PRAGMA cache_size", "-8000"), ("PRAGMA foreign_keys", "0"),
            ("PRAGMA cell_size_check", "1"), ("PRAGMA writable_schema", "0"),
        ] as [(StaticString, String)])
    func `A connection has every setting`(_ pragma: StaticString, _ value: String) throws {
        _ = try directory.makeDatabase()
        #expect(try Statement(pragma, on: directory.open()).onlyText() == value)
    }

    // Promise: 2.10
    @Test func `A connection cannot attach another database`() throws {
        let connection = try directory.makeDatabase()
        #expect(throws: SystemError.self) {
            try Statement("ATTACH ':memory:' AS other", on: connection).execute()
        }
    }

    // Promise: 2.10
    @Test func `A connection cannot be tricked into writing its own schema`() throws {
        let connection = try directory.makeDatabase()
        try Statement("PRAGMA writable_schema = ON", on: connection).execute()
        #expect(throws: SystemError.self) {
            try Statement("DELETE FROM sqlite_schema", on: connection).execute()
        }
    }

    @Test func `Opening a file that is not a database reports it`() throws {
        try folder.write(.init(repeating: 65, count: 8192), to: "keychain.db")
        let error = #expect(throws: SystemError.self) { try directory.open() }
        #expect(error?.code == .corrupt)
    }

    @Test func `Opening a database finds damage in the first page`() throws {
        _ = try directory.makeDatabase().checkpoint(.truncate)
        var bytes = try folder.read("keychain.db")
        bytes.replaceSubrange(100..<400, with: repeatElement(0xff, count: 300))
        try folder.write(bytes, to: "keychain.db")
        let error = #expect(throws: SystemError.self) { try directory.open().countRows() }
        #expect(error?.code == .corrupt)
    }

    @Test func `A flipped bit of the database's header is damage, or changes nothing`() throws {
        _ = try directory.makeDatabase().checkpoint(.truncate)
        let whole = try folder.read("keychain.db")
        var codes: Set<SystemError.Code> = []
        for bit in 0..<800 {
            var bytes = whole
            bytes[bit / 8] ^= 1 << (bit % 8)
            try folder.write(bytes, to: "keychain.db")
            do {
                _ = try directory.open().countRows()
            } catch let error as SystemError {
                codes.insert(error.code)
            }
        }
        #expect(codes.isSubset(of: [.corrupt, .notADatabase]), "\(codes)")
    }

    @Test func `Opening a database finds that the file was cut short`() throws {
        do {
            let connection = try directory.makeDatabase()
            for number in 0..<50 {
                try connection.insert([UInt8(number)], .init(repeating: 1, count: 900))
            }
            try connection.checkpoint(.truncate)
        }
        try folder.write(Array(folder.read("keychain.db").prefix(8192)), to: "keychain.db")
        let error = #expect(throws: SystemError.self) {
            let connection = try directory.open()
            #expect(try !connection.integrityProblems().isEmpty)
            try connection.insert([99])
            _ = try connection.countRows()
        }
        #expect(error?.code == .corrupt)
    }

    @Test(arguments: ["keychain.db", "keychain.db-wal", "keychain.db-shm"])
    func `Opening a database refuses any of its files that others may read`(_ name: String) throws {
        _ = try directory.makeDatabase()
        folder.setMode(0o640, of: name)
        let error = #expect(throws: SystemError.self) { try directory.open() }
        #expect(error?.code == .wrongMode)
        #expect(error?.hint == "chmod 600 " + folder.path(name))
    }

    @Test func `Opening a database works through a symbolic link above its folder`() throws {
        let real = folder.path("real/valet")
        try FileManager.default.createDirectory(atPath: real, withIntermediateDirectories: true)
        folder.setMode(0o700, of: "real/valet")
        folder.link("link", to: "real")
        let directory = try PrivateDirectory.open(folder.path("link/valet"), creating: false)
        try directory.makeDatabase().insert([1])
        #expect(try directory.open().countRows() == 1)
    }

    @Test func `The last closed connection leaves log and index in place`() throws {
        try directory.makeDatabase().insert([1])
        #expect(try folder.read("keychain.db-wal").count > 32)
        #expect(folder.mode("keychain.db-shm") != nil)
    }
}

@Suite struct `A closed connection` {
    let folder: TestFolder
    let connection: Connection

    init() throws {
        folder = try TestFolder()
        connection = try folder.directory().makeDatabase()
    }

    @Test func `A closed connection runs no statement, prepared or not`() throws {
        let prepared = Statement("SELECT 1", on: connection)
        try prepared.execute()
        try connection.close()
        for statement in [prepared, Statement("SELECT 2", on: connection)] {
            let error = #expect(throws: SystemError.self) { try statement.execute() }
            #expect(error?.code == .misuse)
        }
    }

    @Test func `A closed connection begins no transaction`() throws {
        _ = try Transaction(on: connection)
        try connection.close()
        let error = #expect(throws: SystemError.self) { _ = try Transaction(on: connection) }
        #expect(error?.code == .misuse)
    }

    @Test func `A connection cannot be closed while a statement runs`() throws {
        let run = try Statement("SELECT 1", on: connection).start()
        let error = #expect(throws: SystemError.self) { try connection.close() }
        #expect(error?.code == .misuse)
        #expect(try run.step() == true)
    }

    @Test func `A connection is closed once`() throws {
        try connection.close()
        try connection.close()
        #expect(!connection.isOpen)
    }

    @Test func `A closed connection holds no locks`() throws {
        #expect(try !locksOfThisProcess(on: folder.path("keychain.db")).isEmpty)
        try connection.close()
        #expect(try locksOfThisProcess(on: folder.path("keychain.db")).isEmpty)
    }
}

@Suite struct `A connection` {
    // Promise: 17.7
    /// SQLite sleeps by itself then, and would do so for ten seconds.
    @Test(arguments: [true, false])
    func `A connection waits until the deadline while another opens the log`(
        _ isFirst: Bool
    ) throws {
        let folder = try TestFolder()
        let directory = try folder.directory()
        let first = try directory.makeDatabase()
        if isFirst { try first.close() }
        // The byte that is locked while the index is made, or those that a recovery locks.
        let (start, count) = isFirst ? (128, 1) : (120, 8)
        let other = try OtherProcess(
            """
            import fcntl, os, sys
            f = os.open(sys.argv[1], os.O_RDWR)
            fcntl.lockf(f, fcntl.LOCK_EX, int(sys.argv[3]), int(sys.argv[2]))
            print("held")
            input()
            """, folder.path("keychain.db-shm"), "\(start)", "\(count)")
        #expect(other.line() == "held")
        let begin = ContinuousClock.now
        let error = #expect(throws: SystemError.self) {
            if isFirst {
                _ = try directory.open(within: .milliseconds(300))
            } else {
                first.deadline = Deadline(after: .milliseconds(300))
                try first.insert([1])
            }
        }
        #expect(error?.code == .busy)
        #expect(ContinuousClock.now - begin >= .milliseconds(300))
        #expect(ContinuousClock.now - begin < .seconds(5))
        other.goOn()
        #expect(other.line() == nil)
        #expect(try directory.open().countRows() == 0)
    }
}
