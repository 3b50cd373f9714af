// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystemSupport
import ValetTestValues

@testable import ValetSystem

@Suite struct `A keychain's folder` {
    let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    private func refusal(_ path: String, creating: Bool = false) -> SystemError? {
        #expect(throws: SystemError.self) {
            try PrivateDirectory.open(path, creating: creating)
        }
    }

    @Test(arguments: [0o000, 0o077, 0o777] as [mode_t])
    func `A keychain folder is created with its parents and mode 0700 whatever the umask`(
        _ mask: mode_t
    ) throws {
        let path = folder.path("a/b/valet")
        try withUmask(mask) { _ = try PrivateDirectory.open(path, creating: true) }
        for name in ["a", "a/b", "a/b/valet"] { #expect(folder.mode(name) == 0o700) }
    }

    @Test func `A keychain folder is created once by many at the same time`() {
        let path = folder.path("a/b/valet")
        let made = Shared(0)
        onThreads(20) { _ in
            if (try? PrivateDirectory.open(path, creating: true)) != nil {
                made.change { $0 += 1 }
            }
        }
        #expect(made.change { $0 } == 20)
    }

    @Test func `A folder inside a keychain folder is that of the open one, wherever it was moved`()
        throws
    {
        let keychain = try PrivateDirectory.open(folder.path("keychain"), creating: true)
        #expect(throws: SystemError.self) { try keychain.folder("device", creating: false) }
        try FileManager.default.moveItem(
            atPath: folder.path("keychain"), toPath: folder.path("moved"))
        _ = try PrivateDirectory.open(folder.path("keychain"), creating: true)
        let device = try keychain.folder("device", creating: true)
        try device.createEmptyFile("file")
        #expect(folder.mode("moved/device") == 0o700 && folder.mode("keychain/device") == nil)
        let again = try keychain.folder("device", creating: false)
        #expect(try again.names() == ["file"])
    }

    @Test func `A keychain folder is not created unless requested`() {
        #expect(refusal(folder.path("none"))?.code == .missing)
        #expect(folder.mode("none") == nil)
    }

    @Test(arguments: [0o750, 0o707, 0o710] as [mode_t])
    func `A keychain folder with permissions for group or others is refused`(_ mode: mode_t) {
        folder.makeFolder("something")
        folder.setMode(mode, of: "")
        let error = refusal(folder.path, creating: true)
        #expect(error?.code == .wrongMode)
        #expect(error?.hint == "chmod 700 \(folder.path)")
        #expect(folder.mode("") == mode)
    }

    // Promise: 2.1
    @Test(arguments: [0o755, 0o777, 0o710] as [mode_t])
    func `An empty keychain folder that is open to others is closed to them`(_ mode: mode_t) throws
    {
        folder.setMode(mode, of: "")
        _ = try PrivateDirectory.open(folder.path, creating: true)
        #expect(folder.mode("") == 0o700)
    }

    @Test
    func `An empty keychain folder that is open to others counts as missing until it is created`() {
        folder.setMode(0o755, of: "")
        #expect(refusal(folder.path)?.code == .missing)
        #expect(folder.mode("") == 0o755)
    }

    @Test func `A refused keychain folder names every refused path at once`() throws {
        try folder.write([], to: "keychain.db", mode: 0o640)
        try folder.write([], to: "keychain.lock")
        folder.link("keychain.db-wal", to: "keychain.db")
        try folder.write([], to: "notes", mode: 0o666)
        folder.setMode(0o755, of: "")
        let refusals = PrivateDirectory.refusals(at: folder.path) { $0.hasPrefix("keychain.") }
        #expect(refusals.map(\.code) == [.wrongMode, .wrongMode, .symbolicLink])
        #expect(
            refusals.map(\.path) == [
                folder.path, folder.path("keychain.db"), folder.path("keychain.db-wal"),
            ])
        #expect(PrivateDirectory.refusals(at: folder.path("none")) { _ in true }.isEmpty)
    }

    /// To Swift, the mark and the slash beside it are one character.
    @Test(arguments: ["\u{600}", "\u{301}x"])
    func `A keychain folder beside a joining mark is the one that was named`(_ name: String) throws
    {
        _ = try PrivateDirectory.open(folder.path(name) + "/", creating: true)
        _ = try PrivateDirectory.open(folder.path(name) + "/k", creating: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path(name)) == ["k"])
    }

    @Test func `A link to a name that is not UTF-8 is refused with the reason`() throws {
        let bytes = Array(folder.path("x").utf8CString.dropLast()) + [-1, 0]
        #expect(unsafe mkdir(bytes, 0o700) == 0)
        #expect(unsafe symlink(bytes, folder.path("link")) == 0)
        #expect(throws: SystemError.self) {
            _ = try PrivateDirectory.open(folder.path("link") + "/k", creating: true)
        }.map { #expect($0.code == .misuse && $0.hint?.contains("UTF-8") == true) }
    }

    @Test(arguments: ["", "/", "//"])
    func `A keychain folder that is a symbolic link is refused`(_ ending: String) {
        folder.makeFolder("real")
        folder.link("link", to: "real")
        let error = refusal(folder.path("link") + ending)
        #expect(error?.code == .symbolicLink)
        #expect(error?.hint?.contains("VALET_HOME") == true)
    }

    @Test func `A dangling symbolic link as keychain folder is refused and creates nothing`() {
        folder.link("link", to: "nowhere")
        #expect(refusal(folder.path("link"), creating: true)?.code == .symbolicLink)
        #expect(folder.mode("nowhere") == nil)
    }

    @Test func `A file in place of a keychain folder is refused`() throws {
        try folder.write([], to: "file")
        #expect(refusal(folder.path("file"), creating: true)?.code == .notADirectory)
        #expect(refusal(folder.path("file/valet"), creating: true)?.code == .notADirectory)
    }

    @Test func `A keychain folder of another user is refused`() {
        if geteuid() == 0 { folder.giveAway("") }
        let path = geteuid() == 0 ? folder.path : "/"
        let error = refusal(path)
        #expect(error?.code == .wrongOwner)
        // Root is not to take over another user's files.
        let hint = geteuid() == 0 ? "run as user 65534" : "chown \(geteuid()) \(path)"
        #expect(error?.hint?.contains(hint) == true)
        #expect(geteuid() != 0 || error?.hint?.contains("chown") == false)
    }

    @Test(arguments: ["", "valet", "./valet", "a/../b"])
    func `A keychain folder has an absolute path`(_ path: String) {
        #expect(refusal(path, creating: true)?.code == .misuse)
    }

    @Test func `An opened keychain folder stays the same when its path leads elsewhere`() throws {
        let path = folder.path("valet")
        let directory = try PrivateDirectory.open(path, creating: true)
        try directory.createFile("device.key", contents: [1].span)
        folder.rename("valet", to: "moved")
        folder.makeFolder("valet")
        #expect(try directory.names() == ["device.key"])
    }
}

