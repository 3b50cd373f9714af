// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import ValetDatabase
import ValetKeychainModel
import ValetSealing
import ValetSystem
import ValetSystemSupport
import ValetTestSupport
import ValetTestValues

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/decisions/0059-shared-commits.md.
@Suite struct `Writes that share a commit` {
    private let keychain = TestKeychain()

    private func crowd() throws -> Crowd {
        try keychain.set(.generic("old"), "old")
        return try Crowd(keychain.store, keychain.caller)
    }

    private func accounts() throws -> [String] { try keychain.accounts(.generic()) }

    @Test func `Waiting writes run in order of arrival on the leader's thread`() throws {
        let (crowd, caller) = (try crowd(), keychain.caller)
        let seen = Shared<[String]>([])
        let threads = Shared<Set<pthread_t>>([])
        try crowd.lead { _ in threads.change { $0 = [pthread_self()] } }
        for number in 0..<8 {
            try crowd.write("\(number)") { access in
                try ItemTransaction(access, caller).set(
                    Addition(.generic("a"), value: .text("\(number)")))
                seen.change { $0.append("\(number)") }
                threads.change { _ = $0.insert(pthread_self()) }
            }
        }
        let commitCount = try crowd.go()
        #expect(seen.change { $0 } == (0..<8).map(String.init))
        #expect(threads.change { $0.count } == 1)
        #expect(commitCount == 1)
        #expect(crowd.failures == [:])
        #expect(try keychain.value(named: "a") == "7")
    }

    // Promise: 13.9
    @Test func `A write that fails in a shared commit is undone alone`() throws {
        let (crowd, caller) = (try crowd(), keychain.caller)
        try crowd.lead()
        try crowd.set("a")
        try crowd.write("b") { access in
            try ItemTransaction(access, caller).set(Addition(.generic("b"), value: .text("b")))
            try ItemTransaction(access, caller).set(Addition(.generic("old"), value: .text("new")))
            throw KeychainFailure(.itemNotFound, during: access.operation)
        }
        try crowd.set("c")
        #expect(try crowd.go() == 1)
        #expect(crowd.failures == ["b": KeychainFailure(.itemNotFound, during: "b")])
        #expect(try accounts() == ["a", "c", "old"])
        #expect(try keychain.value(named: "old") == "old")
        #expect(keychain.damage() == [])
    }

    @Test func `A leader that fails hands the lead on and commits nothing`() throws {
        let (crowd, caller) = (try crowd(), keychain.caller)
        try crowd.lead { access in
            try ItemTransaction(access, caller).set(Addition(.generic("lost"), value: .text("x")))
            throw KeychainFailure(.itemNotFound, during: access.operation)
        }
        for name in ["a", "b", "c"] { try crowd.set(name) }
        #expect(try crowd.go() == 1)
        #expect(crowd.failures == ["leader": KeychainFailure(.itemNotFound, during: "leader")])
        #expect(try accounts() == ["a", "b", "c", "old"])
    }

