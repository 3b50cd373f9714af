// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetTestValues

@testable import ValetSync

/// A circle in which devices change the roster at once, read it late and in part, and in which one
/// device makes entries after any it likes. docs/SYNC.md §6.1, §10.
struct RosterModel {
    private static let honest: [Character] = ["a", "b", "c", "d"]
    private static let liar: Character = "e"

    private var test: TestRoster
    private var readers: [Character: Roster] = [:]
    private var store: [RosterEntry] = []
    private var random: SplitMix
    private var newcomers = Array("fghijklmnopqrstuvwxyz")

    init(seed: UInt64) throws {
        random = SplitMix(seed: seed)
        test = try TestRoster([
            TestRoster.Step("e", after: "fork", by: "a", .add(Self.liar))
        ])
        for letter in Self.honest {
            readers[letter] = try test.reader()
            _ = readers[letter]?.add([test.entry("e")])
        }
        store = ["b", "c", "fork", "e"].map(test.entry)
    }

    /// Devices write and read, one after another.
    mutating func run(steps: Int) throws {
        for _ in 0..<steps {
            let letter = Self.honest.randomElement(using: &random) ?? "a"
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<3: try read(letter, share: 70)
            case 3: try lie()
            default: try write(letter)
            }
        }
    }

    /// All devices read everything, and do again what branches that lost removed.
    mutating func settle() throws {
        for _ in 0..<6 {
            for letter in Self.honest {
                try read(letter, share: 100)
                try redo(letter)
            }
        }
        for letter in Self.honest { try read(letter, share: 100) }
    }

    private mutating func read(_ letter: Character, share: Int) throws {
        guard var roster = readers[letter] else { return }
        let shown = store.filter { _ in Int.random(in: 0..<100, using: &random) < share }
        // A program that starts anew knows what it knew.
        if Bool.random(using: &random) {
            roster = try Roster(parsing: roster.bytes, of: roster.circle)
        }
        let before = roster
        let reading = roster.add(shown)
        try check(before, roster, reading)
        readers[letter] = roster
    }

    /// What holds whenever a device has read entries.
    private func check(_ before: Roster, _ after: Roster, _ reading: Roster.Reading) throws {
        for error in reading.refused.values {
            #expect(error.rule == .backdated)
        }
        // Two devices that remove each other: a device that has accepted one stays.
        if before.acceptedHash != after.acceptedHash,
            !after.isAncestor(before.acceptedHash, of: after.acceptedHash)
        {
            let forks = RosterForks(after, staying: after.root)
            let isUndecided = forks.continuations.values.contains { continuation in
                if case .undecided = continuation { true } else { false }
            }
            // A side is changed only where the rules decide, which they do alike for all.
            if !isUndecided { #expect(forks.decision.accepted == after.acceptedHash) }
        }
        // What was removed stays removed, or is to be removed again.
        let outstanding = after.outstanding.removals
        for entry in before.acceptedPath {
            guard case .remove(let devices, _, _) = entry.operation else { continue }
            let isOverruled = after.nodes.values.contains { node in
                guard case .remove(let others, _, _) = node.entry.operation else { return false }
                return others.contains(entry.head.signer)
            }
            for device in devices where !isOverruled {
                #expect(after.accepted.members[device] == nil || outstanding.contains(device))
            }
        }
    }

    private mutating func write(_ letter: Character) throws {
        guard let roster = readers[letter], roster.alarm.isEmpty else { return }
        let id = try test.device(letter)
        guard roster.accepted.members[id] != nil else { return }
        let change: TestCircle.Change
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3: change = .rotate
        case 3..<6 where !newcomers.isEmpty: change = .add(newcomers.removeFirst())
        case 6..<9:
            let others = (Self.honest + [Self.liar]).filter { other in
                guard other != letter, let id = try? test.device(other) else { return false }
                return roster.accepted.members[id] != nil
            }
            guard let other = others.randomElement(using: &random) else { return }
            change = .remove([other])
        default: change = .leave
        }
        try append(change, by: letter, after: roster.acceptedHash)
    }

    /// The liar appends to any entry after which it is a member.
    private mutating func lie() throws {
        let id = try test.device(Self.liar)
        let parents = store.filter { test.circle.states[$0.hash]?.members[id] != nil }
        guard let parent = parents.randomElement(using: &random) else { return }
        let others = Self.honest.filter { letter in
            guard let id = try? test.device(letter) else { return false }
            return test.circle.states[parent.hash]?.members[id] != nil
        }
        guard let other = others.randomElement(using: &random) else { return }
        try append(.remove([other]), by: Self.liar, after: parent.hash)
    }

    private mutating func redo(_ letter: Character) throws {
        guard let roster = readers[letter], roster.alarm.isEmpty else { return }
        let id = try test.device(letter)
        guard roster.accepted.members[id] != nil else { return }
        let letters = Self.honest + [Self.liar] + Array("fghijklmnopqrstuvwxyz")
        let removals = try letters.filter {
            roster.outstanding.removals.contains(try test.device($0)) && $0 != letter
        }
        if !removals.isEmpty {
            try append(.remove(removals), by: letter, after: roster.acceptedHash)
        } else if roster.outstanding.needsRotation {
            try append(.rotate, by: letter, after: roster.acceptedHash)
        } else {
            return
        }
        try read(letter, share: 100)
    }

    private mutating func append(
        _ change: TestCircle.Change, by letter: Character, after parent: SyncHash
    ) throws {
        let name = "\(store.count)"
        try test.append([
            TestRoster.Step(name, after: test.name(parent) ?? "create", by: letter, change)
        ])
        let entry = test.entry(name)
        store.append(entry)
        // Honest devices read what they write, and what they name in messages becomes known.
        if var roster = readers[letter] {
            _ = roster.add([entry])
            readers[letter] = roster
        }
    }

    /// Whether the devices agree, unless branches remove each other's authors.
    func checkAgreement() throws {
        let rosters = readers.values.filter { $0.alarm.isEmpty }
        var fresh = try Roster(founding: test.circle.genesis, of: test.circle.id)
        _ = fresh.add(store)
        let forks = RosterForks(fresh, staying: fresh.root)
        let isUndecided = forks.continuations.values.contains { continuation in
            if case .undecided = continuation { true } else { false }
        }
        guard !isUndecided else { return }
        // Devices that refused different backdated entries have kept different ones.
        for roster in rosters where roster.nodes.count == fresh.nodes.count {
            #expect(roster.acceptedHash == fresh.acceptedHash)
            #expect(roster.outstanding == fresh.outstanding)
        }
    }
}

@Suite struct `A roster that many change` {
    @Test(arguments: 0..<40)
    func `A roster that many change is accepted alike by all`(_ seed: Int) throws {
        var model = try RosterModel(seed: UInt64(seed))
        try model.run(steps: 24)
        try model.settle()
        try model.checkAgreement()
    }
}
