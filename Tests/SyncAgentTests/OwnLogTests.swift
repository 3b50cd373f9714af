// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSync
import ValetSyncStores
import ValetSyncSupport

@testable import ValetSyncAgent

/// Keychains that were restored or copied, and stores that were set back: docs/SYNC.md §5.
struct OwnLogTests {
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
