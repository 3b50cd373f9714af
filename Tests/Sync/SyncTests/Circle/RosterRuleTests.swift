// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetSync

/// Each rule of docs/SYNC.md §3.4 and §6, broken by a member that signs what it wrote.
@Suite struct `Roster entries that break a rule` {
    /// What `a` appends to the circle of `a`, `b`, `c` and `d`.
    private func refusal(
        by author: Character = "a",
        _ operation: (RosterState, RosterEntry.Head, TestCircle) throws -> RosterEntry.Operation
    ) throws -> SyncError? {
        let test = try TestRoster([])
        guard let state = test.circle.states[test.entry("fork").hash] else { return nil }
        let device = try test.circle.device(author)
        let head = state.next(milliseconds: 9, signer: device.id)
        let identity = try device.identity(.whileUnlocked)
        let entry = RosterEntry(
            head, try operation(state, head, test.circle), signedBy: identity.signing)
        var roster = try test.reader()
        do throws(SyncError) {
            let parsed = try RosterEntry(parsing: entry.bytes)
            #expect(parsed == entry)
            return roster.add([parsed]).refused[entry.hash]
        } catch {
            return error
        }
    }

    @Test func `Roster entries that break no rule are taken`() throws {
        let error = try refusal { state, head, _ in
            .rotate(
                try TestCircle.wraps(epoch: 2, state.members(without: []), head),
                try TestCircle.former(epoch: 2, head.circle))
        }
        #expect(error == nil)
    }

    @Test func `Roster entries that break the rules of add are refused`() throws {
        let epoch = try refusal { _, head, circle in
            let member = try circle.device("e").member
            return .add(member, try TestCircle.wraps(epoch: 2, [member], head))
        }
        #expect(epoch == SyncError(.invalid, .epoch, in: .rosterEntry))
        let others = try refusal { state, head, circle in
            let members = state.members(without: []) + [try circle.device("e").member]
            return .add(
                try circle.device("e").member,
                try TestCircle.wraps(epoch: 1, members, head))
        }
        #expect(others == SyncError(.invalid, .members, in: .rosterEntry))
        let again = try refusal { _, head, circle in
            let member = try circle.device("b").member
            return .add(member, try TestCircle.wraps(epoch: 1, [member], head))
        }
        #expect(again == SyncError(.invalid, .returning, in: .rosterEntry))
        let foreign = try refusal { _, head, _ in
            let member = try TestDevice("e", in: .zero).member
            return .add(member, try TestCircle.wraps(epoch: 1, [member], head))
        }
        #expect(foreign == SyncError(.tampered, .signature, in: .member))
    }

    @Test func `Roster entries that break the rules of remove are refused`() throws {
        func remove(_ devices: [Character], _ epoch: UInt32, _ left: [Character]) throws
            -> SyncError?
        {
            try refusal { _, head, circle in
                let members = try left.map { try circle.device($0).member }
                return .remove(
                    try devices.map { try circle.device($0).id },
                    try TestCircle.wraps(epoch: epoch, members, head),
                    try TestCircle.former(epoch: 2, head.circle))
            }
        }
        #expect(try remove(["d"], 2, ["a", "b", "c"]) == nil)
        let members = SyncError(.invalid, .members, in: .rosterEntry)
        #expect(try remove(["a"], 2, ["b", "c", "d"]) == members)
        #expect(try remove(["e"], 2, ["a", "b", "c", "d"]) == members)
        #expect(try remove(["d"], 2, ["a", "b", "c", "d"]) == members)
        #expect(try remove(["d"], 2, ["a", "b"]) == members)
        let epoch = SyncError(.invalid, .epoch, in: .rosterEntry)
        #expect(try remove(["d"], 1, ["a", "b", "c"]) == epoch)
        #expect(try remove(["d"], 3, ["a", "b", "c"]) == epoch)
        let limit = SyncError(.malformed, .limit, in: .rosterEntry)
        #expect(try remove([], 2, ["a", "b", "c", "d"]) == limit)
        #expect(
            try remove(["d", "d"], 2, ["a", "b", "c"])
                == SyncError(.malformed, .order, in: .rosterEntry))
    }

    @Test func `Roster entries that break the rules of leave are refused`() throws {
        func leave(_ last: [RosterEntry.LastMessage]) throws -> SyncError? {
            try refusal { _, _, _ in .leave(last) }
        }
        let device = try TestCircle().device("a").id
        let log = LogID(high: device.high, low: 1)
        let hash = SyncHash(1, 2, 3, 4)
        let (f, u) = (KeyScope.afterFirstUnlock, KeyScope.whileUnlocked)
        func last(_ scope: KeyScope, _ log: LogID, _ number: UInt64) -> RosterEntry.LastMessage {
            RosterEntry.LastMessage(scope, MessageName(log: log, number: number), hash: hash)
        }
        #expect(try leave([last(f, log, 1), last(u, log, 7)]) == nil)
        #expect(
            try leave([last(f, log, 0)]) == SyncError(.malformed, .number, in: .rosterEntry))
        #expect(
            try leave([last(f, LogID(high: 1, low: 1), 1)])
                == SyncError(.malformed, .log, in: .rosterEntry))
        #expect(
            try leave([last(f, log, 1), last(f, log, 2)])
                == SyncError(.malformed, .order, in: .rosterEntry))
    }

    @Test func `Roster entries that a second founder makes are refused`() throws {
        let other = try TestCircle()
        let error = try refusal { _, _, _ in other.genesis.operation }
        #expect(error == SyncError(.malformed, .parent, in: .rosterEntry))
    }

    @Test func `Roster entries that strangers and former members sign are refused`() throws {
        let stranger = try refusal(by: "e") { _, _, _ in .leave([]) }
        #expect(stranger == SyncError(.tampered, .signer, in: .rosterEntry))
    }

    @Test func `Roster entries that another circle's first entry begins are refused`() throws {
        let (one, two) = (try TestCircle(), try TestCircle())
        #expect(one.id != two.id)
        let error = #expect(throws: SyncError.self) {
            try Roster(founding: one.genesis, of: two.id)
        }
        #expect(error == SyncError(.tampered, .circle, in: .rosterEntry))
    }

    @Test func `Roster entries that add a 65th member are refused`() throws {
        let test = try TestRoster([])
        var circle = test.circle
        var parent = test.entry("fork")
        for letter in "efghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!?" {
            parent = try circle.entry(after: parent, by: "a", .add(letter))
        }
        #expect(circle.states[parent.hash]?.members.count == 64)
        let error = #expect(throws: SyncError.self) {
            try circle.entry(after: parent, by: "a", .add("."))
        }
        #expect(error == SyncError(.invalid, .limit, in: .rosterEntry))
    }

    @Test func `Roster entries that leave until new keys are made ask for a rotation`() throws {
        var test = try TestRoster([TestRoster.Step("x", after: "fork", by: "d", .leave)])
        var roster = try test.reader()
        _ = roster.add([test.entry("x")])
        #expect(roster.accepted.needsRotation)
        guard case .left(let leaver) = roster.membership(of: try test.device("d")) else {
            Issue.record("the member has not left")
            return
        }
        #expect(try leaver.member.id == test.device("d"))
        try test.append([TestRoster.Step("y", after: "x", by: "b", .rotate)])
        _ = roster.add([test.entry("y")])
        #expect(!roster.accepted.needsRotation)
        #expect(roster.commitments.keys.sorted() == [1, 2])
    }
}

