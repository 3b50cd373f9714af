// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetSystemSupport
import ValetTestValues

@testable import ValetDatabase

/// The locks that this process holds on a file, one line each.
func locksOfThisProcess(on path: String) throws -> [String] {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return [] }
    let suffix = ":\(status.st_ino)"
    // `/proc/locks` leaves some out while other processes lock and unlock.
    let folder = "/proc/self/fdinfo"
    var locks: Set<String> = []
    for descriptor in try FileManager.default.contentsOfDirectory(atPath: folder) {
        // Another thread may have closed it.
        let facts = try? String(contentsOfFile: folder + "/" + descriptor, encoding: .utf8)
        for line in (facts ?? "").split(separator: "\n") where line.hasPrefix("lock:") {
            let words = line.split(whereSeparator: \.isWhitespace).dropFirst(2)
            if words.contains(where: { $0.hasSuffix(suffix) }) {
                locks.insert(words.joined(separator: " "))
            }
        }
    }
    return locks.sorted()
}

@Suite struct `Stray closes` {
    // Promise: 13.10
    @Test func `Checking files inside a transaction closes no descriptor that holds its locks`()
        throws
    {
        let folder = try TestFolder()
        let directory = try folder.directory()
        let connection = try directory.makeDatabase()
        let files = ["keychain.db", "keychain.db-shm"].map(folder.path)
        let transaction = try Transaction(on: connection)
        try connection.insert([1])
        let before = try files.map(locksOfThisProcess)
        #expect(before.allSatisfy { !$0.isEmpty })

        for name in try directory.names() { _ = try directory.check(file: name) }
        let reader = try directory.open(.readOnly)
        _ = try reader.integrityProblems()
        try reader.copy(to: "copy.db", in: directory)
        try reader.close()
        #expect(throws: SystemError.self) { try directory.open(.create) }
        _ = try PrivateDirectory.open(folder.path, creating: true)
        try directory.sync()

        #expect(try files.map(locksOfThisProcess) == before)
        #expect(try OtherProcess.triesToWrite(files[0]) == "busy")
        try transaction.commit()
        #expect(try OtherProcess.triesToWrite(files[0]) == "free")
    }
}

@Suite(.needsMounts) struct `A full disk` {
    @Test func `A full disk is reported and leaves everything readable`() throws {
        let folder = try TestFolder()
        let mount = try Mount.memory(at: folder.path, byteCount: 1 << 20)
        defer { mount.end() }
        let connection = try folder.directory().makeDatabase()
        var stored: Int64 = 0
        let error = #expect(throws: SystemError.self) {
            while stored < 1_000 {
                let key = [UInt8(stored & 255), UInt8(stored >> 8)]
                try connection.insert(key, .init(repeating: 1, count: 5_000))
                stored += 1
            }
        }
        #expect(error?.code == .diskFull)
        #expect(!connection.isInTransaction)
        #expect(try connection.countRows() == stored)
        #expect(try folder.directory().open().countRows() == stored)
        #expect(stored > 10)
    }

    // Promise: 13.15
    @Test func `A commit reserves the room that its checkpoint needs`() throws {
        let folder = try TestFolder()
        let mount = try Mount.memory(at: folder.path, byteCount: 1 << 20)
        defer { mount.end() }
        let directory = try folder.directory()
        let connection = try directory.makeDatabase()
        let pageCount = Statement("PRAGMA page_count", on: connection)
        func room(forBytes byteCount: Int) throws -> Bool {
            let transaction = try Transaction(on: connection)
            try connection.insert([1], .init(repeating: 1, count: byteCount))
            let run = try pageCount.start()
            let count = try run.step() ? run.int64(0) : 0
            try run.finish()
            let isLonger = try connection.reserveRoom(forPages: count) > 0
            let size = try directory.check(file: "keychain.db")?.byteCount ?? 0
            #expect(size >= count * 4096)
            _ = consume transaction
            return isLonger
        }
        #expect(try room(forBytes: 300_000))
        let error = #expect(throws: SystemError.self) { _ = try room(forBytes: 2_000_000) }
        #expect(error?.code == .diskFull)
        #expect(!connection.isInTransaction)
        #expect(try connection.countRows() == 0)
        #expect(try connection.integrityProblems() == [])
    }

    // Promise: 13.15
    @Test func `A full disk lets no transaction through in part`() throws {
        let folder = try TestFolder()
        let mount = try Mount.memory(at: folder.path, byteCount: 1 << 20)
        defer { mount.end() }
        let connection = try folder.directory().makeDatabase()
        try connection.insert([255])
        #expect(throws: SystemError.self) {
            let transaction = try Transaction(on: connection)
            for number in 0..<250 {
                try connection.insert([UInt8(number)], .init(repeating: 1, count: 20_000))
            }
            try transaction.commit()
        }
        #expect(try connection.countRows() == 1)
    }

    // Promise: 13.3
    @Test(arguments: Array(stride(from: 4_096, through: 57_344, by: 4_096)))
    func `On a full disk a database is created completely or not at all`(_ byteCount: Int) throws {
        let folder = try TestFolder()
        let mount = try Mount.memory(at: folder.path, byteCount: byteCount)
        defer { mount.end() }
        let directory = try folder.directory()
        do {
            _ = try directory.open(.create)
            #expect(try directory.check(file: "keychain.db") != nil)
        } catch let error as SystemError {
            #expect(error.code == .diskFull)
            #expect(try directory.names().isEmpty)
        }
    }
}

@Suite(.needsMounts) struct `A read-only file system` {
    let folder: TestFolder
    let place: TestFolder

    init() throws {
        folder = try TestFolder()
        place = try TestFolder()
        let connection = try folder.directory().makeDatabase()
        try connection.insert([1])
    }

    /// What is left beside the database: all, an empty log, nothing.
    @Test(
        arguments: [
            (false, []), (true, []), (true, ["-shm"]), (true, ["-wal"]), (true, ["-wal", "-shm"]),
        ] as [(Bool, [String])])
    func `A keychain on a read-only file system can be read`(
        _ emptiesLog: Bool, _ removed: [String]
    ) throws {
        if emptiesLog { try folder.directory().open().checkpoint(.truncate) }
        for suffix in removed {
            try FileManager.default.removeItem(atPath: folder.path("keychain.db" + suffix))
        }
        let mount = try Mount.readOnly(folder.path, at: place.path)
        defer { mount.end() }
        let directory = try place.directory()
        #expect(directory.isReadOnly)
        #expect(try directory.open(.readOnly).countRows() == 1)
    }

    @Test func `A keychain on a read-only file system refuses writes`() throws {
        let mount = try Mount.readOnly(folder.path, at: place.path)
        defer { mount.end() }
        let directory = try place.directory()
        let attempts: [() throws -> Void] = [
            { _ = try directory.open(.readWrite) },
            { try directory.createFile("device.key", contents: [1].span) },
            { _ = try Connection(to: "new.db", in: directory, for: .create, deadline: .never) },
            { _ = try FileLock("keychain.lock", in: directory).acquire(before: .immediately) },
            { _ = try PrivateDirectory.open(place.path("a/b"), creating: true) },
        ]
        for attempt in attempts {
            let error = #expect(throws: SystemError.self) { try attempt() }
            #expect(error?.code == .readOnly)
        }
    }
}
