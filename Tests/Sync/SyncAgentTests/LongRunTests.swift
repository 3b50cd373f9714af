// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import ValetKeychainModel
import ValetSync
import ValetSyncSupport

@testable import ValetSyncAgent

/// What happens over time: devices that were away, logs with gaps, bases that fail, classes that
/// change. docs/SYNC.md §10, items 4, 5, 15 and 16.
struct LongRunTests {
    @Test func `A log whose middle is missing is read from its base after its author has left`()
        throws
    {
        let store = MemoryStore(.folder)
        let members = try TestMember.circle(of: 3, in: store)
        try members[0].set("first", "1")
        try members[0].sync()
        let place = try members[0].session.ownPlace(.whileUnlocked)
        let names = try members[0].names(in: place)
        try members[0].set("second", "2")
        try members[0].sync()
        store.lose(names, in: .log(place))
        #expect(try members[0].session.sendBase(.whileUnlocked))
        try members[0].session.leave()
        try settle(Array(members[1...]))
        for member in members[1...] {
            #expect(try member.value("first") == "1")
            #expect(try member.value("second") == "2")
        }
    }

    @Test func `Files that somebody adds beside the parts of a base change nothing`() throws {
        let store = MemoryStore(.folder)
        let members = try TestMember.circle(of: 2, in: store)
        try members[0].set("item", "1")
        try members[0].sync()
        let place = try members[0].session.ownPlace(.whileUnlocked)
        let messages = try members[0].names(in: place)
        #expect(try members[0].session.sendBase(.whileUnlocked))
        let part = try #require(try members[0].names(in: place).first { $0.part != nil })
        store.lose(messages, in: .log(place))
        for number in 0..<16 as Range<UInt8> {
            let bytes = [number, 1, 2, 3]
            store.plant(
                bytes,
                as: StoredName(
                    number: part.number, part: part.part, hash: StoreNames.hash(of: bytes)),
                in: .log(place))
        }
        try settle([members[1]])
        #expect(try members[1].value("item") == "1")
    }

    @Test func `After a year away a device keeps its edits and drops what was deleted`() throws {
        let members = try TestMember.circle(of: 2)
        for account in ["deleted", "changed", "edited"] { try members[0].set(account, "old") }
        try settle(members)
        try members[1].set("edited", "away")
        try members[1].set("new", "away")
        try members[0].delete("deleted")
        try members[0].set("changed", "meanwhile")
        try members[0].sync()
        for scope in KeyScope.allCases { try members[0].session.sendBase(scope) }
        members[0].clock.advance(seconds: 365 * 86_400)
        try members[0].restart()
        try members[1].restart()
        try settle(members)
        for member in members {
            #expect(try member.value("deleted") == nil)
            #expect(try member.value("changed") == "meanwhile")
            #expect(try member.value("edited") == "away")
            #expect(try member.value("new") == "away")
        }
    }

    @Test(arguments: [MemoryStore.Kind.folder, .etcd], [0, 1, 2])
    func `A base that fails at any step loses nothing`(
        _ kind: MemoryStore.Kind, _ step: Int
    ) throws {
        for fault in [MemoryStore.Client.Fault.failure(.storeUnavailable), .lostAnswer] {
            let members = try TestMember.circle(of: 2, in: MemoryStore(kind))
            for number in 0..<5 { try members[0].set("item \(number)", "\(number)") }
            try members[0].delete("item 0")
            try settle(members)
            let calls = Mutex(0)
            members[0].client.interfere { call in
                guard [.put, .append].contains(call) else { return nil }
                let count = calls.withLock { calls -> Int in
                    calls += 1
                    return calls
                }
                return count == step + 1 ? fault : nil
            }
            _ = try? members[0].session.sendBase(.whileUnlocked)
            members[0].client.interfere { _ in nil }
            if step == 1 { try members[0].restart() }
            try members[0].set("later", "6")
            try settle(members, rounds: 6)
            #expect(try members[1].value("later") == "6")
            #expect(try members[1].value("item 0") == nil)
            #expect(try members[1].value("item 4") == "4")
            #expect(members.allSatisfy { !$0.troubles.contains(.copied) })
            #expect(try members[0].session.sendBase(.whileUnlocked))
            try settle(members)
            #expect(try members[1].sync() == .current)
        }
    }

    @Test func `A class that changes while another device is locked loses no value`() throws {
        let members = try TestMember.circle(of: 2)
        try members[0].set("down", "1")
        try members[0].set("up", "2", as: .afterFirstUnlock)
        try settle(members)
        try members[1].lock()
        try members[0].change("down", to: .afterFirstUnlock)
        try members[0].change("up", to: .whenUnlocked)
        try settle(members)
        try members[1].unlock()
        try settle(members)
        for member in members {
            #expect(try member.value("down") == "1")
            #expect(try member.value("up") == "2")
            #expect(try member.sync() == .current)
        }
    }

