// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetSystem
import ValetSystemSupport
import ValetTestValues

@testable import ValetDatabase

/// docs/decisions/0047-replaced-folders.md: SQLite gives every connection of a process the index
/// that the first one has opened.
@Suite struct `The log that the connections of a process share` {
    let folder: TestFolder
    let directory: PrivateDirectory

    init() throws {
        folder = try TestFolder()
        directory = try folder.directory()
        try directory.makeDatabase().close()
    }

    /// Gives the path of the index to another file, as a process does that opens the database.
    private func replaceIndex() throws {
        let path = folder.path("keychain.db-shm")
        let bytes = try Data(contentsOf: URL(filePath: path))
        try FileManager.default.removeItem(atPath: path)
        try folder.write([UInt8](bytes), to: "keychain.db-shm", mode: 0o600)
    }

    private func code(_ body: () throws -> Void) -> SystemError.Code? {
        #expect(throws: SystemError.self, performing: body)?.code
    }

    // Promise: 2.4
    @Test func `A connection is refused while another one has an index that lost its path`() throws
    {
        let old = try directory.open()
        try replaceIndex()
        #expect(code { _ = try directory.open() } == .replaced)
        // The failed one has left nothing open.
        #expect(code { _ = try directory.open() } == .replaced)
        try old.close()
        let new = try directory.open()
        try new.insert([1])
        #expect(try directory.open().countRows() == 1)
    }

    @Test func `A connection that finds no index has the one at its path afterwards`() throws {
        for part in ["-shm", "-wal"] {
            try FileManager.default.removeItem(atPath: folder.path("keychain.db" + part))
            let connection = try directory.open()
            let index = try directory.check(file: "keychain.db-shm")
            let log = try directory.check(file: "keychain.db-wal")
            #expect(try connection.indexIdentity?.isSameFile(as: #require(index)) == true)
            #expect(try connection.logIdentity?.isSameFile(as: #require(log)) == true)
            try connection.close()
        }
    }

    // Promise: 2.4
    /// The index is replaced while threads open and close: what one of them acknowledges, each
    /// later connection reads.
    @Test func `Connections that threads open and close never write with an index without a path`()
        throws
    {
        let lock = FileLock("keychain.lock", in: directory)
        let written = Mutex(0)
        let failures = Mutex<[SystemError.Code]>([])
        let (directory, indexPath) = (directory, folder.path("keychain.db-shm"))
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for number in 0..<40 {
                if thread == 0 { try? FileManager.default.removeItem(atPath: indexPath) }
                do throws(SystemError) {
                    let connection = try Self.open(directory)
                    let held = try lock.acquire(before: .never)
                    // A writer looks first, and after its commit.
                    guard try Self.isSound(connection, directory) else { continue }
                    try connection.add(UInt8(thread * 40 + number))
                    if try Self.isSound(connection, directory) { written.withLock { $0 += 1 } }
                    _ = consume held
                } catch {
                    failures.withLock { $0.append(error.code) }
                }
            }
        }
        #expect(Set(failures.withLock { $0 }).isSubset(of: [.replaced, .busy]))
        #expect(try directory.open().countRows() >= Int64(written.withLock { $0 }))
    }

    private static func open(
        _ directory: PrivateDirectory
    ) throws(SystemError) -> Connection {
        try Connection(
            to: "keychain.db", in: directory, for: .readWrite,
            deadline: Deadline(after: .seconds(20)))
    }

    private static func isSound(
        _ connection: Connection, _ directory: PrivateDirectory
    ) throws(SystemError) -> Bool {
        guard let index = connection.indexIdentity,
            let found = try directory.identity(of: "keychain.db-shm")
        else { return false }
        return found.isSameFile(as: index)
    }
}

extension Connection {
    fileprivate func add(_ key: UInt8) throws(SystemError) {
        let run = try Statement("INSERT INTO t VALUES (?1, ?2)", on: self).start()
        try run.bind([key], at: 1)
        try run.bind([0], at: 2)
        try run.finish()
    }
}
