// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSealing
import ValetTestValues

@testable import ValetSync

/// docs/SYNC.md §6.1. In each circle `a` is the eldest, then come `b`, `c` and `d`.
@Suite struct `Branches of a roster` {
    typealias Step = TestRoster.Step

    /// Branches, and the entry that every device accepts.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let accepted: String
        let steps: [Step]

        init(_ name: String, _ accepted: String, _ steps: [Step]) {
            testDescription = name
            self.accepted = accepted
            self.steps = steps
        }
    }

    static let decided: [Case] = [
        Case(
            "a removal of the other's author", "x",
            [
                Step("x", after: "fork", by: "c", .remove(["b"])),
                Step("y", after: "fork", by: "b", .rotate),
            ]),
        Case(
            "a removal later in the branch", "x2",
            [
                Step("x", after: "fork", by: "d", .rotate),
                Step("x2", after: "x", by: "c", .remove(["b"])),
                Step("y", after: "fork", by: "b", .rotate),
            ]),
        Case(
            "a removal of somebody who wrote later in the other branch", "y2",
            [
                Step("x", after: "fork", by: "c", .remove(["d"])),
                Step("y", after: "fork", by: "b", .rotate),
                Step("y2", after: "y", by: "d", .add("e")),
            ]),
        Case(
            "the elder author", "y",
            [
                Step("x", after: "fork", by: "d", .rotate),
                Step("y", after: "fork", by: "c", .rotate),
            ]),
        Case(
            "the elder author, whose branch is shorter", "y",
            [
                Step("x", after: "fork", by: "d", .rotate),
                Step("x2", after: "x", by: "d", .add("e")),
                Step("y", after: "fork", by: "a", .rotate),
            ]),
        Case(
            "the elder of three authors", "z",
            [
                Step("x", after: "fork", by: "d", .rotate),
                Step("y", after: "fork", by: "c", .rotate),
                Step("z", after: "fork", by: "b", .rotate),
            ]),
        Case(
            "the sibling that wins against each other", "z",
            [
                Step("x", after: "fork", by: "a", .remove(["b"])),
                Step("y", after: "fork", by: "b", .remove(["a"])),
                Step("z", after: "fork", by: "c", .remove(["a", "b"])),
            ]),
        Case(
            "the elder in a branch that forks itself", "x-a",
            [
                Step("x", after: "fork", by: "b", .rotate),
                Step("x-c", after: "x", by: "c", .add("e")),
                Step("x-a", after: "x", by: "a", .add("f")),
                Step("y", after: "fork", by: "d", .rotate),
            ]),
        Case(
            "a removal that lost its own fork does not count", "y",
            [
                Step("x", after: "fork", by: "d", .rotate),
                Step("x-d", after: "x", by: "d", .remove(["b"])),
                Step("x-a", after: "x", by: "a", .add("f")),
                Step("y", after: "fork", by: "b", .rotate),
            ]),
        Case(
            "a leaving does not count as a removal", "y",
            [
                Step("x", after: "fork", by: "c", .leave),
                Step("y", after: "fork", by: "b", .remove(["d"])),
            ]),
    ]

    @Test(arguments: decided)
    func `Branches of a roster are decided alike in whatever order they are read`(
        _ fork: Case
    ) throws {
        let test = try TestRoster(fork.steps)
        for order in Self.orders(fork.steps.map(\.name)) {
            var roster = try test.reader()
            for name in order {
                // What waits for its parent is read again.
                _ = roster.add(order.prefix { $0 != name }.map(test.entry) + [test.entry(name)])
            }
            #expect(test.name(roster.acceptedHash) == fork.accepted, "\(order)")
            #expect(roster.alarm.isEmpty)
        }
        var roster = try test.reader()
        _ = roster.add(fork.steps.map { test.entry($0.name) })
        #expect(test.name(roster.acceptedHash) == fork.accepted)
    }

    @Test func `Branches of a roster by one author are decided by the smaller hash`() throws {
        let test = try TestRoster([
            Step("x", after: "fork", by: "c", .rotate),
            Step("y", after: "fork", by: "c", .add("e")),
            // The branch of the greater hash removes the author: that decides nothing.
            Step("x2", after: "x", by: "a", .remove(["c"])),
        ])
        let (x, y) = (test.entry("x"), test.entry("y"))
        let winner = x.hash < y.hash ? "x2" : "y"
        for order in [["x", "x2", "y"], ["y", "x", "x2"]] {
            var roster = try test.reader()
            for name in order { _ = roster.add([test.entry(name)]) }
            #expect(test.name(roster.acceptedHash) == winner)
        }
    }

    static let standoff = [
        Step("x", after: "fork", by: "b", .remove(["c"])),
        Step("y", after: "fork", by: "c", .remove(["b"])),
    ]

    @Test(arguments: [("x", "y"), ("y", "x")])
    func `Branches of a roster that remove each other's authors leave a device where it was`(
        _ first: String, _ second: String
    ) throws {
        let test = try TestRoster(Self.standoff)
        var roster = try test.reader()
        _ = roster.add([test.entry(first)])
        _ = roster.add([test.entry(second)])
        #expect(test.name(roster.acceptedHash) == first)
        #expect(roster.alarm.isEmpty)
        #expect(roster.outstanding == Roster.Outstanding())
    }

    @Test func `Branches of a roster that remove each other's authors alarm a new device`() throws {
        let test = try TestRoster(Self.standoff)
        var roster = try test.reader()
        _ = roster.add(Self.standoff.map { test.entry($0.name) })
        #expect(test.name(roster.acceptedHash) == "fork")
        #expect(roster.alarm == [test.entry("x").hash, test.entry("y").hash].sorted())
    }

    @Test(arguments: [("b", "y"), ("c", "x")] as [(Character, String)])
    func `Branches of a roster by a distrusted device are void`(
        _ distrusted: Character, _ accepted: String
    ) throws {
        let test = try TestRoster(Self.standoff)
        var roster = try test.reader()
        _ = roster.add(Self.standoff.map { test.entry($0.name) })
        roster.distrust(try test.device(distrusted))
        #expect(test.name(roster.acceptedHash) == accepted)
        #expect(roster.alarm.isEmpty)
        #expect(roster.membership(of: try test.device(distrusted)) == .none)
        roster = try Roster(parsing: roster.bytes, of: roster.circle)
        #expect(roster.add([test.entry("x"), test.entry("y")]) == Roster.Reading())
        #expect(test.name(roster.acceptedHash) == accepted)
        #expect(roster.outstanding == Roster.Outstanding())
    }

    @Test func `Branches of a roster in a circle of three removals leave a device where it was`()
        throws
    {
        // x beats y, y beats z, and z beats x.
        let steps = [
            Step("x", after: "fork", by: "b", .remove(["c"])),
            Step("y", after: "fork", by: "c", .remove(["d"])),
            Step("z", after: "fork", by: "d", .remove(["b"])),
        ]
        let test = try TestRoster(steps)
        for first in steps {
            var roster = try test.reader()
            _ = roster.add([test.entry(first.name)])
            _ = roster.add(steps.map { test.entry($0.name) })
            #expect(test.name(roster.acceptedHash) == first.name)
        }
        var roster = try test.reader()
        _ = roster.add(steps.map { test.entry($0.name) })
        #expect(roster.alarm.count == 3)
    }

    /// All orders of a few names.
    private static func orders(_ names: [String]) -> [[String]] {
        guard names.count > 1 else { return [names] }
        return names.indices.flatMap { index in
            var rest = names
            let first = rest.remove(at: index)
            return orders(rest).map { [first] + $0 }
        }
    }
}