/// docs/SYNC.md §6.1.
@Suite struct `A backdated roster entry` {
    typealias Step = TestRoster.Step

    /// `d` is removed, and then makes a sibling of an entry before its removal.
    private static let steps = [
        Step("rotate", after: "fork", by: "a", .rotate),
        Step("remove", after: "rotate", by: "b", .remove(["d"])),
        Step("late", after: "fork", by: "d", .remove(["a", "b"])),
    ]

    @Test func `A backdated roster entry by a device that named a later one is refused`() throws {
        let test = try TestRoster(Self.steps)
        var roster = try test.reader()
        _ = roster.add([test.entry("rotate"), test.entry("remove")])
        roster.note(test.entry("rotate").hash, namedBy: try test.device("d"))
        let reading = roster.add([test.entry("late")])
        #expect(
            reading.refused == [
                test.entry("late").hash: SyncError(.invalid, .backdated, in: .rosterEntry)
            ])
        #expect(test.name(roster.acceptedHash) == "remove")
    }

    @Test func `A backdated roster entry by a device that signed a later one is refused`() throws {
        var steps = Self.steps
        steps.insert(Step("signed", after: "rotate", by: "d", .add("e")), at: 1)
        steps[2] = Step("remove", after: "signed", by: "b", .remove(["d"]))
        let test = try TestRoster(steps)
        var roster = try test.reader()
        _ = roster.add(["rotate", "signed", "remove"].map(test.entry))
        let reading = roster.add([test.entry("late")])
        #expect(reading.refused.count == 1)
        #expect(test.name(roster.acceptedHash) == "remove")
    }

    @Test func `A backdated roster entry that nothing shows to be one is decided like any fork`()
        throws
    {
        let test = try TestRoster(Self.steps)
        var roster = try test.reader()
        _ = roster.add([test.entry("rotate"), test.entry("remove")])
        roster.note(test.entry("fork").hash, namedBy: try test.device("d"))
        #expect(roster.add([test.entry("late")]).refused.isEmpty)
        // Each branch removes the author of the other's first entry: this device stays.
        #expect(test.name(roster.acceptedHash) == "remove")
    }

    @Test func `A backdated roster entry by a member is taken`() throws {
        let test = try TestRoster([
            Step("rotate", after: "fork", by: "a", .rotate),
            Step("late", after: "fork", by: "d", .add("e")),
        ])
        var roster = try test.reader()
        _ = roster.add([test.entry("rotate")])
        roster.note(test.entry("rotate").hash, namedBy: try test.device("d"))
        #expect(roster.add([test.entry("late")]).refused.isEmpty)
        #expect(test.name(roster.acceptedHash) == "rotate")
    }
}
