// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeychainStore
import ValetSealing
import ValetSyncSupport

@testable import ValetSync
@testable import ValetSyncAgent

/// What attackers do: the rows of docs/SYNC.md §9, against real keychains. Rows that need no
/// keychain are tested with the module `Sync`, the folder and the etcd cluster.
struct StoreAttackTests {
    // Promise: 19.1
    @Test func `A store that changes, swaps or mixes messages changes no item`() throws {
        let store = MemoryStore(.folder)
        let members = try TestMember.circle(of: 3, in: store)
        try members[0].set("item", "1")
        try members[0].set("other", "2", as: .afterFirstUnlock)
        try members[0].sync()
        let honest = store.contents
        let places = try members[1].client.logs(
            of: members.map(\.id), in: members[0].session.circle.circle,
            by: members[1].session.storeDeadline)
        var files: [(place: LogPlace, name: StoredName, bytes: [UInt8])] = []
        for place in places {
            for name in try members[1].names(in: place) {
                let answer = try members[1].client.read(
                    [name], in: .log(place), by: members[1].session.storeDeadline)[0]
                if case .bytes(let bytes) = answer { files.append((place, name, bytes)) }
            }
        }
        // Each message in every other log and scope, and a changed one in its own.
        for file in files {
            for other in places where other != file.place {
                store.plant(file.bytes, as: file.name, in: .log(other))
            }
        }
        for file in files {
            var bytes = file.bytes
            bytes[bytes.count / 2] ^= 1
            store.plant(bytes, as: file.name, in: .log(file.place))
        }
        try members[1].restart()
        _ = members[1].session.round()
        _ = members[2].session.round()
        #expect(try members[1].value("item") == nil)
        #expect(members[1].troubles.contains(.foreign) || members[1].troubles.contains(.partial))
        store.setBack(to: honest)
        try settle(members)
        #expect(try members[1].value("item") == "1")
        #expect(try members[2].value("other") == "2")
    }

    // Promise: 19.6
    @Test func `What a store drops comes with the next base`() throws {
        let store = MemoryStore(.folder)
        let members = try TestMember.circle(of: 2, in: store)
        try members[0].set("first", "1")
        try members[0].sync()
        let place = try members[0].session.ownPlace(.whileUnlocked)
        let names = try members[0].client.list(
            .log(place), by: members[0].session.storeDeadline
        ).names
        try members[0].set("second", "2")
        try members[0].sync()
        store.lose(names, in: .log(place))
        try members[1].sync()
        #expect(try members[1].value("second") == nil)
        #expect(try members[0].session.sendBase(.whileUnlocked))
        try settle(members)
        #expect(try members[1].value("first") == "1")
        #expect(try members[1].value("second") == "2")
    }

    // Promise: 19.6
    @Test func `What a store withholds is reported once another device has read it`() throws {
        let store = MemoryStore(.folder)
        let members = try TestMember.circle(of: 3, in: store)
        let hidden = try members[0].session.ownPlace(.whileUnlocked)
        members[2].client.hide { place, _ in place == .log(hidden) }
        try members[0].set("item", "1")
        try settle(members)
        try members[1].set("other", "2")
        try settle(members)
        #expect(!members[2].troubles.contains(.withheld))
        members[2].clock.advance(seconds: 4000)
        try members[2].sync()
        #expect(members[2].troubles.contains(.withheld))
        #expect(try members[2].sync() == .waiting)
        members[2].client.hide { _, _ in false }
        try settle(members)
        #expect(try members[2].value("item") == "1")
        #expect(!members[2].troubles.contains(.withheld))
    }

    // Promise: 19.6
    @Test func `A store that is deleted or full leaves all items where they are`() throws {
        let store = MemoryStore()
        let members = try TestMember.circle(of: 2, in: store)
        try members[0].set("item", "1")
        try settle(members)
        members[0].client.interfere { $0 == .append ? .failure(.storeFull) : nil }
        try members[0].set("another", "2")
        #expect(members[0].session.round().state == .full)
        #expect(try members[0].value("another") == "2")
        members[0].client.interfere { _ in nil }
        store.loseAll()
        #expect(members[0].session.round().state == .unavailable)
        #expect(try members[0].value("item") == "1")
        #expect(try members[1].value("item") == "1")
    }