/// What a branch that lost leaves to do: docs/SYNC.md §6.1.
@Suite struct `A branch that lost` {
    typealias Step = TestRoster.Step

    private func outstanding(_ steps: [Step]) throws -> (Roster.Outstanding, TestRoster) {
        let test = try TestRoster(steps)
        var roster = try test.reader()
        _ = roster.add(steps.map { test.entry($0.name) })
        return (roster.outstanding, test)
    }

    @Test func `A branch that lost has its removals done again`() throws {
        let (outstanding, test) = try outstanding([
            Step("x", after: "fork", by: "d", .remove(["c"])),
            Step("y", after: "fork", by: "a", .rotate),
        ])
        #expect(try outstanding == Roster.Outstanding(removals: [test.device("c")]))
    }

    @Test func `A branch that lost has its leavings done again`() throws {
        let (outstanding, test) = try outstanding([
            Step("x", after: "fork", by: "d", .leave),
            Step("y", after: "fork", by: "a", .rotate),
        ])
        #expect(try outstanding == Roster.Outstanding(removals: [test.device("d")]))
    }

    @Test func `A branch that lost has no removals by a device that another branch removes`()
        throws
    {
        let (outstanding, _) = try outstanding([
            Step("x", after: "fork", by: "d", .remove(["c"])),
            Step("y", after: "fork", by: "a", .remove(["d"])),
        ])
        #expect(outstanding == Roster.Outstanding())
    }