    // Promise: 13.9
    @Test func `Nobody learns of a shared commit before it`() throws {
        let (crowd, other) = (try crowd(), keychain.otherProcess())
        let (isLast, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        try crowd.lead()
        try crowd.set("a")
        try crowd.write("b") { _ in throw KeychainFailure(.itemNotFound, during: "b") }
        try crowd.write("c") { _ in
            isLast.signal()
            _ = mayEnd.wait(timeout: .now() + 20)
        }
        crowd.open()
        #expect(isLast.wait(timeout: .now() + 20) == .success)
        Thread.sleep(forTimeInterval: 0.05)
        #expect(crowd.ended == [])
        #expect(try !other.contains(.exact("a"), for: keychain.caller))
        #expect(try !keychain.store.contains(.exact("a"), for: keychain.caller))
        mayEnd.signal()
        #expect(try crowd.go() == 1)
        #expect(crowd.ended == ["leader", "a", "b", "c"])
        #expect(try other.contains(.exact("a"), for: keychain.caller))
        other.close()
    }

    // Promise: 13.9
    @Test func `A commit that fails fails all writes that share it`() throws {
        let crowd = try crowd()
        try crowd.allowForeignKeys()
        try crowd.lead()
        try crowd.set("a")
        try crowd.write("b") { try Crowd.breakCommit($0) }
        try crowd.write("c") { _ in throw KeychainFailure(.duplicateItem, during: "c") }
        #expect(try crowd.go() == 0)
        #expect(crowd.codes == ["leader", "a", "b", "c"].mapped(to: .keychainDamaged))
        #expect(try accounts() == ["old"])
        try keychain.set(.generic("next"), "x")
        #expect(try accounts() == ["next", "old"])
    }

    @Test func `A write that ends the shared transaction fails alone`() throws {
        let crowd = try crowd()
        try crowd.lead()
        try crowd.set("a")
        try crowd.write("b") { access in
            // What SQLite itself does where the disk cannot be read.
            try Statement("ROLLBACK", on: access.store.connection).execute()
            throw SystemError(.inputOutput, during: "read", path: nil)
        }
        try crowd.set("c")
        #expect(try crowd.go() == 2)
        #expect(crowd.codes == ["b": .inputOutput])
        #expect(try accounts() == ["a", "c", "old"])
    }

    @Test func `A deadline that passes before the batch takes the write out`() throws {
        let crowd = try crowd()
        try crowd.lead()
        try crowd.set("late", within: .milliseconds(50))
        try crowd.set("in time")
        try crowd.awaitEnd(of: "late")
        #expect(crowd.codes == ["late": .timedOut])
        #expect(crowd.queued == 1)
        try crowd.set("too late", within: .zero)
        #expect(try crowd.go() == 1)
        #expect(crowd.codes == ["late", "too late"].mapped(to: .timedOut))
        #expect(try accounts() == ["in time", "old"])
    }

    @Test func `A write whose deadline passes in the batch waits for its outcome`() throws {
        let crowd = try crowd()
        try crowd.lead()
        try crowd.set("short", within: .milliseconds(200))
        try crowd.write("slow") { _ in Thread.sleep(forTimeInterval: 0.4) }
        #expect(try crowd.go() == 1)
        #expect(crowd.failures == [:])
        #expect(try accounts() == ["old", "short"])
    }

    @Test func `A leader that waits for another process in vain hands the lead on`() throws {
        let crowd = try crowd()
        let holder = try OtherProcess.holdingLock(keychain.folder + "/keychain.lock")
        let (caller, short) = (keychain.caller, crowd.store(within: .milliseconds(200)))
        crowd.begin("first") {
            try short.set(Addition(.generic("first"), value: nil), for: caller)
        }
        Thread.sleep(forTimeInterval: 0.05)
        try crowd.set("second")
        try crowd.awaitEnd(of: "first")
        holder.goOn()
        try crowd.go()
        #expect(crowd.codes == ["first": .timedOut])
        #expect(try accounts() == ["old", "second"])
    }

    @Test func `A write of more than a mebibyte or of many items has a commit of its own`() throws {
        let (crowd, caller) = (try crowd(), keychain.caller)
        let value = SecretValue.bytes([UInt8](repeating: 1, count: 1 << 20))
        try crowd.lead()
        try crowd.set("a")
        try crowd.call("large") { store in
            try store.set(Addition(.generic("large"), value: value), for: caller)
        }
        try crowd.set("b")
        // Leader and a; large; b.
        #expect(try crowd.go() == 3)
        #expect(crowd.failures == [:])
        #expect(try accounts() == ["a", "b", "large", "old"])
    }

    @Test func `At most 256 writes share a commit`() throws {
        let crowd = try crowd()
        try crowd.lead()
        for number in 0..<300 { try crowd.set("\(number)") }
        #expect(try crowd.go() == 2)
        #expect(crowd.failures == [:])
    }

    @Test func `A write after a lock does not share a commit with one before it`() throws {
        let lockable = TestKeychain()
        let (store, caller) = (lockable.store, lockable.caller)
        try store.keychain.setPasscode(TestKeychain.passcode("the passcode"))
        try store.set(Addition(.generic("old"), value: nil), for: caller)
        let crowd = try Crowd(store, caller)
        try crowd.lead { access in
            try ItemTransaction(access, caller).set(Addition(.generic("before"), value: nil))
        }
        try store.keychain.lock(all: false)
        try crowd.set("after")
        try crowd.go()
        #expect(crowd.codes == ["after": .locked])
        try store.keychain.unlock(TestKeychain.passcode("the passcode"))
        #expect(try store.contains(.exact("before"), for: caller))
        #expect(try !store.contains(.exact("after"), for: caller))
    }

    // Promise: 13.15
    @Test(.needsMounts) func `A removal on a full disk does not fail with a larger write`() throws {
        let folder = try TestFolder()
        let mount = try Mount.memory(at: folder.path, byteCount: 1 << 20)
        defer { mount.end() }
        let (store, caller) = (
            ItemStore(KeychainLocation(folder: folder.path)), keychain.caller
        )
        defer { store.close() }
        try store.set(Addition(.generic("old"), value: .text("old")), for: caller)
        let half = SecretValue.bytes([UInt8](repeating: 1, count: 500 << 10))
        let crowd = try Crowd(store, caller)
        try crowd.lead()
        for name in ["a", "b"] {
            try crowd.call(name) { store in
                try store.set(Addition(.generic(name), value: half), for: caller)
            }
        }
        try crowd.call("removal") { store in try store.delete(.exact("old"), for: caller) }
        _ = try crowd.go()
        #expect(crowd.codes.values.allSatisfy { $0 == .diskFull })
        #expect(!crowd.codes.isEmpty && crowd.codes["removal"] == nil)
        #expect(try !store.contains(.exact("old"), for: caller))
    }
}

/// Threads that write at once, and a leader that lets them queue first.
private final class Crowd: Sendable {
    let store: ItemStore
    private let caller: Caller
    private let keychain: OpenKeychain
    private let gate = DispatchSemaphore(value: 0)
    private let names = Shared<[String]>([])
    private let outcomes = Shared<[String: KeychainFailure?]>([:])
    private let logBegin = Shared(0)