    // Promise: 19.7
    @Test func `Two branches of a roster are chosen between in the same way by all`() throws {
        let store = MemoryStore(.folder)
        let members = try TestMember.circle(of: 3, in: store)
        let roster = StorePlace.roster(members[0].session.circle.circle)
        let known = try Set(
            members[0].client.list(roster, by: members[0].session.storeDeadline).names)
        // Each sees its own branch alone.
        for member in members { member.client.hide { $0 == roster && !known.contains($1) } }
        try members[0].session.readRoster()
        try members[0].session.remove([members[2].id])
        try members[1].session.readRoster()
        try members[1].session.remove([members[2].id])
        for member in members { member.client.hide { _, _ in false } }
        for _ in 0..<3 { for member in members { _ = member.session.round() } }
        #expect(
            members[0].session.roster.acceptedHash == members[1].session.roster.acceptedHash)
        #expect(members[2].session.round().state == .removed)
        try members[0].set("item", "1")
        try settle(Array(members[..<2]))
        #expect(try members[1].value("item") == "1")
        #expect(try members[2].value("item") == nil)
    }

    // Promise: 19.1
    @Test func `A store cannot make somebody a member`() throws {
        let store = MemoryStore(.folder)
        let members = try TestMember.circle(of: 1, in: store)
        let others = try TestMember.circle(of: 1, in: MemoryStore(.folder))
        let state = members[0].session.roster.accepted
        let outsider = others[0].session
        let head = state.next(milliseconds: 1, signer: outsider.circle.device)
        let entry = try outsider.withIdentity(.whileUnlocked) {
            RosterEntry(head, .leave([]), signedBy: $0.signing)
        }
        guard let entry else { throw TestProblem(text: "the outsider is locked") }
        _ = try members[0].client.put(
            [StoreFile(number: 2, bytes: entry.bytes)], in: .roster(state.circle),
            by: members[0].session.storeDeadline)
        #expect(try members[0].sync() == .current)
        #expect(members[0].session.roster.acceptedHash == state.hash)
        #expect(members[0].troubles == [.foreign])
    }

    // Promise: 19.2
    @Test func `An entry that only names a device as its author is never blamed on it`() throws {
        let store = MemoryStore(.folder)
        let members = try TestMember.circle(of: 2, in: store)
        let state = members[0].session.roster.accepted
        let head = state.next(milliseconds: 1, signer: members[1].id)
        let stranger = ScopeIdentity(.random(), .whileUnlocked, circle: .zero)
        let forged = RosterEntry(head, .leave([]), signedBy: stranger.signing)
        _ = try members[0].client.put(
            [StoreFile(number: UInt64(head.number), bytes: forged.bytes)],
            in: .roster(state.circle), by: members[0].session.storeDeadline)
        #expect(try members[0].sync() == .current)
        let troubles = members[0].session.report.troubles
        #expect(troubles.map(\.kind) == [.foreign])
        #expect(troubles.allSatisfy { $0.device == nil })
        #expect(members[0].session.roster.acceptedHash == state.hash)
    }

    // Promise: 19.2
    @Test func `An entry that a member has signed against the rules is blamed on it`() throws {
        let store = MemoryStore(.folder)
        let members = try TestMember.circle(of: 2, in: store)
        let session = members[1].session
        let state = session.roster.accepted
        let head = state.next(milliseconds: 1, signer: members[1].id)
        let entry = try session.withIdentity(.whileUnlocked) {
            (identity) throws(KeychainFailure) in
            let removal = try session.removal(of: [members[0].id], after: state, head)
            guard case .remove(_, let wraps, let former) = removal else {
                return nil as RosterEntry?
            }
            // Nobody removes itself.
            return RosterEntry(
                head, .remove([members[1].id], wraps, former), signedBy: identity.signing)
        }
        guard let forged = entry ?? nil else { throw TestProblem(text: "the member is locked") }
        _ = try members[0].client.put(
            [StoreFile(number: UInt64(head.number), bytes: forged.bytes)],
            in: .roster(state.circle), by: members[0].session.storeDeadline)
        try members[0].sync()
        #expect(
            members[0].session.report.troubles.contains {
                $0.kind == .refusedEntry && $0.device == members[1].id
            })
    }

    // Promise: 19.2
    @Test(arguments: [true, false])
    func `A flood of forged entries does not keep a device from reading the roster`(
        _ namesMember: Bool
    ) throws {
        let store = MemoryStore(.folder)
        let members = try TestMember.circle(of: 1, in: store)
        let state = members[0].session.roster.accepted
        let place = StorePlace.roster(state.circle)
        let stranger = ScopeIdentity(.random(), .whileUnlocked, circle: .zero)
        for number in 0..<3000 as Range<UInt64> {
            let head = RosterEntry.Head(
                circle: state.circle, number: 2,
                parent: namesMember ? state.hash : SyncHash(number, 1, 2, 3),
                milliseconds: number,
                signer: namesMember ? members[0].id : DeviceID(high: number, low: 1))
            let file = StoreFile(
                number: 2, bytes: RosterEntry(head, .leave([]), signedBy: stranger.signing).bytes)
            store.plant(file.bytes, as: file.name, in: place)
        }
        let newcomer = try members[0].admitNew(to: store)
        #expect(newcomer.session.isMember)
        #expect(try members[0].sync() == .current)
        #expect(members[0].session.rosterShelf.waiting.isEmpty)
        #expect(members[0].session.report.troubles.contains { $0.count == 3000 })
    }
}

