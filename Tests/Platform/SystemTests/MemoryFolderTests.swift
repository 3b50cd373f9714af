// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ValetSystem

@Suite struct `A folder in memory` {
    private func text(_ folder: borrowing MemoryFolder, _ name: String) throws -> String {
        try folder.reading(name) { (file) throws(SystemError) in
            var bytes = [UInt8](repeating: 0, count: 64)
            var span = bytes.mutableSpan
            let count = FileDescriptor.read(from: file, into: &span, at: 0..<64)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }
    }

    @Test func `It is private, in memory, and gone after its removal`() throws {
        let folder = try MemoryFolder()
        let path = folder.path
        try folder.write(Array("secret".utf8).span, to: "a")
        let read = try text(folder, "a")
        #expect(read == "secret")
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o700)
        let file = try FileManager.default.attributesOfItem(atPath: path + "/a")
        #expect(file[.posixPermissions] as? Int == 0o600)
        #expect(MemoryFolder.isInMemory(path) && !MemoryFolder.isInMemory("/proc"))
        let isRemoved = folder.remove()
        #expect(isRemoved)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `Processes that make folders at the same time do not take those of others away`()
        throws
    {
        let failures = Lock(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<200 where (try? MemoryFolder()) == nil {
                failures.withLock { $0 += 1 }
            }
        }
        #expect(failures.withLock { $0 } == 0)
    }

    @Test func `Dropping it removes it`() throws {
        let path: String
        do {
            let folder = try MemoryFolder()
            path = folder.path
            try folder.write(Array("secret".utf8).span, to: "a")
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    // Promise: 4.10
    /// A program may keep a file open: what it still sees is zeros.
    @Test func `Its files are overwritten, also those that were closed to this user`() throws {
        let folder = try MemoryFolder()
        let manager = FileManager.default
        let inner = folder.path + "/a/b"
        try manager.createDirectory(atPath: inner, withIntermediateDirectories: true)
        let path = inner + "/c"
        let secret = Data(repeating: 0x61, count: 200_000)
        try secret.write(to: URL(fileURLWithPath: path))
        let open = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        try manager.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
        try manager.createSymbolicLink(
            atPath: folder.path + "/link", withDestinationPath: "/etc/passwd")
        let isRemoved = folder.remove()
        #expect(isRemoved)
        #expect(try open.readToEnd() == Data(repeating: 0, count: 200_000))
        #expect(manager.fileExists(atPath: "/etc/passwd"))
    }

    @Test func `A link in place of a file is not read`() throws {
        let folder = try MemoryFolder()
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/a", withDestinationPath: "/etc/passwd")
        try FileManager.default.createDirectory(
            atPath: folder.path + "/b", withIntermediateDirectories: false)
        for name in ["a", "b", "none"] {
            let found = try? text(folder, name)
            #expect(found == nil)
        }
    }

    @Test(arguments: [["/proc"], ["/nowhere"], []])
    func `A folder on a disk is refused`(_ places: [String]) {
        do {
            let path = try MemoryFolder(in: places).path
            Issue.record("a folder was made: \(path)")
        } catch {
            #expect(error.code == .unsupportedFileSystem)
        }
    }

    @Test func `Of several places the first in memory is taken, and nothing is left in others`()
        throws
    {
        let disk = FileManager.default.temporaryDirectory
            .appendingPathComponent("valet-places-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: disk) }
        let isDisk = !MemoryFolder.isInMemory(disk)
        let folder = try MemoryFolder(in: [disk, "/dev/shm"])
        #expect(folder.path.hasPrefix(isDisk ? "/dev/shm/" : disk))
        #expect(!isDisk || FileManager.default.subpaths(atPath: disk) == [])
    }

    @Test func `A folder whose owner was killed is removed, and others stay`() throws {
        let (manager, id) = (FileManager.default, UUID().uuidString.prefix(6))
        // Of its own: other processes remove what is abandoned in those that they use.
        let place = "/dev/shm/tests-\(id)"
        try manager.createDirectory(atPath: place, withIntermediateDirectories: false)
        defer { try? manager.removeItem(atPath: place) }
        let abandoned = "\(place)/valet-in-memory-\(id)"
        let foreign = "\(place)/valet-\(id)"
        for path in [abandoned, foreign] {
            try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
            try Data("secret".utf8).write(to: URL(fileURLWithPath: path + "/a"))
        }
        defer { try? manager.removeItem(atPath: foreign) }
        let first = try MemoryFolder(in: [place])
        let second = try MemoryFolder(in: [place])
        #expect(!manager.fileExists(atPath: abandoned))
        let paths = [foreign, first.path, second.path]
        for path in paths { #expect(manager.fileExists(atPath: path)) }
        try first.write(Array("b".utf8).span, to: "a")
        let areRemoved = [first.remove(), second.remove()]
        #expect(areRemoved == [true, true])
    }
}
