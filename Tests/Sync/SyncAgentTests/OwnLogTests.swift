// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSync
import ValetSyncSupport

@testable import ValetSyncAgent

/// Keychains that were restored or copied, and stores that were set back: docs/SYNC.md §5.
struct OwnLogTests {
    // Promise: 19.11
    @Test(arguments: [MemoryStore.Kind.folder, .etcd])
    func `A restored keychain takes a new log, and nothing of either history is lost`(
        _ kind: MemoryStore.Kind
    ) throws {
        let members = try TestMember.circle(of: 2, in: MemoryStore(kind))
        try members[0].set("old", "1")
        try settle(members)
        let copy = try members[0].copyOfFiles()
        try members[0].set("after the copy", "2")
        try settle(members)
        let log = try members[0].ownLog(.whileUnlocked)
        try members[0].putBack(copy)
        try members[0].set("after the restore", "3")
        try settle(members)
        #expect(try members[0].ownLog(.whileUnlocked) != log)
        for member in members {
            #expect(try member.value("old") == "1")
            #expect(try member.value("after the copy") == "2")
            #expect(try member.value("after the restore") == "3")
        }
    }

    // Promise: 19.6
    @Test(arguments: [MemoryStore.Kind.folder, .etcd])
    func `A store that was set back gets everything again`(_ kind: MemoryStore.Kind) throws {
        let store = MemoryStore(kind)
        let members = try TestMember.circle(of: 2, in: store)
        try members[0].set("old", "1")
        try settle(members)
        let contents = store.contents
        try members[0].set("newer", "2")
        try settle(members)
        store.setBack(to: contents)
        try members[0].set("newest", "3")
        // What lasts for an hour is mended.
        try settle(members)
        members[0].clock.advance(seconds: 4000)
        try settle(members)
        members[0].clock.advance(seconds: 4000)
        try settle(members)
        let third = try members[1].admitNew(to: store)
        try settle(members + [third])
        for member in members + [third] {
            #expect(try member.value("old") == "1")
            #expect(try member.value("newer") == "2")
            #expect(try member.value("newest") == "3")
        }
    }

    @Test(arguments: [MemoryStore.Kind.folder, .etcd], [true, false])
    func `What a store has lost is put back with the next round`(
        _ kind: MemoryStore.Kind, _ isWriting: Bool
    ) throws {
        let store = MemoryStore(kind)
        let members = try TestMember.circle(of: 2, in: store)
        try members[0].set("old", "1")
        try settle(members)
        let contents = store.contents
        try members[0].set("newer", "2")
        try members[0].sync()
        // Before the other device has read it.
        store.setBack(to: contents)
        if isWriting { try members[0].set("newest", "3") }
        try members[0].sync()
        #expect(members[0].troubles.contains(.storeWasSetBack))
        #expect(try members[1].sync() == .current)
        #expect(try members[1].value("newer") == "2")
        #expect(try members[1].value("newest") == (isWriting ? "3" : nil))
        #expect(try members[0].sync() == .current)
        #expect(!members[0].troubles.contains(.storeWasSetBack))
    }

    @Test func `A store that loses everything again gets at most one base a minute`() throws {
        let store = MemoryStore(.etcd)
        let member = try TestMember.circle(of: 2, in: store)[0]
        let contents = store.contents
        try member.set("item", "1")
        try member.sync()
        let log = try member.ownLog(.whileUnlocked)
        let place = LogPlace(member.session.circle.circle, member.id, .whileUnlocked, log)
        var hasNews: [Bool] = []
        for seconds in [0, 1, 1, 60] as [UInt64] {
            member.clock.advance(seconds: seconds)
            store.setBack(to: contents)
            let before = Set(try member.names(in: place))
            try member.sync()
            hasNews.append(Set(try member.names(in: place)) != before)
        }
        #expect(hasNews == [true, false, false, true])
    }

    @Test func `A device that waits for a base is not current`() throws {
        let store = MemoryStore()
        let members = try TestMember.circle(of: 2, in: store)
        try members[0].set("first", "1")
        try members[0].sync()
        let place = LogPlace(
            members[0].session.circle.circle, members[0].id, .whileUnlocked,
            try members[0].ownLog(.whileUnlocked))
        let lost = try members[0].names(in: place).max { $0.number < $1.number }
        try members[0].set("second", "2")
        try members[0].sync()
        try members[0].client.delete(
            try #require(lost.map { [$0] }), in: place, by: members[0].session.storeDeadline)
        #expect(try members[1].sync() == .waiting)
        try settle(members)
        #expect(try members[1].sync() == .current)
        #expect(try members[1].value("first") == "1")
    }

    // Promise: 19.6
    @Test func `The roster is put back where the store has lost entries`() throws {
        let store = MemoryStore()
        let first = try TestMember.circle(of: 1, in: store)[0]
        let contents = store.contents
        let second = try first.admitNew(to: store)
        try settle([first, second])
        store.setBack(to: contents)
        try settle([first, second])
        #expect(try second.sync() == .current)
        let third = try first.admitNew(to: store)
        try settle([first, second, third])
        #expect(third.session.roster.accepted.members.count == 3)
    }
}
