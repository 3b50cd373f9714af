// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystemSupport
import ValetTestValues

@testable import ValetSystem

@Suite struct `A watch on a folder` {
    private let folder: TestFolder
    private let directory: PrivateDirectory

    init() throws {
        folder = try TestFolder()
        directory = try PrivateDirectory.open(folder.path, creating: false)
    }

    /// Long enough for any machine, where something happens; where nothing may, all that is waited.
    private let soon = Duration.seconds(20)
    private let briefly = Duration.milliseconds(60)

    private func watch(_ names: Set<String>, in path: String? = nil) throws -> FolderWatch {
        let watch = try FolderWatch()
        #expect(watch.watch([FolderWatch.Place(path ?? folder.path, names)]))
        return watch
    }

    @Test func `A folder watch reports a name that is created, touched and removed`() throws {
        let watch = try watch(["state"])
        try directory.touch("state")
        #expect(watch.wait(until: Deadline(after: soon)))
        try directory.touch("state")
        #expect(watch.wait(until: Deadline(after: soon)))
        try directory.remove("state")
        #expect(watch.wait(until: Deadline(after: soon)))
    }

    @Test func `A folder watch reports a file that replaces another`() throws {
        try directory.touch("new")
        let watch = try watch(["state"])
        try directory.rename("new", to: "state", replacing: false)
        #expect(watch.wait(until: Deadline(after: soon)))
    }

    @Test func `A folder watch does not report other names, nor writes to a file`() throws {
        try directory.touch("state")
        let watch = try watch(["state"])
        try directory.touch("other")
        try Data("bytes".utf8).write(to: URL(fileURLWithPath: directory.path(of: "other")))
        let handle = try FileHandle(
            forWritingTo: URL(fileURLWithPath: directory.path(of: "state")))
        try handle.write(contentsOf: Data("bytes".utf8))
        try handle.close()
        #expect(!watch.wait(until: Deadline(after: briefly)))
    }

    @Test func `A folder watch reports a folder that is created with its parents`() throws {
        let path = folder.path + "/one/two"
        let watch = try watch(["state"], in: path)
        try FileManager.default.createDirectory(
            atPath: folder.path + "/one", withIntermediateDirectories: false)
        #expect(watch.wait(until: Deadline(after: soon)))
        #expect(watch.watch([FolderWatch.Place(path, ["state"])]))
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false)
        #expect(watch.wait(until: Deadline(after: soon)))
        #expect(watch.watch([FolderWatch.Place(path, ["state"])]))
        try Data().write(to: URL(fileURLWithPath: path + "/state"))
        #expect(watch.wait(until: Deadline(after: soon)))
    }

    @Test func `A folder watch reports a removed folder and follows the next one`() throws {
        let path = folder.path + "/one"
        let manager = FileManager.default
        try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
        let watch = try watch(["state"], in: path)
        try manager.removeItem(atPath: path)
        #expect(watch.wait(until: Deadline(after: soon)))
        try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(watch.watch([FolderWatch.Place(path, ["state"])]))
        while watch.wait(until: Deadline(after: briefly)) {}
        try Data().write(to: URL(fileURLWithPath: path + "/state"))
        #expect(watch.wait(until: Deadline(after: soon)))
    }

    @Test func `A folder watch forgets folders that it does not watch any more`() throws {
        let watch = try watch(["state"])
        #expect(watch.watch([]))
        try directory.touch("state")
        #expect(!watch.wait(until: Deadline(after: briefly)))
    }

    @Test func `A folder watch can be woken, even before it waits`() throws {
        let watch = try watch(["state"])
        watch.wake()
        #expect(watch.wait(until: Deadline(after: soon)))
        #expect(!watch.wait(until: Deadline(after: briefly)))
        let thread = Thread { watch.wake() }
        thread.start()
        #expect(watch.wait(until: Deadline(after: soon)))
    }
}

@Suite struct `A touched file` {
    @Test func `A touched file is empty and private whatever the umask`() throws {
        let folder = try TestFolder()
        let directory = try PrivateDirectory.open(folder.path, creating: false)
        try directory.touch("state")
        #expect(try directory.check(file: "state")?.byteCount == 0)
        let attributes = try FileManager.default.attributesOfItem(
            atPath: directory.path(of: "state"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `A touched file is refused if it is a symbolic link`() throws {
        let folder = try TestFolder()
        let directory = try PrivateDirectory.open(folder.path, creating: false)
        try FileManager.default.createSymbolicLink(
            atPath: directory.path(of: "state"), withDestinationPath: "/etc/passwd")
        let error = #expect(throws: SystemError.self) { try directory.touch("state") }
        #expect(error?.code == .symbolicLink)
    }
}
