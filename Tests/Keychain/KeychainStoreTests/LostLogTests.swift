// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetKeychainModel
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/decisions/0047-replaced-folders.md.
@Suite struct `A keychain whose log is removed` {
    enum Way: CaseIterable {
        case removed, moved, empty, copied
    }

    static let files = [["-shm"], ["-wal"], ["-shm", "-wal"]]

    private let keychain = TestKeychain()

    private func path(_ suffix: String) -> String { keychain.folder + "/keychain.db" + suffix }

    private func lose(_ suffixes: [String], _ way: Way) throws {
        for path in suffixes.map(path) {
            let contents = try Data(contentsOf: URL(fileURLWithPath: path))
            try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
            switch way {
            case .moved: continue
            case .removed: break
            case .empty: make(path, Data())
            case .copied: make(path, contents)
            }
            try FileManager.default.removeItem(atPath: path + ".moved")
        }
    }

    private func make(_ path: String, _ contents: Data) {
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: contents, attributes: attributes))
    }

    private func set(_ account: String) throws {
        try keychain.store.set(
            Addition(.generic(account), value: .text("value")), for: keychain.caller)
    }

    private func exists(_ account: String, in store: ItemStore? = nil) throws -> Bool {
        try (store ?? keychain.store).contains(.exact(account), for: keychain.caller)
    }

    private func refusal(_ body: () throws -> Void) -> KeychainFailure? {
        #expect(throws: KeychainFailure.self, performing: body)
    }

    // Promise: 2.4
    @Test(arguments: files, Way.allCases)
    func `A write without its log goes on at the path, or says what is lost, and changes nothing`(
        _ files: [String], _ way: Way
    ) throws {
        try set("first")
        try lose(files, way)
        if files.count == 1 {
            try set("second")
        } else {
            let failure = refusal { try set("second") }
            #expect(failure?.code == .inputOutput)
            #expect(failure?.path.map { files.map(path).contains($0) } == true)
        }
        try set("next")
        keychain.reopen()
        #expect(try exists("next"))
        #expect(try exists("second") == (files.count == 1))
    }

    @Test(arguments: files, Way.allCases)
    func `Closing saves what only the open log has, or says that it is lost`(
        _ files: [String], _ way: Way
    ) throws {
        try set("first")
        try lose(files, way)
        let closing = keychain.store.close()
        #expect(closing.isClosed)
        #expect((closing.loss == nil) == (files.count == 1))
        // A copy of both files has the change, too, which nobody can know.
        guard files.count == 1 || way != .copied else { return }
        #expect(try exists("first") == (files.count == 1))
    }

    @Test func `A closing waits for the lock of writers to save what only its log has`() throws {
        try set("first")
        let other = keychain.otherProcess()
        let lock = FileLock(
            KeychainFile.lock, in: try PrivateDirectory.open(keychain.folder, creating: false))
        let held = try lock.acquire(before: Deadline(after: .seconds(5)))
        try lose(["-wal"], .removed)
        let closing = Mutex<Closing?>(nil)
        let store = keychain.store
        let thread = Thread {
            let result = store.close()
            closing.withLock { $0 = result }
        }
        thread.start()
        Thread.sleep(forTimeInterval: 0.2)
        _ = consume held
        while closing.withLock({ $0 == nil }) { Thread.sleep(forTimeInterval: 0.01) }
        #expect(closing.withLock { $0?.loss } == nil)
        #expect(try exists("first", in: other))
        other.close()
    }

    @Test func `No lock of every keychain follows from a log that is missing for a moment`() throws
    {
        try keychain.setPasscode()
        try set("first")
        try lose(["-wal"], .removed)
        let stranger = ItemStore(KeychainLocation(folder: keychain.folder + "/."))
        let failure = refusal { try stranger.keychain.lock(all: true, orEveryKeychain: true) }
        #expect(failure?.message.contains("of all keychains") == false)
        stranger.close()
    }

    // Promise: 2.4
    @Test(arguments: [["-shm"], ["-wal"]], Way.allCases)
    func `What was acknowledged before the log was removed is kept`(
        _ files: [String], _ way: Way
    ) throws {
        for number in 0..<20 { try set("item \(number)") }
        try lose(files, way)
        try set("item 20")
        keychain.reopen()
        #expect(try (0...20).allSatisfy { try exists("item \($0)") })
    }

    // Promise: 2.4
    @Test(arguments: Way.allCases)
    func `A write says that changes are lost with the log and its index`(_ way: Way) throws {
        try set("first")
        try lose(["-shm", "-wal"], way)
        let failure = refusal { try set("refused") }
        #expect(failure?.message.contains("the last changes before that are lost") == true)
    }

    // Promise: 2.4
    @Test(arguments: [["-shm"], ["-wal"]], Way.allCases)
    func `A read opens a log that was removed anew within a tenth of a second`(
        _ files: [String], _ way: Way
    ) throws {
        try set("first")
        #expect(try exists("first"))
        try lose(files, way)
        Thread.sleep(forTimeInterval: 0.11)
        #expect(try exists("first"))
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            .compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
            }
        #expect(!open.contains { $0.hasPrefix(keychain.folder) && $0.hasSuffix(" (deleted)") })
        // Nothing is left to be noticed by a write.
        try set("second")
    }

    @Test func `Writes that share a commit without its index are made again`() throws {
        try set("first")
        try lose(["-shm"], .removed)
        let group = DispatchGroup()
        let outcomes = Mutex([Bool]())
        for number in 0..<8 {
            DispatchQueue.global().async(group: group) {
                let isDone = (try? set("item \(number)")) != nil
                outcomes.withLock { $0.append(isDone) }
            }
        }
        group.wait()
        #expect(outcomes.withLock { $0 } == [Bool](repeating: true, count: 8))
        keychain.reopen()
        #expect(try (0..<8).allSatisfy { try exists("item \($0)") })
    }

    @Test func `A key change opens a removed log anew`() throws {
        try set("first")
        try lose(["-shm"], .removed)
        try keychain.store.keychain.setPasscode(TestKeychain.passcode("one"))
        keychain.reopen()
        #expect(try keychain.store.keychain.status().state == .unlocked)
        #expect(try exists("first"))
        try keychain.store.keychain.lock(all: true)
    }
}