    @Test func `A branch that lost has a removal done although its author was removed after it`()
        throws
    {
        let (outstanding, test) = try outstanding([
            Step("x", after: "fork", by: "d", .remove(["c"])),
            Step("x2", after: "x", by: "b", .remove(["d"])),
            Step("y", after: "fork", by: "a", .rotate),
        ])
        #expect(
            try outstanding == Roster.Outstanding(removals: [test.device("c"), test.device("d")]))
    }

    @Test func `A branch that lost leaves its additions to their authors`() throws {
        let (outstanding, _) = try outstanding([
            Step("x", after: "fork", by: "d", .add("e")),
            Step("y", after: "fork", by: "a", .rotate),
        ])
        #expect(outstanding == Roster.Outstanding())
    }

    @Test func `A branch that lost has its new keys made again if the other has none`() throws {
        let (first, _) = try outstanding([
            Step("x", after: "fork", by: "d", .rotate),
            Step("y", after: "fork", by: "a", .add("e")),
        ])
        #expect(first == Roster.Outstanding(needsRotation: true))
        let (second, _) = try outstanding([
            Step("x", after: "fork", by: "d", .rotate),
            Step("y", after: "fork", by: "a", .rotate),
        ])
        #expect(second == Roster.Outstanding())
    }

    @Test func `A branch that lost is kept with its author's smallest entry and 64 siblings`()
        throws
    {
        var test = try TestRoster([Step("y", after: "fork", by: "a", .rotate)])
        let steps = (0..<66).map { Step("x\($0)", after: "fork", by: "d", .leave) }
        try test.append(steps)
        var roster = try test.reader()
        _ = roster.add([test.entry("y")])
        let reading = roster.add(steps.map { test.entry($0.name) })
        #expect(reading.added.count == 65)
        // The last of 66 is refused, because the others have smaller hashes.
        #expect(
            reading.refused.values.map(\.self)
                == [SyncError(.invalid, .limit, in: .rosterEntry)])
        #expect(test.name(roster.acceptedHash) == "y")
    }

    @Test func `A flood of removals by one author displaces no removal of that author`() throws {
        var test = try TestRoster([])
        // The flood comes first, in the order of the hashes.
        var flood: [String] = []
        repeat {
            let names = (0..<99).map { "x\($0)" }
            try test.append([Step("y", after: "fork", by: "c", .remove(["d"]))])
            try test.append(names.map { Step($0, after: "fork", by: "d", .remove(["c"])) })
            flood = Array(
                names.filter { test.entry($0).hash < test.entry("y").hash }
                    .prefix(Roster.maximalLostSiblings + 1))
        } while flood.count <= Roster.maximalLostSiblings
        let devices = try ["c", "d"].map { ($0, try test.device(Character($0))) }
        func authors(_ roster: Roster) -> [String] {
            let signers = roster.alarm.map { roster.nodes[$0]?.signer }
            return devices.filter { signers.contains($0.1) }.map(\.0)
        }
        var roster = try test.reader()
        let reading = roster.add((flood + ["y"]).map { test.entry($0) })
        #expect(reading.added.contains(test.entry("y").hash))
        #expect(authors(roster) == ["c", "d"])
        #expect(roster.alarm.allSatisfy(roster.contains))
        let first = try #require(flood.min { test.entry($0).hash < test.entry($1).hash })
        try test.append([Step("after", after: first, by: "d", .rotate)])
        _ = roster.add([test.entry("after")])
        #expect(authors(roster) == ["c", "d"])
        roster.distrust(try test.device("d"))
        #expect(test.name(roster.acceptedHash) == "y")
    }

    @Test func `A branch that lost its place among 64 still wins by its removals`() throws {
        var test = try TestRoster([Step("y", after: "fork", by: "b", .rotate)])
        let steps = (0..<64).map { Step("x\($0)", after: "fork", by: "d", .leave) }
        try test.append(steps + [Step("z", after: "fork", by: "c", .remove(["b", "d"]))])
        var roster = try test.reader()
        _ = roster.add([test.entry("y")] + steps.map { test.entry($0.name) })
        // The siblings keep the order in which they were read.
        let kept = roster.entries.map(\.hash)
        roster = try Roster(parsing: roster.bytes, of: roster.circle)
        #expect(roster.entries.map(\.hash) == kept)
        _ = roster.add([test.entry("z")])
        #expect(test.name(roster.acceptedHash) == "z")
    }
}
