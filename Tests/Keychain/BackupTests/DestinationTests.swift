// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetTestValues

@testable import ValetKeychainStore

@Suite struct `Where a backup goes` {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// What starting a backup there throws.
    private func code(_ path: String, replacing: Bool = false) -> BackupFault? {
        do {
            _ = try TestBackup.writer(path, replacing: replacing)
            return nil
        } catch {
            return (error as? KeychainFailure)?.fault
        }
    }

    // Promise: 10.4
    @Test func `A backup's destination has its name only when it is whole`() throws {
        var writer = try TestBackup.writer(folder.backup)
        try writer.append(.sample("a", value: .init(repeating: 1, count: 200_000)))
        #expect(try folder.names() == [])
        _ = try writer.finish()
        #expect(try folder.names() == ["keys.backup"])
        #expect(folder.mode() == 0o600)
    }

    // Promise: 10.4
    @Test func `A backup's destination is left as it was by a backup that is not finished`() throws
    {
        try folder.write([1, 2, 3])
        for replacing in [true, false] {
            let path = replacing ? folder.backup : folder.path("other")
            var writer = try TestBackup.writer(path, replacing: replacing)
            try writer.append(.sample("a", value: .init(repeating: 1, count: 200_000)))
            _ = consume writer
        }
        #expect(try folder.names() == ["keys.backup"])
        #expect(try folder.read() == [1, 2, 3])
    }

    @Test func `A backup's destination is not a file that exists, unless it is to be replaced`()
        throws
    {
        try folder.write([1, 2, 3])
        #expect(code(folder.backup) == .destinationExists)
        #expect(try folder.read() == [1, 2, 3])
        var writer = try TestBackup.writer(folder.backup, replacing: true)
        try writer.append(.sample("a"))
        let written = try writer.finish()
        #expect(try TestBackup.open(folder.backup).verify() == written)
        #expect(try folder.names() == ["keys.backup"])
        #expect(folder.mode() == 0o600)
    }

    @Test func `A backup's destination is not a file that came into being meanwhile`() throws {
        let writer = try TestBackup.writer(folder.backup)
        try folder.write([1, 2, 3])
        let error = writer.errorOfFinishing()
        #expect(error?.fault == .destinationExists)
        #expect(try folder.read() == [1, 2, 3])
        #expect(try folder.names() == ["keys.backup"])
    }

    @Test(arguments: [true, false])
    func `A backup's destination is not a symbolic link`(_ replacing: Bool) throws {
        folder.link("keys.backup", to: "target")
        #expect(code(folder.backup, replacing: replacing) == .unsuitablePath)
        try folder.write([1], to: "target")
        #expect(code(folder.backup, replacing: replacing) == .unsuitablePath)
        #expect(try folder.read("target") == [1])
        #expect(try folder.names() == ["keys.backup", "target"])
    }

    @Test func `A backup's destination is not a folder, a pipe or nothing`() throws {
        folder.makeFolder("sub")
        folder.makePipe("pipe")
        #expect(code(folder.path("sub"), replacing: true) == .unsuitablePath)
        #expect(code(folder.path("pipe"), replacing: true) == .unsuitablePath)
        #expect(code(folder.path + "/", replacing: true) == .unsuitablePath)
        #expect(code("", replacing: true) == .unsuitablePath)
        #expect(code(folder.path("none/keys.backup")) == .missing)
        #expect(code(folder.path("pipe/keys.backup")) == .unsuitablePath)
    }

    @Test func `A backup's destination may be a folder that a symbolic link leads to`() throws {
        folder.makeFolder("sub")
        folder.link("link", to: "sub")
        try TestBackup.write([.sample("a")], to: folder.path("link/keys.backup"))
        #expect(try TestBackup.open(folder.path("sub/keys.backup")).verify().itemCount == 1)
    }

    @Test(.enabled(if: geteuid() != 0, "root may write everywhere"))
    func `A backup's destination is not a folder that may not be written to`() throws {
        folder.makeFolder("sub")
        unsafe _ = chmod(folder.path("sub"), 0o500)
        defer { unsafe _ = chmod(folder.path("sub"), 0o700) }
        #expect(code(folder.path("sub/keys.backup")) == .denied)
    }

    @Test func `A backup's destination is on a file system that may be written to`() {
        // Nothing can be made there, not even by root.
        #expect([.denied, .missing].contains(code("/proc/keys.backup")))
    }

    // Promise: 10.4
    @Test(.enabled(if: Place.hasMemory, "needs root, to mount"))
    func `A backup's destination is on a disk with room`() throws {
        let place = try Place.memory(byteCount: 512 << 10)
        defer { place.end() }
        let path = place.path + "/keys.backup"
        var writer = try TestBackup.writer(path)
        let item = try BackupItem.sample("a", value: .init(repeating: 1, count: 100_000))
        var codes: [KeychainFailure.Code] = []
        for _ in 0..<10 {
            do throws(KeychainFailure) { try writer.append(item) } catch {
                codes.append(error.code)
            }
        }
        #expect(codes.count >= 4)
        #expect(codes.allSatisfy { $0 == .diskFull })
        let error = writer.errorOfFinishing()
        #expect(error?.code == .diskFull)
        #expect(error?.systemError == ENOSPC)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == [])
        try TestBackup.write([item], to: path)
        #expect(try TestBackup.open(path).verify().itemCount == 1)
    }
}

@Suite struct `A path to read from` {
    @Test func `The path of a backup to read is one of a regular file`() throws {
        let folder = try TestFolder()
        folder.makePipe("pipe")
        let cases: [(String, BackupFault)] = [
            ("none", .missing), ("pipe", .unsuitablePath), ("", .unsuitablePath),
            ("pipe/x", .unsuitablePath),
        ]
        for (name, code) in cases {
            let error = #expect(throws: KeychainFailure.self) {
                try LockedBackup(folder.path(name))
            }
            #expect(error?.fault == code)
            #expect(error?.path == folder.path(name))
        }
    }

    @Test func `The path of a backup to read may be a symbolic link`() throws {
        let folder = try TestFolder()
        try TestBackup.write([.sample("a")], to: folder.backup)
        folder.link("link", to: "keys.backup")
        #expect(try TestBackup.open(folder.path("link")).verify().itemCount == 1)
    }
}
