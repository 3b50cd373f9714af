// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing
import ValetSync
import ValetSyncSupport

@testable import ValetSyncAgent

/// An entry of the roster that the store has is the effect of the call: docs/SYNC.md §6.
@Suite struct `A change of the circle` {
    private static func newRecoveryKey(_ member: TestMember) throws -> Member {
        _ = try member.keychain.keychain.createRecoveryKey(nil)
        return NewMember(.recovery, .random(), .random(), member.session.circle.circle).member
    }

    private static func recoveryKeys(_ member: TestMember) -> Set<DeviceID> {
        let members = member.session.roster.accepted.members.values.map(\.member)
        return Set(members.filter { $0.kind == .recovery }.map(\.id))
    }

    /// Lets the appends fail whose numbers, from 0 on, `isFailing` picks.
    private static func failAppends(
        of member: TestMember, _ fault: MemoryStore.Client.Fault,
        _ isFailing: @escaping @Sendable (Int) -> Bool
    ) {
        let count = Mutex(0)
        member.client.interfere { call in
            guard call == .append else { return nil }
            let number = count.withLock { count in
                count += 1
                return count - 1
            }
            return isFailing(number) ? fault : nil
        }
    }

    // MARK: Recovery keys

    @Test func `A new recovery key takes the place of the one that it replaces`() throws {
        let member = try TestMember.circle(of: 1)[0]
        let (first, second) = (try Self.newRecoveryKey(member), try Self.newRecoveryKey(member))
        try member.session.admitRecoveryKey(first)
        #expect(Self.recoveryKeys(member) == [first.id])
        _ = try member.keychain.keychain.createRecoveryKey(nil)
        try member.session.admitRecoveryKey(second)
        #expect(Self.recoveryKeys(member) == [second.id])
        try member.restart()
        try member.sync()
        #expect(Self.recoveryKeys(member) == [second.id])
    }

