// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetKeychainStore
import ValetSync
import ValetSyncSupport

@testable import ValetSyncAgent

/// Devices with real keychains that share a store in memory: docs/SYNC.md §4, §5.
struct RoundTests {
    @Test(arguments: [MemoryStore.Kind.folder, .etcd])
    func `What is set on one device is read on the others`(_ kind: MemoryStore.Kind) throws {
        let members = try TestMember.circle(of: 3, in: MemoryStore(kind))
        try members[0].set("first", "1")
        try members[1].set("second", "2", as: .afterFirstUnlock)
        try settle(members)
        for member in members {
            #expect(try member.value("first") == "1")
            #expect(try member.value("second") == "2")
            #expect(try member.sync() == .current)
        }
    }

    @Test func `A deletion reaches the others, also of the newest item`() throws {
        let members = try TestMember.circle(of: 2)
        try members[0].set("first", "1")
        try members[0].set("newest", "2")
        try settle(members)
        try members[1].delete("newest")
        try settle(members)
        #expect(try members[0].value("newest") == nil)
        #expect(try members[0].value("first") == "1")
        // Nothing brings it back.
        try members[0].restart()
        try settle(members)
        for member in members { #expect(try member.value("newest") == nil) }
    }

    @Test func `Of two writes at once the later one is shown, and the other is a conflict`() throws
    {
        let members = try TestMember.circle(of: 2)
        try members[0].set("item", "earlier")
        try members[1].set("item", "later")
        try settle(members)
        for member in members {
            #expect(try member.value("item") == "later")
            #expect(try member.keptValues() == ["earlier"])
        }
    }

    @Test func `Equal values that two devices store are no conflict`() throws {
        let members = try TestMember.circle(of: 2)
        try members[0].set("item", "same")
        try members[1].set("item", "same")
        try settle(members)
        for member in members {
            #expect(try member.value("item") == "same")
            #expect(try member.keptValues().isEmpty)
        }
        // A third value covers both records.
        try members[0].set("item", "changed")
        try settle(members)
        #expect(try members[1].value("item") == "changed")
    }

    @Test func `A quiet circle sends nothing`() throws {
        let store = MemoryStore()
        let members = try TestMember.circle(of: 2, in: store)
        try members[0].set("item", "1")
        try settle(members)
        let before = members.map(\.client.calls.count)
        try settle(members)
        for (member, count) in zip(members, before) {
            let calls = member.client.calls.dropFirst(count)
            #expect(!calls.contains { [.append, .put, .delete].contains($0) })
        }
    }

    @Test func `A class change moves an item, and both devices show it all the time`() throws {
        let members = try TestMember.circle(of: 2)
        try members[0].set("item", "1", as: .whenUnlocked)
        try settle(members)
        try members[0].delete("item")
        try members[0].set("item", "2", as: .afterFirstUnlock)
        try settle(members)
        #expect(try members[1].value("item") == "2")
        // What was replaced is kept for a while, and nothing is a conflict.
        #expect(try members[1].keptValues() == ["1"])
    }

    // Promise: 19.12
    @Test func `A batch that was built is sent once, whenever the process dies`() throws {
        let store = MemoryStore()
        let members = try TestMember.circle(of: 2, in: store)
        try members[0].set("item", "1")
        members[0].client.interfere { $0 == .append ? .failure(.storeUnavailable) : nil }
        #expect(throws: KeychainFailure.self) { try members[0].sync() }
        try members[0].restart()
        members[0].client.interfere { $0 == .append ? .lostAnswer : nil }
        _ = try? members[0].sync()
        try members[0].restart()
        members[0].client.interfere { _ in nil }
        try settle(members)
        #expect(try members[1].value("item") == "1")
        #expect(members.allSatisfy { $0.troubles.isEmpty })
    }

    @Test func `A base replaces the batches before it, and a new device begins with it`() throws {
        let store = MemoryStore()
        let members = try TestMember.circle(of: 2, in: store)
        for number in 0..<20 { try members[0].set("item \(number)", "\(number)") }
        try members[0].delete("item 3")
        try settle(members)
        for scope in KeyScope.allCases { #expect(try members[0].session.sendBase(scope)) }
        try settle(members)
        let third = try members[1].admitNew(to: store)
        try settle(members + [third])
        #expect(try third.value("item 7") == "7")
        #expect(try third.value("item 3") == nil)
        #expect(try third.sync() == .current)
    }

    // Promise: 19.7
    @Test func `A removed device opens nothing that is written later`() throws {
        let members = try TestMember.circle(of: 3)
        try members[0].set("before", "1")
        try settle(members)
        try members[0].session.remove([members[2].id])
        try members[0].set("after", "2")
        try settle(Array(members[..<2]))
        #expect(members[2].session.round().state == .removed)
        #expect(try members[1].value("after") == "2")
        #expect(try members[2].value("after") == nil)
        #expect(try members[2].value("before") == "1")
        try members[2].set("late", "3")
        _ = members[2].session.round()
        try settle(Array(members[..<2]))
        #expect(try members[0].value("late") == nil)
    }

    // Promise: 19.8
    @Test func `After a device has left, the next one makes new keys before it writes`() throws {
        let members = try TestMember.circle(of: 3)
        try members[2].set("parting", "1")
        try members[2].session.leave()
        let epoch = members[0].session.roster.accepted.epoch
        try members[0].set("later", "2")
        try settle(Array(members[..<2]))
        #expect(members[1].session.roster.accepted.epoch == epoch + 1)
        #expect(try members[1].value("parting") == "1")
        #expect(try members[1].value("later") == "2")
        #expect(try members[2].value("later") == nil)
    }

    @Test func `Removing a device that another one has removed changes nothing`() throws {
        let members = try TestMember.circle(of: 3)
        try members[0].session.remove([members[2].id])
        try members[1].session.readRoster()
        let entry = members[1].session.roster.acceptedHash
        try members[1].session.remove([members[2].id])
        #expect(members[1].session.roster.acceptedHash == entry)
        try members[1].restart()
        try members[1].set("after", "1")
        try settle(Array(members[..<2]))
        #expect(try members[0].value("after") == "1")
    }

    @Test func `A device that was killed while it wrote a base goes on`() throws {
        let members = try TestMember.circle(of: 2)
        _ = try members[0].session.keychain.update("test") { update in
            update.replica?[.whileUnlocked].beginBase()
        }
        try members[0].restart()
        try members[0].set("after", "1")
        try settle(members)
        #expect(try members[1].value("after") == "1")
        #expect(try members[0].sync() == .current)
    }

    @Test func `A session that begins with an admission finds its own logs as they are`() throws {
        let store = MemoryStore(.etcd)
        let members = try TestMember.circle(of: 1, in: store)
        try members[0].set("before", "1")
        try members[0].sync()
        try members[0].restart()
        try members[0].set("item", "1")
        let newcomer = try members[0].admitNew(to: store)
        #expect(!members[0].troubles.contains(.storeWasSetBack))
        try newcomer.sync()
        #expect(try newcomer.value("item") == "1" && newcomer.value("before") == "1")
    }

    @Test func `New keys come before anything that an admission or a removal writes`() throws {
        let members = try TestMember.circle(of: 3)
        try members[2].session.leave()
        try members[0].session.readRoster()
        let epoch = members[0].session.roster.accepted.epoch
        try members[0].session.remove([members[1].id])
        #expect(members[0].session.roster.accepted.epoch == epoch + 2)
    }

    // Promise: 19.13
    @Test func `An unreachable store fails no local call, and sync goes on by itself`() throws {
        let members = try TestMember.circle(of: 2)
        members[0].client.interfere { _ in .failure(.storeUnavailable) }
        try members[0].set("item", "1")
        #expect(members[0].session.round().state == .unavailable)
        #expect(try members[0].value("item") == "1")
        members[0].client.interfere { _ in nil }
        try settle(members)
        #expect(try members[1].value("item") == "1")
    }

    @Test func `Items that a new device had already do not replace those of the circle`() throws {
        let store = MemoryStore()
        let members = try TestMember.circle(of: 1, in: store)
        try members[0].set("item", "of the circle")
        try settle(members)
        let second = try members[0].admitNew(to: store) { keychain in
            let item = NewItem(
                .genericPassword,
                attributes: [.account: .text("item"), .service: .text("service")],
                isSynchronizable: true, protectionClass: .whenUnlocked)
            try keychain.set(
                Addition(item, value: .text("of the device")),
                for: Caller(applicationIdentifier: "app", accessGroups: []))
        }
        try settle(members + [second])
        #expect(try second.value("item") == "of the circle")
        #expect(try second.keptValues() == ["of the device"])
        #expect(try members[0].value("item") == "of the circle")
    }

    @Test func `An item that is too large to travel stays, and keeps nothing else`() throws {
        let members = try TestMember.circle(of: 2)
        try members[0].set("large", String(repeating: "a", count: 200 << 10))
        try members[0].set("small", "1")
        try settle(members)
        #expect(members[0].troubles.contains(.tooLarge))
        #expect(try members[0].sync() == .current)
        #expect(try members[0].session.sendBase(.whileUnlocked))
        try settle(members)
        #expect(try members[1].value("small") == "1")
        #expect(try members[1].value("large") == nil)
        #expect(try members[0].value("large")?.utf8.count == 200 << 10)
        // Once it is small enough, it travels.
        try members[0].set("large", "2")
        try settle(members)
        #expect(try members[1].value("large") == "2")
    }
}
