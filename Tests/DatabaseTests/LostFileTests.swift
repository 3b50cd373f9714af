// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetSystemSupport
import ValetTestValues

@testable import ValetDatabase

/// Tests run side by side in one process: numbers are taken by `dup2` at one moment, and never
/// free for another test.
@Suite struct `A descriptor that somebody else has taken` {
    let folder: TestFolder
    let directory: PrivateDirectory
    private let contents = Data(repeating: 0x78, count: 64 << 10)

    init() throws {
        folder = try TestFolder()
        folder.makeFolder("home")
        folder.makeFolder("others")
        directory = try PrivateDirectory.open(folder.path("home"), creating: false)
    }

    /// Has the number lead to a new file of 64 KiB; returns which that is.
    private func take(_ number: Int32) throws -> FileIdentity {
        let path = folder.path("others/\(number)")
        try contents.write(to: URL(fileURLWithPath: path))
        let file = unsafe open(path, O_RDWR)
        #expect(file >= 0 && dup2(file, number) == number)
        close(file)
        return try #require(FileIdentity(of: path))
    }

    /// Whether the files are still there, under their numbers, and nobody has written to them.
    private func areUntouched(_ files: [Int32: FileIdentity]) throws -> Bool {
        try files.allSatisfy { number, identity in
            let path = folder.path("others/\(number)")
            return try HeldDescriptor.leads(number, to: identity)
                && Data(contentsOf: URL(fileURLWithPath: path)) == contents
        }
    }

    @Test(arguments: [false, true])
    func `SQLite leaves a descriptor that somebody took alone`(_ isWriting: Bool) throws {
        try directory.makeDatabase().close()
        let connection = try directory.open()
        let second = try directory.open()
        try connection.insert([1])
        #expect(try second.countRows() == 1)
        #expect(connection.isSound && second.isSound)
        #expect(Set(connection.openFiles.map(\.number)).count == 3)
        var transaction = isWriting ? try Transaction(on: connection) : nil
        var files: [Int32: FileIdentity] = [:]
        for file in Set(connection.openFiles + second.openFiles) {
            files[file.number] = try take(file.number)
        }
        #expect(!connection.isSound && !second.isSound)
        _ = transaction.take()
        try connection.close()
        try second.close()
        #expect(try areUntouched(files))
        // Nothing that SQLite knew of the files is left.
        let anew = try directory.open()
        #expect(anew.isSound)
        try anew.insert([2])
        #expect(try anew.countRows() == 2)
        #expect(try areUntouched(files))
        for number in files.keys { close(number) }
    }
}
