// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystemSupport
import ValetTestValues

@testable import ValetSystem

@Suite struct `A small file` {
    let folder: TestFolder
    let directory: PrivateDirectory

    init() throws {
        folder = try TestFolder()
        directory = try folder.directory()
    }

    private func contents(_ name: String = "device.key", limit: Int = 100) throws -> [UInt8] {
        try directory.withContents(of: name, maxByteCount: limit) { span in
            span.indices.map { span[$0] }
        }
    }

    @Test(arguments: [[], [1], [UInt8](repeating: 9, count: 100)], [true, false])
    func `A small file is created with its contents and mode 0600`(
        _ bytes: [UInt8], _ unnamedFirst: Bool
    ) throws {
        try directory.createFile("device.key", contents: bytes.span, unnamedFirst: unnamedFirst)
        #expect(try contents() == bytes)
        #expect(folder.mode("device.key") == 0o600)
        #expect(try directory.names() == ["device.key"])
    }

    @Test(arguments: [0o000, 0o077, 0o777] as [mode_t])
    func `A small file has mode 0600 whatever the umask`(_ mask: mode_t) throws {
        let path = folder.path
        try withUmask(mask) {
            let directory = try PrivateDirectory.open(path, creating: false)
            try directory.createFile("a", contents: [1].span)
            try directory.createFile("b", contents: [1].span, unnamedFirst: false)
        }
        #expect(folder.mode("a") == 0o600)
        #expect(folder.mode("b") == 0o600)
    }

    @Test(arguments: [true, false])
    func `A small file is created by one of many concurrent tries`(_ unnamedFirst: Bool) throws {
        let directory = directory
        let results = Shared((winners: [UInt8](), losers: 0))
        onThreads(20) { number in
            let bytes = [UInt8](repeating: UInt8(number), count: 64)
            do {
                try directory.createFile(
                    "device.key", contents: bytes.span, unnamedFirst: unnamedFirst)
                results.change { $0.winners.append(UInt8(number)) }
            } catch let error as SystemError {
                if error.code == .alreadyExists { results.change { $0.losers += 1 } }
            } catch {}
        }
        let (winners, losers) = results.change { $0 }
        #expect(winners.count == 1)
        #expect(losers == 19)
        #expect(try contents() == .init(repeating: winners.first ?? 99, count: 64))
        #expect(try directory.names() == ["device.key"])
    }

    @Test func `A small file is not created through a symbolic link`() {
        folder.link("device.key", to: "target")
        let error = #expect(throws: SystemError.self) {
            try directory.createFile("device.key", contents: [1].span)
        }
        #expect(error?.code == .alreadyExists)
        #expect(folder.mode("target") == nil)
    }

    @Test func `A small file is read up to a limit`() throws {
        try directory.createFile("device.key", contents: [1, 2, 3].span)
        #expect(try contents(limit: 3) == [1, 2, 3])
        let error = #expect(throws: SystemError.self) { try contents(limit: 2) }
        #expect(error?.code == .tooLarge)
    }

    @Test func `A small file is overwritten with zeros before it is removed`() throws {
        let bytes = [UInt8](repeating: 7, count: 10_000)
        try directory.createFile("device.key", contents: bytes.span)
        let witness = try #require(FileHandle(forReadingAtPath: folder.path("device.key")))
        try directory.overwriteAndRemove("device.key")
        #expect(try witness.readToEnd() == Data(count: 10_000))
        #expect(folder.mode("device.key") == nil)
    }

    @Test func `A small file is renamed over an old file only on request`() throws {
        try directory.createFile("a", contents: [1].span)
        try directory.createFile("b", contents: [2].span)
        let error = #expect(throws: SystemError.self) {
            try directory.rename("a", to: "b", replacing: false)
        }
        #expect(error?.code == .alreadyExists)
        #expect(try contents("b") == [2])
        try directory.rename("a", to: "b", replacing: true)
        #expect(try contents("b") == [1])
        try directory.rename("b", to: "c", replacing: false)
        #expect(try directory.names() == ["c"])
    }

    @Test(arguments: Use.allCases)
    func `An unsafe file in place of a small file is refused for every use`(_ use: Use) throws {
        func refusal(_ name: String) -> SystemError.Code? {
            (#expect(throws: SystemError.self) { try use.run(name, in: directory) })?.code
        }
        #expect(refusal("missing") == .missing)
        try folder.write([1], to: "open", mode: 0o644)
        #expect(refusal("open") == .wrongMode)
        folder.link("link", to: "open")
        #expect(refusal("link") == .symbolicLink)
        folder.makePipe("pipe")
        #expect(refusal("pipe") == .notARegularFile)
        folder.makeFolder("folder")
        #expect(refusal("folder") == .notARegularFile)
        try folder.write([1], to: "twice")
        folder.linkHard("second", to: "twice")
        #expect(refusal("twice") == .notARegularFile)
        #expect(try folder.read("open") == [1])
    }

    enum Use: CaseIterable {
        case reading, erasing

        func run(_ name: String, in directory: PrivateDirectory) throws {
            switch self {
            case .reading: try directory.withContents(of: name, maxByteCount: 9) { _ in }
            case .erasing: try directory.overwriteAndRemove(name)
            }
        }
    }
}

@Suite struct `The environment` {
    @Test func `The environment is read`() {
        #expect(Environment(["VALET_HOME": "/k"]).value("VALET_HOME") == "/k")
        #expect(Environment(["VALET_HOME": "/k"]).value("HOME") == nil)
    }

    // Promise: 2.9
    @Test func `A program with more rights than its caller does not read the environment`() {
        #expect(Environment(["VALET_HOME": "/k"], isElevated: true).value("VALET_HOME") == nil)
    }

    @Test func `The environment of this process is read`() {
        #expect(!Environment.ofProcess.isElevated)
        #expect(
            Environment.ofProcess.value("PATH") == ProcessInfo.processInfo.environment["PATH"])
    }

    @Test func `The home folder is found without the environment`() throws {
        #expect(try Environment.homeFromUserDatabase().hasPrefix("/"))
    }
}

@Suite(.needsMounts) struct `A full disk` {
    @Test(arguments: [true, false])
    func `A full disk leaves no small file behind`(_ unnamedFirst: Bool) throws {
        let folder = try TestFolder()
        let mount = try Mount.memory(at: folder.path, byteCount: 64 << 10)
        defer { mount.end() }
        let directory = try folder.directory()
        let bytes = [UInt8](repeating: 1, count: 128 << 10)
        let error = #expect(throws: SystemError.self) {
            try directory.createFile("device.key", contents: bytes.span, unnamedFirst: unnamedFirst)
        }
        #expect(error?.code == .diskFull)
        #expect(try directory.names().isEmpty)
    }
}
