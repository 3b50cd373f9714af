// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetSystem
import ValetSystemSupport
import ValetTestValues

@testable import ValetDatabase

/// The folder `home`, beside which another is that can take its place.
@Suite struct `A folder that was replaced` {
    enum Replacement: CaseIterable {
        case moved, removed, linkAbove
    }

    let folder: TestFolder
    let directory: PrivateDirectory

    init() throws {
        folder = try TestFolder()
        for name in ["one", "one/home", "two", "two/home"] { folder.makeFolder(name) }
        folder.link("link", to: "one")
        directory = try PrivateDirectory.open(folder.path("link/home"), creating: false)
    }

    private func replace(_ way: Replacement) throws {
        switch way {
        case .moved:
            folder.rename("one/home", to: "one/gone")
            folder.makeFolder("one/home")
        case .removed: try FileManager.default.removeItem(atPath: folder.path("one/home"))
        case .linkAbove:
            folder.link("link-new", to: "two")
            folder.rename("link-new", to: "link")
        }
    }

    private func code(_ body: () throws -> Void) -> SystemError.Code? {
        #expect(throws: SystemError.self, performing: body)?.code
    }

    @Test func `An opened keychain folder is in place until it is replaced`() throws {
        #expect(try directory.isInPlace())
        let connection = try directory.makeDatabase()
        let file = try #require(try directory.check(file: "keychain.db"))
        #expect(try directory.leads(to: "keychain.db", as: file))
        try connection.close()
        folder.rename("one/home/keychain.db", to: "one/home/gone.db")
        try directory.createEmptyFile("keychain.db")
        #expect(try directory.isInPlace())
        #expect(try !directory.leads(to: "keychain.db", as: file))
    }

    @Test(arguments: Replacement.allCases)
    func `A replaced keychain folder is noticed, and nothing is opened in it`(
        _ way: Replacement
    ) throws {
        try directory.makeDatabase().close()
        try replace(way)
        #expect(try !directory.isInPlace())
        let error = #expect(throws: SystemError.self) { _ = try directory.open() }
        #expect(error?.code == .replaced)
        #expect(error?.hint == "try again")
    }

    @Test(arguments: Replacement.allCases)
    func `A replaced keychain folder gives nobody its lock, and none is created in it`(
        _ way: Replacement
    ) throws {
        let lock = FileLock("keychain.lock", in: directory)
        try replace(way)
        #expect(code { _ = try lock.acquire(before: .never) } == .replaced)
        let place = ["one/gone", "one/home"].first { folder.mode($0) != nil && way != .linkAbove }
        if let place { #expect(folder.mode(place + "/keychain.lock") == nil) }
    }

    @Test func `What is open in a folder that was moved away is closed under its lock`() throws {
        let lock = FileLock("keychain.lock", in: directory)
        _ = try lock.acquire(before: .immediately)
        try replace(.moved)
        _ = try lock.acquire(before: .immediately)
    }

    @Test func `A replaced keychain folder ends the wait for its lock`() throws {
        let other = try OtherProcess.holdingLock(folder.path("one/home/keychain.lock"))
        let lock = FileLock("keychain.lock", in: directory)
        let code = Shared(SystemError.Code?.none)
        let thread = Thread {
            do throws(SystemError) {
                _ = try lock.acquire(before: Deadline(after: .seconds(60)))
            } catch { code.change { $0 = error.code } }
        }
        thread.start()
        Thread.sleep(forTimeInterval: 0.1)
        try replace(.moved)
        let limit = ContinuousClock.now + .seconds(20)
        while code.change({ $0 }) == nil, ContinuousClock.now < limit {
            Thread.sleep(forTimeInterval: 0.01)
        }
        #expect(code.change { $0 } == .replaced)
        other.goOn()
    }

    /// SQLite is given the path without links: it must not open what another folder has there.
    @Test func `A replaced keychain folder is not opened by a real path that leads elsewhere`()
        throws
    {
        try directory.makeDatabase().close()
        folder.rename("one", to: "three")
        folder.makeFolder("one")
        folder.makeFolder("one/home")
        try PrivateDirectory.open(folder.path("one/home"), creating: false).makeDatabase().close()
        folder.link("link-new", to: "three")
        folder.rename("link-new", to: "link")
        #expect(try directory.isInPlace())
        #expect(code { _ = try directory.open() } == .replaced)
        let anew = try PrivateDirectory.open(folder.path("link/home"), creating: false)
        #expect(try anew.open().countRows() == 0)
    }
}
