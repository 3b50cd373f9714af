// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing

@testable import ValetSync

/// What is looked at first when anybody may have written the files of a roster.
@Suite struct `A sieve for the files of a roster` {
    private let test: TestRoster
    private let sieve: RosterSieve

    init() throws {
        test = try TestRoster([
            .init("e", after: "fork", by: "b", .add("e")),
            .init("rotated", after: "e", by: "e", .rotate),
        ])
        sieve = RosterSieve(try test.reader())
    }

    private func isSigned(_ finding: RosterSieve.Finding, as entry: RosterEntry) -> Bool {
        if case .signed(entry) = finding { true } else { false }
    }

    @Test func `lets entries through that a member has signed`() throws {
        var sieve = sieve
        #expect(isSigned(sieve.sift(test.entry("create").bytes), as: test.entry("create")))
        #expect(isSigned(sieve.sift(test.entry("e").bytes), as: test.entry("e")))
    }

    @Test func `knows the members that the entries before have added`() throws {
        var sieve = sieve
        let (added, next) = (test.entry("e"), test.entry("rotated"))
        guard case .unknownAuthor(let author) = sieve.sift(next.bytes) else {
            Issue.record("an author was known before its entry")
            return
        }
        #expect(author == next.head.signer && !sieve.knows(author))
        _ = sieve.sift(added.bytes)
        #expect(sieve.knows(author))
        #expect(isSigned(sieve.sift(next.bytes), as: next))
    }

    // Promise: 19.2
    @Test func `takes nothing that names a member and is signed by another key`() throws {
        var sieve = sieve
        let entry = test.entry("e")
        let stranger = try test.circle.device("z").identity(.whileUnlocked)
        let forged = RosterEntry(entry.head, entry.operation, signedBy: stranger.signing)
        guard case .foreign = sieve.sift(forged.bytes) else {
            Issue.record("a forged entry was taken")
            return
        }
        // And its new member is not known by it.
        guard case .add(let member, _) = forged.operation else { return }
        #expect(!sieve.knows(member.id))
    }

    @Test(arguments: 0..<156)
    func `takes no entry with a changed byte`(_ index: Int) throws {
        var sieve = sieve
        var bytes = test.entry("e").bytes
        bytes[index] ^= 1
        if case .signed = sieve.sift(bytes) { Issue.record("a changed entry was taken") }
    }

    @Test func `takes no entry of another circle`() throws {
        var sieve = sieve
        let entry = test.entry("e")
        let head = RosterEntry.Head(
            circle: CircleID(high: 1, low: 2), number: entry.head.number, parent: entry.head.parent,
            milliseconds: 1, signer: entry.head.signer)
        let identity = try test.circle.device("b").identity(.whileUnlocked)
        let other = RosterEntry(head, .leave([]), signedBy: identity.signing)
        guard case .foreign = sieve.sift(other.bytes) else {
            Issue.record("an entry of another circle was taken")
            return
        }
    }

    // Promise: 19.2
    @Test func `A member that signs very many siblings has 65 of them kept`() throws {
        let state = try #require(test.circle.states[test.entry("fork").hash])
        let author = try test.circle.device("b")
        var roster = try test.reader()
        let flood = try (0..<2000).map { number in
            try test.circle.unchecked(
                state, by: author, .leave, milliseconds: UInt64(number))
        }
        let reading = roster.add(flood)
        #expect(reading.added.count == Roster.maximalLostSiblings + 1)
        #expect(reading.refused.count == flood.count - reading.added.count)
        #expect(reading.refused.values.allSatisfy { $0.rule == .limit })
        // All devices choose the smallest hash, whichever they have read first.
        #expect(roster.acceptedHash == flood.map(\.hash).min())
    }
}
