// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetSync
import ValetSyncSupport
import ValetSystem

@testable import ValetSyncAgent

/// docs/SYNC.md §6, "Invite".
@Suite struct `The mails of an invitation` {
    private static let text = Array("J101-2345-6789-ABCD-EFGH-JKMN-PQRS-WBN1-YX".utf8)
    private static let circle = CircleID(high: 1, low: 2)
    private static let offer = InvitationOffer(
        circle: circle, number: 1, head: .zero, sponsor: DeviceID(high: 3, low: 4))

    private static func invitation() throws -> Invitation {
        let text = text
        return try Invitation(parsing: text.span)
    }

    private static func sponsor(_ store: any SyncStore) throws -> InvitationSponsor {
        let invitation = try invitation()
        return InvitationSponsor(invitation, offer, in: store)
    }

    private static func joiner(_ store: any SyncStore) throws -> InvitationJoiner {
        let invitation = try invitation()
        return InvitationJoiner(invitation, in: store)
    }

    private static func request(_ name: String) -> InvitationRequest {
        let member = NewMember(of: circle)
        return InvitationRequest(member.member, name: name)
    }

    private static func trouble(_ body: () throws -> Void) -> KeychainFailure.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? KeychainFailure)?.code
        }
    }

    @Test func `Both sides of an invitation find each other's mails and the same words`() throws {
        let store = MemoryStore()
        let client = MemoryStore.Client(of: store)
        var sponsor = try Self.sponsor(client)
        var joiner = try Self.joiner(MemoryStore.Client(of: store))
        let early = try joiner.offer()
        #expect(early == nil)
        try sponsor.begin()
        let offer = try joiner.offer()
        #expect(offer == Self.offer)
        let none = try sponsor.request()
        #expect(none == nil)
        try joiner.send(Self.request("laptop"))
        let request = try sponsor.request()
        #expect(request?.name == "laptop")
        let closed = try joiner.words()
        #expect(closed == nil)
        let words = try sponsor.open()
        let same = try joiner.words()
        #expect(words.count == 4)
        #expect(same == words)
        let pending = try sponsor.answer()
        #expect(pending == nil)
        try joiner.answer(isSame: true)
        let answer = try sponsor.answer()
        #expect(answer == true)
    }

    @Test func `A second device that answers an invitation ends it, also after the words`() throws {
        let store = MemoryStore()
        var sponsor = try Self.sponsor(MemoryStore.Client(of: store))
        var joiner = try Self.joiner(MemoryStore.Client(of: store))
        var thief = try Self.joiner(MemoryStore.Client(of: store))
        try sponsor.begin()
        _ = try joiner.offer()
        _ = try thief.offer()
        try joiner.send(Self.request("laptop"))
        _ = try sponsor.request()
        _ = try sponsor.open()
        _ = try joiner.words()
        try joiner.answer(isSame: true)
        try thief.send(Self.request("laptop"))
        let trouble = Self.trouble { _ = try sponsor.answer() }
        #expect(trouble == .invitationSeen)
    }

    @Test func `A joiner learns what its sponsor calls the devices, also after the end`() throws {
        let store = MemoryStore(.folder)
        let member = try TestMember.circle(of: 1, in: store)[0]
        let invitation = try Self.invitation()
        var sponsor = InvitationSponsor(invitation, member.session.offer, in: member.client)
        var joiner = try Self.joiner(MemoryStore.Client(of: store))
        try sponsor.begin()
        _ = try joiner.offer()
        let newcomer = NewMember(of: member.session.circle.circle)
        try joiner.send(InvitationRequest(newcomer.member, name: "phone"))
        _ = try sponsor.request()
        _ = try sponsor.open()
        _ = try joiner.words()
        let names = InvitationNames([member.id: "Laptop"], sponsor: member.id)
        let seat = try #require(member.session.roster.accepted.members[member.id])
        // Not before the joiner's yes.
        try sponsor.send(names, of: member.session)
        let early = try joiner.names(of: seat.member)
        #expect(early == nil)
        try joiner.answer(isSame: true)
        _ = try sponsor.answer()
        try sponsor.send(names, of: member.session)
        sponsor.end()
        let learned = try joiner.names(of: seat.member)
        #expect(learned == [member.id: "Laptop"])
        let again = try joiner.names(of: seat.member)
        #expect(again == nil)
    }

    @Test func `A joiner's no reaches the sponsor`() throws {
        let store = MemoryStore()
        var sponsor = try Self.sponsor(MemoryStore.Client(of: store))
        var joiner = try Self.joiner(MemoryStore.Client(of: store))
        try sponsor.begin()
        _ = try joiner.offer()
        try joiner.send(Self.request("laptop"))
        _ = try sponsor.request()
        _ = try sponsor.open()
        _ = try joiner.words()
        try joiner.answer(isSame: false)
        joiner.end(isJoined: false)
        let answer = try sponsor.answer()
        #expect(answer == false)
    }

    @Test func `A sponsor that ends an invitation takes its mails out of the store`() throws {
        let store = MemoryStore()
        var sponsor = try Self.sponsor(MemoryStore.Client(of: store))
        var joiner = try Self.joiner(MemoryStore.Client(of: store))
        try sponsor.begin()
        _ = try joiner.offer()
        let isThere = try joiner.isWithdrawn()
        #expect(!isThere)
        sponsor.end()
        let isGone = try joiner.isWithdrawn()
        #expect(isGone)
    }

    @Test func `Mails that nobody of an invitation has sealed change nothing`() throws {
        let store = MemoryStore()
        let client = MemoryStore.Client(of: store)
        let mailbox = try Self.invitation().mailbox
        for step in Mail.Step.allCases {
            try client.post(
                StoredMail(step, [1, 2, 3]), to: mailbox, by: Deadline(after: .seconds(5)))
        }
        var sponsor = try Self.sponsor(client)
        var joiner = try Self.joiner(MemoryStore.Client(of: store))
        try sponsor.begin()
        let offer = try joiner.offer()
        #expect(offer == Self.offer)
        try joiner.send(Self.request("laptop"))
        let request = try sponsor.request()
        #expect(request?.name == "laptop")
    }
}

/// What a keychain notes about its circle's store and devices.
@Suite struct `Notes about a circle` {
    private static let addresses: [StoreAddress] = {
        var place = EtcdPlace(list: "https://a:1,https://b:2")
        place.authority = "/ca"
        place.user = "root"
        place.allowsPlainText = true
        return [
            .folder("/mnt/ünder"), .etcd(place), .etcd(EtcdPlace(list: "https://[::1]:2379")),
        ]
    }()

    @Test(arguments: addresses)
    func `An address is read as it was noted`(_ address: StoreAddress) throws {
        #expect(try StoreAddress(parsing: address.bytes) == address)
    }

    @Test(arguments: addresses)
    func `An address that is cut short is refused`(_ address: StoreAddress) {
        let bytes = address.bytes
        for count in bytes.indices {
            #expect(throws: SyncError.self) { try StoreAddress(parsing: Array(bytes[..<count])) }
        }
        #expect(throws: SyncError.self) { try StoreAddress(parsing: bytes + [0]) }
    }

    @Test func `Names of devices are read as they were noted`() throws {
        let names = [DeviceID(high: 1, low: 2): "läptop", DeviceID(high: 0, low: 2): ""]
        let bytes = [UInt8](fields: names)
        #expect(try DeviceNames(parsing: bytes) == names)
        #expect(try DeviceNames(parsing: nil) == [:])
        #expect(throws: SyncError.self) { try DeviceNames(parsing: bytes.dropLast()) }
    }
}