/// Members that lie, and devices that were removed.
struct MemberAttackTests {
    // Promise: 19.9
    @Test func `A member that names a dot of the future hides nothing`() throws {
        let members = try TestMember.circle(of: 3)
        let victim = try members[0].session.ownPlace(.whileUnlocked)
        let next = try members[0].session.look { $0[.whileUnlocked].own.next }
        let position = LogPosition(number: next + 5, hash: SyncHash(1, 2, 3, 4))
        try members[2].forge(
            .init(
                table: [victim.log: position],
                covers: [Dot(log: victim.log, number: next, tag: 7)]))
        try members[1].sync()
        try members[0].set("item", "1")
        try settle(members)
        #expect(try members[1].value("item") == "1")
    }

    // Promise: 19.9
    @Test func `A member that claims more of a log makes its owner take a new one`() throws {
        let members = try TestMember.circle(of: 3)
        let victim = try members[0].session.ownPlace(.whileUnlocked)
        let next = try members[0].session.look { $0[.whileUnlocked].own.next }
        try members[2].forge(
            .init(table: [victim.log: LogPosition(number: next, hash: SyncHash(1, 2, 3, 4))]))
        try members[0].set("item", "1")
        try settle(members)
        #expect(try members[0].session.ownPlace(.whileUnlocked).log != victim.log)
        #expect(try members[1].value("item") == "1")
        #expect(members[0].session.report.devices[members[2].id] != nil)
    }

    // Promise: 19.9
    @Test func `The greatest time does not keep others from writing`() throws {
        let members = try TestMember.circle(of: 2)
        try members[1].forge(
            .init(records: [try members[1].record("item", "forged", time: 1 << 62)]))
        try members[0].sync()
        #expect(try members[0].value("item") == "forged")
        try members[0].set("item", "mine")
        try settle([members[0]])
        #expect(try members[0].value("item") == "mine")
    }

    // Promise: 19.9
    @Test func `A message in the log of another device is not read`() throws {
        let members = try TestMember.circle(of: 2)
        let victim = try members[0].session.ownPlace(.whileUnlocked)
        try members[1].forge(
            .init(
                log: victim.log, number: 900,
                records: [try members[1].record("item", "forged")]))
        try settle(members)
        #expect(try members[0].value("item") == nil)
    }

    // Promise: 19.9
    @Test func `A member that breaks a rule is named, and its log is read no further`() throws {
        let members = try TestMember.circle(of: 2)
        // A time that is later than any may be.
        try members[1].forge(
            .init(records: [try members[1].record("item", "forged", time: 1 << 63)]))
        try members[0].sync()
        #expect(try members[0].value("item") == nil)
        #expect(
            members[0].session.report.troubles.contains {
                $0.kind == .invalidMessage && $0.device == members[1].id
            })
    }

    // Promise: 19.7
    @Test func `A removed device cannot come back by a roster of its own`() throws {
        let store = MemoryStore(.folder)
        let members = try TestMember.circle(of: 3, in: store)
        let roster = StorePlace.roster(members[0].session.circle.circle)
        let known = try Set(
            members[0].client.list(roster, by: members[0].session.storeDeadline).names)
        try members[0].session.remove([members[2].id])
        try settle(Array(members[..<2]))
        // It pretends not to have read its removal, and removes the others.
        members[2].client.hide { $0 == roster && !known.contains($1) }
        try members[2].restart()
        try members[2].session.append { (state, head) throws(KeychainFailure) in
            try members[2].session.removal(of: [members[1].id], after: state, head)
        }
        try settle(Array(members[..<2]))
        #expect(members[0].session.roster.accepted.members[members[2].id] == nil)
        #expect(members[0].session.roster.accepted.members[members[1].id] != nil)
        #expect(members[1].session.isMember)
    }
}

/// A device whose keychain is locked.
struct LockedDeviceTests {
    // Promise: 19.10
    @Test func `A locked device opens and signs nothing of class 1, and syncs the others`() throws {
        let members = try TestMember.circle(of: 2)
        try members[1].set("mine", "0")
        try settle(members)
        try members[1].lock()
        try members[0].set("class 1", "1")
        try members[0].set("class 2", "2", as: .afterFirstUnlock)
        try members[0].set("mine", "changed")
        try members[1].set("locked", "3", as: .afterFirstUnlock)
        let log = try members[1].session.ownPlace(.whileUnlocked)
        let written = try members[1].names(in: log)
        try settle(members)
        #expect(try members[1].sync() == .locked)
        #expect(try members[1].value("class 2") == "2")
        #expect(try members[0].value("locked") == "3")
        #expect(try members[1].names(in: log) == written)
        try members[1].unlock()
        try settle(members)
        #expect(try members[1].value("class 1") == "1")
        #expect(try members[1].value("mine") == "changed")
        #expect(try members[1].sync() == .current)
    }

    // Promise: 19.10
    @Test func `A thief of a locked device cannot replace an item of class 1`() throws {
        let members = try TestMember.circle(of: 2)
        try members[0].set("item", "1")
        try settle(members)
        try members[1].lock()
        // The same name in a class that is open.
        try members[1].forge(
            .init(
                scope: .afterFirstUnlock,
                records: [
                    try members[1].record(
                        "item", "stolen", time: 1 << 62, as: .afterFirstUnlock)
                ]))
        try settle([members[0]])
        #expect(try members[0].value("item") == "1")
    }
}
