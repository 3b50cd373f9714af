// SPDX-License-Identifier: Apache-2.0

import Testing
internal import ValetKeychainModel
import ValetSealing
import ValetSync
import ValetSyncSupport
import ValetSystem

@testable import ValetSyncAgent

/// docs/SYNC.md §6, as a device sees it that is not yet a member.
@Suite struct `A device that is to become a member` {
    private static var deadline: Deadline { Deadline(after: .seconds(5)) }

    /// A circle of one device and its recovery key.
    private struct Recoverable: ~Copyable {
        let store = MemoryStore()
        let client: MemoryStore.Client
        let circle: CircleID
        let founder: NewMember
        let recovery: NewMember

        init() throws {
            client = MemoryStore.Client(of: store)
            founder = NewMember(of: .zero)
            let founded = try FoundedCircle(by: founder)
            try founded.publish(in: client)
            circle = founded.id
            recovery = NewMember(.recovery, .random(), .random(), circle)
        }

        /// Admits a member as the founder.
        func admit(_ member: borrowing NewMember) throws -> Roster? {
            let foreign = try Roster(of: circle, in: client, by: deadline)
            return try foreign?.admit(member, by: founder, in: client)
        }
    }

    private static func read(_ circle: borrowing Recoverable) throws -> Roster? {
        try Roster(of: circle.circle, in: circle.client, by: deadline)
    }

    @Test func `The recovery key admits a device`() throws {
        let circle = try Recoverable()
        let before = try Self.read(circle)
        let isMember = before?.has(circle.recovery)
        #expect(isMember == false)
        _ = try circle.admit(circle.recovery)
        let newcomer = NewMember(of: circle.circle)
        let foreign = try #require(try Self.read(circle))
        let isNowMember = foreign.has(circle.recovery)
        #expect(isNowMember)
        let roster = try foreign.admit(newcomer, by: circle.recovery, in: circle.client)
        let id = newcomer.member.id
        #expect(roster?.accepted.members[id] != nil)
        let others = try Self.read(circle)
        #expect(others?.acceptedHash == roster?.acceptedHash)
    }

    @Test func `A recovery key that is no member has no keys and admits nobody`() throws {
        let circle = try Recoverable()
        let newcomer = NewMember(of: circle.circle)
        let foreign = try #require(try Self.read(circle))
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try foreign.admit(newcomer, by: circle.recovery, in: circle.client)
        }
        #expect(failure?.code == .noCircleKeys)
    }

    @Test func `A device is admitted only by a branch that its sponsor has offered`() throws {
        let circle = try Recoverable()
        let head = try #require(try Self.read(circle)).accepted
        func offer(_ number: UInt32, _ hash: SyncHash) -> InvitationOffer {
            InvitationOffer(
                circle: head.circle, number: number, head: hash, sponsor: DeviceID(high: 0, low: 0))
        }
        let newcomer = NewMember(of: circle.circle)
        let id = newcomer.member.id
        let early = try #require(try Self.read(circle))
        #expect(!early.admits(id, after: offer(head.number, head.hash)))
        let roster = try #require(try circle.admit(newcomer))
        let foreign = try #require(try Self.read(circle))
        #expect(foreign.admits(id, after: offer(head.number, head.hash)))
        // Neither an entry that is not in the store, nor the admission itself, was offered.
        #expect(!foreign.admits(id, after: offer(head.number, SyncHash.zero)))
        let own = roster.accepted
        #expect(!foreign.admits(id, after: offer(own.number, own.hash)))
    }

    @Test func `A roster whose first entry is missing, or of another circle, is not read`() throws {
        let circle = try Recoverable()
        let other = CircleID(high: 1, low: 2)
        try circle.client.create(other, by: Self.deadline)
        let foreign = try Roster(of: other, in: circle.client, by: Self.deadline)
        #expect(foreign == nil)
    }
}
