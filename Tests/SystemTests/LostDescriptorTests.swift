// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystemSupport
import ValetTestValues

@testable import ValetSystem

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

    @Test func `A folder descriptor that somebody took is not used and not closed`() throws {
        var files: [Int32: FileIdentity] = [:]
        do {
            let own = try PrivateDirectory.open(folder.path("home"), creating: false)
            files[own.descriptor.number] = try take(own.descriptor.number)
            #expect(try !own.isInPlace())
            let error = #expect(throws: SystemError.self) {
                try own.checkPlace()
            }
            #expect(error?.code == .replaced)
        }
        #expect(try areUntouched(files))
        for number in files.keys { close(number) }
    }

    @Test func `A lock descriptor that somebody took is not locked`() throws {
        let lock = LockFile("keychain.lock", in: directory)
        _ = try lock.acquire(before: .immediately)
        let identity = try #require(try directory.check(file: "keychain.lock"))
        let number = try #require((3..<1024).first { HeldDescriptor.leads($0, to: identity) })
        let files = [number: try take(number)]
        let held = try lock.acquire(before: .immediately)
        let other = LockFile("keychain.lock", in: directory)
        #expect(throws: SystemError.self) { _ = try other.acquire(before: .immediately) }
        _ = consume held
        #expect(try areUntouched(files))
        close(number)
    }
}