    @Test func `A round removes a recovery key that was replaced, and no other device's`() throws {
        let members = try TestMember.circle(of: 2)
        let (own, other) = (
            try Self.newRecoveryKey(members[0]), try Self.newRecoveryKey(members[1])
        )
        for (member, key) in zip(members, [own, other]) {
            try member.session.readRoster()
            try member.session.admitRecoveryKey(key)
        }
        try settle(members)
        #expect(Self.recoveryKeys(members[0]) == [own.id, other.id])
        _ = try members[0].keychain.keychain.createRecoveryKey(nil)
        try settle(members)
        for member in members { #expect(Self.recoveryKeys(member) == [other.id]) }
    }

    @Test func `A recovery key of this device that no note names is removed`() throws {
        let member = try TestMember.circle(of: 1)[0]
        try member.session.admitRecoveryKey(try Self.newRecoveryKey(member))
        try SyncedKeychain(member.keychain).set(.recovery, nil, during: "test")
        try member.restart()
        try member.sync()
        #expect(Self.recoveryKeys(member) == [])
    }

    @Test func `A recovery key is known before it can open the circle`() throws {
        let member = try TestMember.circle(of: 1)[0]
        let key = try Self.newRecoveryKey(member)
        // The process dies before its entry is in the store.
        Self.failAppends(of: member, .failure(.storeFull)) { _ in true }
        #expect(throws: KeychainFailure.self) { try member.session.admitRecoveryKey(key) }
        #expect(Self.recoveryKeys(member) == [])
        let note = try SyncedKeychain(member.keychain).note(.recovery, during: "test")
        #expect(note?.starts(with: key.id.bytes) == true)
    }

    // MARK: After the entry

    @Test func `An admission takes effect although the messages after it cannot be sent`() throws {
        let store = MemoryStore()
        let members = try TestMember.circle(of: 1, in: store)
        Self.failAppends(of: members[0], .failure(.storeFull)) { $0 > 0 }
        let joined = try members[0].admitNew(to: store)
        #expect(members[0].session.unfinished?.code == .storeFull)
        members[0].client.interfere { _ in nil }
        try settle(members + [joined])
        #expect(members[0].session.unfinished == nil)
        #expect(try joined.sync() == .current)
    }

    @Test(arguments: [MemoryStore.Kind.folder, .etcd])
    func `An entry that the store has, though it reports an error, counts as made`(
        _ kind: MemoryStore.Kind
    ) throws {
        let store = MemoryStore(kind)
        let members = try TestMember.circle(of: 2, in: store)
        try members[0].session.readRoster()
        Self.failAppends(of: members[0], .lostAnswer) { _ in true }
        try members[0].session.append { (state, head) throws(KeychainFailure) in
            try members[0].session.removal(of: [members[1].id], after: state, head)
        }
        #expect(members[0].session.roster.accepted.members[members[1].id] == nil)
        members[0].client.interfere { _ in nil }
        #expect(try members[1].sync() == .removed)
    }

    @Test func `A removal that fails deletes no log of the member`() throws {
        let members = try TestMember.circle(of: 2)
        try members[1].set("a", "1")
        try settle(members)
        let place = LogPlace(
            members[1].session.circle.circle, members[1].id, .whileUnlocked,
            try members[1].ownLog(.whileUnlocked))
        let before = try members[0].names(in: place)
        #expect(!before.isEmpty)
        try members[0].session.deleteLogsLater(
            of: [members[1].id], since: members[0].session.machine.milliseconds())
        for _ in 0..<3 {
            members[0].clock.advance(seconds: 2 * 86_400)
            try members[0].sync()
        }
        #expect(try members[0].names(in: place) == before)
    }

    @Test func `A round forgets the circle that this device has left, if 'leave' could not`() throws
    {
        let members = try TestMember.circle(of: 2)
        try members[0].set("a", "1")
        try settle(members)
        try members[0].session.readRoster()
        try members[0].session.append { _, _ in .leave([]) }
        try members[0].restart()
        #expect(try members[0].sync() == .off)
        let note = try SyncedKeychain(members[0].keychain).note(.circle, during: "test")
        #expect(note == nil)
        #expect(try members[0].value("a") == "1")
    }

    // Promise: 19.14
    @Test func `Only a leave that the store has makes former values of conflicts`() throws {
        let members = try TestMember.circle(of: 2)
        for (member, value) in zip(members, ["a", "b"]) { try member.set("x", value) }
        try settle(members)
        #expect(try members[0].conflictCount == 1)
        let former = try members[0].formerCount
        Self.failAppends(of: members[0], .failure(.storeFull)) { _ in true }
        #expect(throws: KeychainFailure.self) { try members[0].session.leave() }
        #expect(try members[0].conflictCount == 1)
        #expect(try members[0].formerCount == former)
        members[0].client.interfere { _ in nil }
        try members[0].restart()
        try members[0].sync()
        #expect(try members[0].session.leave() == UnshownValues(kept: 1))
        #expect(try members[0].formerCount == former + 1)
    }

    // Promise: 19.14
    @Test func `A round that forgets the circle makes former values of conflicts, too`() throws {
        let members = try TestMember.circle(of: 2)
        for (member, value) in zip(members, ["a", "b"]) { try member.set("x", value) }
        try settle(members)
        let former = try members[0].formerCount
        try members[0].session.readRoster()
        try members[0].session.append { _, _ in .leave([]) }
        try members[0].restart()
        #expect(try members[0].sync() == .off)
        #expect(try members[0].formerCount == former + 1)
    }

    // MARK: Names

    @Test func `Damaged names of devices are not replaced by one new name`() throws {
        let member = try TestMember.circle(of: 1)[0]
        let keychain = SyncedKeychain(member.keychain)
        try keychain.set(.names, [1, 2, 3], during: "test")
        let failure = #expect(throws: KeychainFailure.self) {
            try keychain.update("test") { (update) throws(KeychainFailure) in
                try update.setName("desk", of: member.id)
            }
        }
        #expect(failure?.code == .damaged)
        #expect(try keychain.note(.names, during: "test") == [1, 2, 3])
    }
}
