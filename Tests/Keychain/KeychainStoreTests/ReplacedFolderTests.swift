// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// Two folders with a keychain each, of which one is at the path that a store has.
@Suite struct `A keychain whose folder is replaced` {
    private let parent = TestKeychain.newFolder()
    private let caller = Caller(applicationIdentifier: "app", accessGroups: ["one"])
    private let store: ItemStore

    init() throws {
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        store = ItemStore(KeychainLocation(folder: parent + "/home"), stretching: .lowest)
    }

    private func path(_ name: String) -> String { parent + "/" + name }

    private func rename(_ name: String, _ new: String) throws {
        try FileManager.default.moveItem(atPath: path(name), toPath: path(new))
    }

    private func makeOther() throws {
        let other = ItemStore(KeychainLocation(folder: path("other")))
        try other.set(Addition(.generic("theirs"), value: .text("x")), for: caller)
        other.close()
    }

    private func set(_ account: String) throws {
        try store.set(Addition(.generic(account), value: .text("x")), for: caller)
    }

    private func accounts() throws -> [String] {
        try ["ours", "theirs", "new"].filter { try store.contains(.exact($0), for: caller) }
    }

    private func remove() { try? FileManager.default.removeItem(atPath: parent) }

    /// Files of the folder that this process has open.
    private func openFiles(_ name: String) throws -> [String] {
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return descriptors.compactMap { number in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number)
        }.filter { $0.hasPrefix(path(name) + "/") || $0 == path(name) }
    }

    /// Between two steps the folder is moved away, and perhaps another one takes its place.
    @Test(arguments: [false, true])
    func `A walk ends with an error when the folder is replaced between two steps`(
        _ hasSuccessor: Bool
    ) throws {
        defer { remove() }
        try makeOther()
        let additions = (0..<1500).map {
            Addition(.generic("a\($0)", service: "many"), value: .text("x"))
        }
        try store.set(additions, for: caller)
        var walk = try store.walk([.generic()], for: caller)
        _ = try store.next(of: &walk)
        try rename("home", "gone")
        if hasSuccessor { try rename("other", "home") }
        // A read looks at the path ten times a second.
        Thread.sleep(forTimeInterval: 0.15)
        #expect(throws: KeychainFailure.self) { _ = try store.next(of: &walk) }
        let isAtEnd = walk.isAtEnd
        #expect(!isAtEnd)
        if hasSuccessor { #expect(try accounts() == ["theirs"]) }
    }

    @Test func `After its folder is replaced a keychain is written in the new one only`() throws {
        defer { remove() }
        try makeOther()
        try set("ours")
        try rename("home", "gone")
        try rename("other", "home")
        let log = try Data(contentsOf: URL(fileURLWithPath: path("gone/keychain.db-wal")))
        try set("new")
        #expect(try accounts() == ["theirs", "new"])
        #expect(try openFiles("gone") == [])
        #expect(try Data(contentsOf: URL(fileURLWithPath: path("gone/keychain.db-wal"))) == log)
        // And back again: nothing was lost, nothing came over.
        store.close()
        try rename("home", "other")
        try rename("gone", "home")
        #expect(try accounts() == ["ours"])
    }

    @Test
    func `After its folder is replaced a keychain is read from the new one in a tenth of a second`()
        throws
    {
        defer { remove() }
        try makeOther()
        try set("ours")
        #expect(try accounts() == ["ours"])
        try rename("home", "gone")
        try rename("other", "home")
        Thread.sleep(forTimeInterval: 0.11)
        #expect(try accounts() == ["theirs"])
        #expect(try openFiles("gone") == [])
    }

    @Test func `A keychain whose folder is removed is absent until another one takes its place`()
        throws
    {
        defer { remove() }
        try makeOther()
        try set("ours")
        #expect(try store.keychain.status().state == .noPasscode)
        try rename("home", "gone")
        Thread.sleep(forTimeInterval: 0.11)
        #expect(try store.keychain.status().state == .absent)
        #expect(try accounts() == [])
        try rename("other", "home")
        #expect(try accounts() == ["theirs"])
    }

    /// The folder is moved away while rows are sealed, and perhaps a copy takes its place.
    // Promise: 2.3, 13.5
    @Test(arguments: [false, true])
    func `A key change in a folder that is moved while it runs changes nothing there`(
        _ hasSuccessor: Bool
    ) throws {
        defer { remove() }
        try set("ours")
        store.close()
        try FileManager.default.copyItem(atPath: path("home"), toPath: path("copy"))
        let key = try Data(contentsOf: URL(fileURLWithPath: path("home/device/device.key")))
        var isMoved = false
        let options = KeyChangeOptions { _, _ in
            guard !isMoved else { return }
            isMoved = true
            try? self.rename("home", "gone")
            if hasSuccessor { try? self.rename("copy", "home") }
        }
        let code = failure { try store.keychain.rotateKeys(nil, options) }
        #expect(isMoved && code == (hasSuccessor ? nil : .itemNotFound))
        if hasSuccessor {
            #expect(try accounts() == ["ours"])
            #expect(try store.keychain.status().epoch == 2)
        }
        let moved = ItemStore(KeychainLocation(folder: path("gone")))
        #expect(try moved.contains(.exact("ours"), for: caller))
        #expect(try moved.keychain.status().epoch == 1)
        let device = path("gone/device")
        #expect(try FileManager.default.contentsOfDirectory(atPath: device) == ["device.key"])
        let now = try Data(contentsOf: URL(fileURLWithPath: device + "/device.key"))
        #expect(now == key)
        moved.close()
    }

    @Test func `Replacing the folder does not end a write of several steps halfway`() throws {
        defer { remove() }
        try makeOther()
        try set("ours")
        try store.keychain.setPasscode(TestKeychain.passcode("one"))
        try rename("home", "gone")
        try rename("other", "home")
        // Their keychain has no passcode yet.
        try store.keychain.setPasscode(TestKeychain.passcode("two"))
        #expect(try accounts() == ["theirs"])
        try store.keychain.lock(all: true)
        try store.keychain.unlock(TestKeychain.passcode("two"))
        #expect(try accounts() == ["theirs"])
        try store.keychain.lock(all: true)
    }
}