@Suite struct `Checking a file` {
    let folder: TestFolder
    let directory: PrivateDirectory

    init() throws {
        folder = try TestFolder()
        directory = try folder.directory()
    }

    private func refusal() -> SystemError? {
        #expect(throws: SystemError.self) { try directory.check(file: "keychain.db") }
    }

    @Test func `Checking a file returns its identity`() throws {
        try folder.write([1, 2, 3], to: "keychain.db")
        try folder.write([1, 2, 3], to: "other")
        let identity = try directory.check(file: "keychain.db")
        let other = try #require(try directory.check(file: "other"))
        #expect(identity?.byteCount == 3)
        #expect(identity?.isSameFile(as: other) == false)
        #expect(try directory.check(file: "keychain.db") == identity)
    }

    @Test func `Checking a missing file returns nothing`() throws {
        #expect(try directory.check(file: "keychain.db") == nil)
    }

    @Test(arguments: [0o640, 0o604, 0o666, 0o610] as [mode_t])
    func `Checking a file refuses permissions for others with a hint`(_ mode: mode_t) throws {
        try folder.write([], to: "keychain.db", mode: mode)
        let error = refusal()
        #expect(error?.code == .wrongMode)
        #expect(error?.hint == "chmod 600 \(folder.path("keychain.db"))")
    }

    @Test func `Checking a file refuses a symbolic link even to a sound file`() throws {
        try folder.write([], to: "real")
        folder.link("keychain.db", to: "real")
        #expect(refusal()?.code == .symbolicLink)
    }

    // Promise: 2.8
    @Test func `Checking a file refuses a second hard link`() throws {
        try folder.write([], to: "keychain.db")
        folder.linkHard("second", to: "keychain.db")
        #expect(refusal()?.code == .notARegularFile)
    }

    @Test func `Checking a file refuses a folder`() {
        folder.makeFolder("keychain.db")
        #expect(refusal()?.code == .notARegularFile)
    }

    @Test func `Checking a file refuses a pipe without hanging`() {
        folder.makePipe("keychain.db")
        #expect(refusal()?.code == .notARegularFile)
    }

    @Test(.enabled(if: geteuid() == 0 || Requirement.isStrict, "needs root, to give a file away"))
    func `Checking a file refuses a file of another user`() throws {
        try folder.write([], to: "keychain.db")
        folder.giveAway("keychain.db")
        #expect(refusal()?.code == .wrongOwner)
    }
}

@Suite struct `A file system` {
    // Promise: 17.8
    @Test(
        arguments: [
            0x6969, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x7375_7245, 0x5346_414f, 0x00c3_6400,
            0x0102_1997, 0x6573_5546, 0x0116_1970, 0x7461_636f, 0x0bd0_0bd0, 0x564c, 0x786f_4256,
        ] as [UInt32])
    func `A file system on another machine or behind a program is refused`(_ magic: UInt32) throws {
        let folder = try TestFolder()
        let error = #expect(throws: SystemError.self) {
            try PrivateDirectory.open(folder.path, creating: true) { _, _ in
                FileSystem(magic: magic)
            }
        }
        #expect(error?.code == .unsupportedFileSystem)
        #expect(error?.path == folder.path)
        #expect(error?.hint?.contains("VALET_HOME") == true)
    }

    @Test(arguments: [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630] as [UInt32])
    func `A file system of this machine is accepted`(_ magic: UInt32) {
        #expect(FileSystem(magic: magic).nameIfUnsupported == nil)
    }

    @Test func `The type of a file system is asked of the kernel`() throws {
        #expect(try TestFolder().directory().isReadOnly == false)
    }

    /// PROC_SUPER_MAGIC and SYSFS_MAGIC, which are the same everywhere.
    @Test(arguments: [("/proc", 0x9fa0), ("/sys", 0x6265_6572)] as [(String, UInt32)])
    func `The kernel's type of a file system is read`(_ path: String, _ magic: UInt32) throws {
        let folder = FileDescriptor(owning: unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        try #require(folder.number >= 0)
        #expect(try FileSystem.kernel(folder.number, path).magic == magic)
    }
}
