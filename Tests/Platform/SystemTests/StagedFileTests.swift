// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystemSupport
import ValetTestValues

@testable import ValetSystem

@Suite struct `A file that is written piece by piece` {
    let folder: TestFolder
    let directory: PrivateDirectory

    init() throws {
        folder = try TestFolder()
        directory = try folder.directory()
    }

    private func file(
        _ name: String = "a", replacing: Bool = false, unnamedFirst: Bool = true
    ) throws -> AtomicFile {
        try AtomicFile(at: folder.path(name), replacing: replacing, unnamedFirst: unnamedFirst)
    }

    private func code(_ body: () throws -> Void) -> SystemError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? SystemError)?.code
        }
    }

    private func codeOfCommit(_ file: consuming AtomicFile) -> SystemError.Code? {
        do throws(SystemError) {
            try file.commit()
            return nil
        } catch {
            return error.code
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `A staged file has its name only once it is complete`(
        _ unnamedFirst: Bool, _ replacing: Bool
    ) throws {
        if replacing { try folder.write([9, 9, 9, 9], to: "a", mode: 0o644) }
        var file = try file(replacing: replacing, unnamedFirst: unnamedFirst)
        try file.append([1, 2].span)
        try file.append([3].span)
        #expect(file.byteCount == 3)
        #expect(folder.mode("a") == (replacing ? 0o644 : nil))
        try file.commit()
        #expect(try folder.read("a") == [1, 2, 3])
        #expect(folder.mode("a") == 0o600)
        #expect(try directory.names() == ["a"])
    }

    @Test(arguments: [true, false], [true, false])
    func `A dropped staged file leaves nothing`(_ unnamedFirst: Bool, _ replacing: Bool) throws {
        var file = try file(replacing: replacing, unnamedFirst: unnamedFirst)
        try file.append([1].span)
        #expect(try directory.names().count == (unnamedFirst ? 0 : 1))
        _ = consume file
        #expect(try directory.names() == [])
    }

    @Test(arguments: [true, false])
    func `A staged file does not replace a file that appears while it is written`(
        _ unnamedFirst: Bool
    ) throws {
        let file = try file(unnamedFirst: unnamedFirst)
        try folder.write([1], to: "a")
        #expect(codeOfCommit(file) == .alreadyExists)
        #expect(try folder.read("a") == [1])
        #expect(try directory.names() == ["a"])
    }

    @Test(arguments: [true, false])
    func `A staged file replaces only a file`(_ isLate: Bool) throws {
        if isLate {
            let file = try file(replacing: true)
            folder.link("a", to: "b")
            #expect(codeOfCommit(file) == .symbolicLink)
        } else {
            folder.link("a", to: "b")
            #expect(code { _ = try file(replacing: true) } == .symbolicLink)
        }
        #expect(try directory.names() == ["a"])
        folder.makeFolder("c")
        #expect(code { _ = try file("c", replacing: true) } == .notARegularFile)
    }

    @Test(arguments: [0o000, 0o777] as [mode_t], [true, false])
    func `A staged file has mode 0600 whatever the umask`(_ mask: mode_t, _ unnamedFirst: Bool)
        throws
    {
        let path = folder.path("a")
        try withUmask(mask) {
            try AtomicFile(at: path, replacing: false, unnamedFirst: unnamedFirst).commit()
        }
        #expect(folder.mode("a") == 0o600)
    }

    /// What the receiver's pipe has no room for waits until there is room.
    @Test func `A staged output is sent whole through a pipe that does not block`() throws {
        let pipe = Foundation.Pipe()
        let output = pipe.fileHandleForWriting
        let number = output.fileDescriptor
        _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
        let bytes = [UInt8](repeating: 7, count: 300_000)
        let received = Shared(0)
        onThreads(2) { thread in
            if thread == 0 {
                while true {
                    let piece = pipe.fileHandleForReading.availableData
                    if piece.isEmpty { return }
                    received.change { $0 += piece.count }
                }
            }
            do {
                var file = try AtomicFile(sendingTo: number)
                try file.append(bytes.span)
                try file.commit()
            } catch {
                Issue.record(error)
            }
            try? output.close()
        }
        #expect(received.change { $0 } == bytes.count)
    }

    @Test(arguments: ["", "/", ".", "..", "x/", "x/..", "a\u{0}b"])
    func `A staged file needs a name`(_ name: String) {
        #expect(code { _ = try AtomicFile(at: name, replacing: true) } == .misuse)
    }

    @Test(arguments: ["é", "क्षि"])
    func `A staged file may have the longest possible name`(_ part: String) throws {
        let name = String(repeating: part, count: 255 / part.utf8.count)
        var file = try file(name, unnamedFirst: false)
        try file.append([1].span)
        try file.commit()
        #expect(try directory.names() == [name])
        #expect(code { _ = try self.file(name + "éé", unnamedFirst: true) } == .cannotOpen)
    }

    @Test func `A staged file may have a relative path`() throws {
        // Not beside the tests, whose folder may be another user's.
        let depth = FileManager.default.currentDirectoryPath.split(separator: "/").count
        let path = String(repeating: "../", count: depth) + folder.path.dropFirst() + "/relative"
        try AtomicFile(at: path, replacing: false).commit()
        #expect(try UserFile(path).path == path)
    }

    @Test(.needsMounts) func `A staged file is not finished on a full disk`() throws {
        let mount = try Mount.memory(at: folder.path, byteCount: 64 << 10)
        defer { mount.end() }
        let piece = [UInt8](repeating: 1, count: 40 << 10)
        for unnamedFirst in [true, false] {
            var file = try file(unnamedFirst: unnamedFirst)
            try file.append(piece.span)
            var codes: [SystemError.Code?] = []
            for _ in 0..<2 {
                do throws(SystemError) {
                    try file.append(piece.span)
                } catch {
                    codes.append(error.code)
                }
            }
            // A later piece that would fit must not end up behind a gap.
            let byte: [UInt8] = [1]
            do throws(SystemError) {
                try file.append(byte.span)
            } catch {
                codes.append(error.code)
            }
            #expect(codes == [.diskFull, .diskFull, .diskFull])
            #expect(codeOfCommit(file) == .diskFull)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }
}

@Suite struct `A chosen file` {
    @Test func `A chosen file is read at any offset`() throws {
        let folder = try TestFolder()
        try folder.write([1, 2, 3, 4, 5], to: "a", mode: 0o644)
        let file = try UserFile(folder.path("a"))
        var buffer = [UInt8](repeating: 0, count: 3)
        #expect(try file.read(at: 1, into: &buffer) == 3)
        #expect(buffer == [2, 3, 4])
        #expect(try file.read(at: 3, into: &buffer) == 2)
        #expect(buffer.prefix(2) == [4, 5])
        #expect(try file.read(at: 5, into: &buffer) == 0)
        #expect(try file.read(at: 500, into: &buffer) == 0)
    }

    @Test func `A chosen file is a regular file`() throws {
        let folder = try TestFolder()
        folder.makePipe("pipe")
        folder.makeFolder("folder")
        for name in ["pipe", "folder"] {
            let error = #expect(throws: SystemError.self) {
                try UserFile(folder.path(name))
            }
            #expect(error?.code == .notARegularFile)
        }
        let error = #expect(throws: SystemError.self) { try UserFile(folder.path("none")) }
        #expect(error?.code == .missing)
    }
}