    @Test func `Logs of a removed device are deleted a day after the bases that have them`() throws
    {
        let members = try TestMember.circle(of: 2)
        try members[1].set("item", "1")
        try settle(members)
        let log = try members[1].session.ownPlace(.whileUnlocked)
        #expect(try members[0].session.remove([members[1].id]))
        try members[0].sync()
        #expect(try !members[0].names(in: log).isEmpty)
        members[0].clock.advance(seconds: 2 * 86_400)
        try members[0].restart()
        try members[0].sync()
        #expect(try members[0].names(in: log).isEmpty)
        #expect(try members[0].value("item") == "1")
    }

    @Test func `Logs of a device that has left stay until a base has them`() throws {
        let members = try TestMember.circle(of: 2)
        try members[1].set("item", "1")
        let log = try members[1].session.ownPlace(.whileUnlocked)
        try members[1].session.leave()
        members[0].client.interfere { $0 == .put ? .failure(.storeUnavailable) : nil }
        _ = members[0].session.round()
        members[0].clock.advance(seconds: 2 * 86_400)
        _ = members[0].session.round()
        #expect(try !members[0].names(in: log).isEmpty)
        members[0].client.interfere { _ in nil }
        try settle([members[0]])
        members[0].clock.advance(seconds: 2 * 86_400)
        try settle([members[0]])
        #expect(try members[0].names(in: log).isEmpty)
        #expect(try members[0].value("item") == "1")
    }

    @Test func `Logs of a device that has left stay until a base has messages that came late`()
        throws
    {
        let members = try TestMember.circle(of: 2)
        try members[1].set("item", "1")
        let log = try members[1].session.ownPlace(.whileUnlocked)
        try members[1].session.leave()
        members[0].client.hide { place, _ in place == .log(log) }
        try settle([members[0]])
        #expect(try members[0].value("item") == nil)
        // The first base after the leave does not have them.
        members[0].clock.advance(seconds: 2 * 86_400)
        _ = members[0].session.round()
        members[0].client.hide { _, _ in false }
        try members[0].restart()
        try settle([members[0]], rounds: 1)
        #expect(try members[0].value("item") == "1")
        #expect(try !members[0].names(in: log).isEmpty)
        for _ in 0..<2 {
            members[0].clock.advance(seconds: 2 * 86_400)
            try settle([members[0]])
        }
        #expect(try members[0].names(in: log).isEmpty)
    }

    @Test func `What others have left in the store is removed once a day`() throws {
        let members = try TestMember.circle(of: 1)
        func count() -> Int { members[0].client.calls.count { $0 == .removeLeftovers } }
        let before = count()
        try settle(members)
        #expect(count() == before)
        members[0].clock.advance(seconds: 2 * 86_400)
        try members[0].restart()
        try settle(members)
        #expect(count() == before + 1)
    }

    @Test func `A device with an item that is too large can leave`() throws {
        let members = try TestMember.circle(of: 2)
        try members[1].set("large", String(repeating: "a", count: 200 << 10))
        try members[1].session.leave()
        #expect(try members[1].value("large")?.utf8.count == 200 << 10)
    }

    @Test func `A lock takes the keys of scope u away, also where the store cannot be reached`()
        throws
    {
        let members = try TestMember.circle(of: 1)
        #expect(members[0].session.keyrings[.whileUnlocked] != nil)
        try members[0].lock()
        members[0].client.interfere { _ in .failure(.storeUnavailable) }
        #expect(members[0].session.round().state == .unavailable)
        #expect(members[0].session.keyrings[.whileUnlocked] == nil)
    }

    @Test func `A device that replaces more values than can be kept waits for a yes`() throws {
        let members = try TestMember.circle(of: 2, TestTime(replacedCount: 2))
        let names = (0..<8).map { "item \($0)" }
        for name in names { try members[0].set(name, "old") }
        try settle(members)
        // Two messages: each has more than there is room for.
        for name in names.prefix(4) { try members[1].set(name, "new") }
        try members[1].sync()
        for name in names.suffix(4) { try members[1].set(name, "new") }
        try members[1].sync()
        #expect(try members[0].sync() == .waiting)
        #expect(members[0].troubles.contains(.replacedValuesAreFull))
        #expect(try names.map(members[0].value) == names.map { _ in "old" })
        // What this device writes goes on.
        try members[0].set("other", "1")
        try settle(members)
        #expect(try members[1].value("other") == "1")
        try members[0].session.accept(members[1].id)
        // A locked device does not read those messages, and keeps the yes for them.
        try members[0].lock()
        try members[0].sync()
        try members[0].unlock()
        try settle(members)
        #expect(try members[0].sync() == .current)
        #expect(try names.map(members[0].value) == names.map { _ in "new" })
        #expect(try members[0].keptValues() == ["old", "old"])
        // The yes was for what was there, also where the log has files of somebody else.
        for name in names.prefix(4) { try members[1].set(name, "newest") }
        try members[1].sync()
        #expect(try members[0].sync() == .waiting)
        #expect(try members[0].value("item 0") == "new")
    }
}