    init(_ store: ItemStore, _ caller: Caller) throws {
        (self.store, self.caller) = (store, caller)
        keychain = try store.workOnKeys("look") { $0.keychain }
    }

    /// A store of the same process that waits only so long.
    func store(within limit: Duration) -> ItemStore {
        ItemStore(store.location, timeLimit: limit)
    }

    /// Begins to lead with `body`, which runs as soon as the gate is open.
    func lead(_ body: @escaping @Sendable (RowTransaction) throws -> Void = { _ in }) throws {
        let (gate, hasBegun) = (gate, DispatchSemaphore(value: 0))
        begin("leader") { [store] in
            _ = try store.shareWrite("leader", byteCount: 0) {
                (access) throws(KeychainFailure) in
                hasBegun.signal()
                // It may run again.
                _ = gate.wait(timeout: .now() + 20)
                gate.signal()
                try failing("leader") { try body(access) }
            }
        }
        #expect(hasBegun.wait(timeout: .now() + 20) == .success)
    }

    /// Has a thread write `body`, and waits until it queues.
    func write(
        _ name: String, within limit: Duration? = nil,
        _ body: @escaping @Sendable (RowTransaction) throws -> Void
    ) throws {
        try call(name, within: limit) { store in
            _ = try store.shareWrite(name, byteCount: 0) {
                (rows) throws(KeychainFailure) in
                try failing(name) { try body(rows) }
            }
        }
    }

    /// Has a thread store an item.
    func set(_ name: String, within limit: Duration? = nil) throws {
        let caller = caller
        try call(name, within: limit) { store in
            try store.set(Addition(.generic(name), value: .text(name)), for: caller)
        }
    }

    /// Has a thread make a call, and waits until it queues or has failed.
    func call(
        _ name: String, within limit: Duration? = nil,
        _ body: @escaping @Sendable (ItemStore) throws -> Void
    ) throws {
        // Without a limit, a minute: a busy machine may stop this process for seconds.
        let store = store(within: limit ?? .seconds(60))
        let before = queued
        begin(name) { try body(store) }
        try wait { self.queued > before || self.ended.contains(name) }
    }

    /// Lets the leader go on.
    func open() { gate.signal() }

    /// Lets the leader go on, and waits for all.
    ///
    /// - Returns: How many commits there were.
    @discardableResult
    func go() throws -> Int {
        open()
        try wait { self.outcomes.change { $0.count } == self.names.change { $0.count } }
        return try commitCount() - logBegin.change { $0 }
    }

    func awaitEnd(of name: String) throws { try wait { self.ended.contains(name) } }

    var queued: Int { keychain.writes.count }

    var ended: Set<String> { Set(outcomes.change { $0.keys }) }

    var failures: [String: KeychainFailure] { outcomes.change { $0.compactMapValues { $0 } } }

    var codes: [String: KeychainFailure.Code] { failures.mapValues(\.code) }

    /// Has the connection that writes check foreign keys, which our tables do not use.
    func allowForeignKeys() throws {
        let held = try keychain.pool.lock.acquire(before: .never)
        let writer = try keychain.pool.writer(.never)
        try Statement("PRAGMA foreign_keys = ON", on: writer.connection).start().finish()
        _ = consume held
    }

    /// Writes what only a commit refuses.
    static func breakCommit(_ access: RowTransaction) throws {
        for sql: StaticString in [
            "CREATE TABLE p (x INTEGER PRIMARY KEY) STRICT",
            "CREATE TABLE c (x INTEGER REFERENCES p DEFERRABLE INITIALLY DEFERRED) STRICT",
            "INSERT INTO c VALUES (1)",
        ] { try Statement(sql, on: access.store.connection).execute() }
    }

    /// Has a thread do something.
    func begin(_ name: String, _ body: @escaping @Sendable () throws -> Void) {
        if names.change({ $0.isEmpty }) { logBegin.change { $0 = (try? commitCount()) ?? 0 } }
        names.change { $0.append(name) }
        let outcomes = outcomes
        Thread.detachNewThread {
            var found: KeychainFailure?
            do throws(KeychainFailure) {
                try failing(name, body)
            } catch {
                found = error
            }
            outcomes.change { [found] in $0[name] = .some(found) }
        }
    }

    /// The commits in the log: frames that say how large the database is.
    private func commitCount() throws -> Int {
        let log = try Data(
            contentsOf: URL(fileURLWithPath: store.location.folder + "/keychain.db-wal"))
        guard log.count > 32 else { return 0 }
        let salt = log[16..<24]
        return stride(from: 32, to: log.count - 24, by: 4096 + 24).count { frame in
            log[frame + 8..<frame + 16] == salt && log[frame + 4..<frame + 8] != Data(count: 4)
        }
    }

    private func wait(for isTrue: () throws -> Bool) throws {
        let end = Deadline(after: .seconds(20))
        while try !isTrue() {
            try #require(end.sleep(atMost: 1_000_000), "waits in vain")
        }
    }
}

extension [String] {
    fileprivate func mapped<Value>(to value: Value) -> [String: Value] {
        Dictionary(uniqueKeysWithValues: map { ($0, value) })
    }
}
