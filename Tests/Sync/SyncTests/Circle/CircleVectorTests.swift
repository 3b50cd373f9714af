// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetSync

/// The bytes of docs/SYNC.md §2, §3 and §6, made by a program that knows nothing but that page.
@Suite struct `The vectors of circles` {
    @Test(arguments: try Vector.sync("identity"))
    func `The vector of an identity has the same keys`(_ vector: Vector) throws {
        let f = try vector.identity(.afterFirstUnlock)
        let u = try vector.identity(.whileUnlocked)
        #expect(try f.signing.publicKey.bytes == vector.bytes("sign_f"))
        #expect(try u.signing.publicKey.bytes == vector.bytes("sign_u"))
        #expect(try f.agreement.publicKey.bytes == vector.bytes("agree_f"))
        #expect(try u.agreement.publicKey.bytes == vector.bytes("agree_u"))
        let member = try vector.member
        #expect(try member.bytes == vector.bytes("member"))
        #expect(try member.id == vector.id("id"))
        var reader = ByteReader(
            member.bytes, malformed: SyncError(.malformed, .form, in: .member))
        #expect(try Member(from: &reader, circle: vector.id("circle")) == member)
    }

    @Test(arguments: try Vector.sync("member"))
    func `The vector of a member with unfit keys is refused`(_ vector: Vector) throws {
        try vector.check {
            var reader = ByteReader(
                try vector.bytes("member"), malformed: SyncError(.malformed, .form, in: .member))
            _ = try Member(from: &reader, circle: vector.id("circle"))
        }
    }

    @Test(arguments: try Vector.sync("circle"))
    func `The vector of a circle has the same file`(_ vector: Vector) throws {
        #expect(try StoreNames.markBytes(of: vector.id("circle")) == vector.bytes("file"))
    }

    @Test func `The vectors of a roster follow one another`() throws {
        let vectors = try Vector.sync("roster")
        var roster = try Self.roster(upTo: 1)
        for vector in vectors {
            let entry = try RosterEntry(parsing: vector.bytes("bytes"))
            if entry.head.number > 1 { #expect(roster.add([entry]).added == [entry.hash]) }
            #expect(try entry.hash == vector.hash("hash"))
            #expect(roster.acceptedHash == entry.hash)
            #expect(
                try roster.accepted.members.keys.sorted().map(\.bytes) == vector.list("member"))
            #expect(try roster.accepted.epoch == vector.number("epoch"))
            let name = StoredName(
                number: UInt64(entry.head.number), part: nil,
                hash: StoreNames.hash(of: entry.bytes))
            #expect(try StoreNames.path(of: name, in: .roster(.zero)) == vector.text("file"))
            if case .leave(let last) = entry.operation {
                #expect(try last.map(\.bytes) == vector.list("last"))
            }
        }
        #expect(roster.acceptedPath.count == vectors.count)
        #expect(!roster.accepted.needsRotation)
    }

    @Test func `The vectors of a roster give the founder all keys`() throws {
        let path = try Self.roster(upTo: 8).acceptedPath
        let founder = try Vector.sync(file: "identity-founder.txt")
        let create = try Vector.sync(file: "roster-1-create.txt")
        let keys = try Self.keys(of: path, founder)
        #expect(try keys[1]?.f.array == create.bytes("key_f"))
        #expect(try keys[1]?.u.array == create.bytes("key_u"))
        #expect(try keys[1]?.f.id.bytes == create.bytes("key_id_f"))
        #expect(try keys[1]?.f.commitment.bytes == create.bytes("commitment_f"))
        let batch = try Vector.sync(file: "message-first-batch.txt")
        #expect(try keys[3]?.f.array == batch.bytes("key"))
        let unlocked = try Vector.sync(file: "message-first-batch-of-scope-u.txt")
        #expect(try keys[3]?.u.array == unlocked.bytes("key"))
    }

    @Test func `The vectors of a roster have the former keys`() throws {
        let roster = try Self.roster(upTo: 8)
        let founder = try Vector.sync(file: "identity-founder.txt")
        let keys = try Self.keys(of: roster.acceptedPath, founder)
        var count = 0
        for entry in roster.acceptedPath {
            let (wraps, former): (Wraps, FormerKeys)
            switch entry.operation {
            case .remove(_, let newWraps, let keys): (wraps, former) = (newWraps, keys)
            case .rotate(let newWraps, let keys): (wraps, former) = (newWraps, keys)
            default: continue
            }
            let commitments = try #require(roster.commitments[wraps.epoch - 1])
            for scope in KeyScope.allCases {
                let bytes = try keys[wraps.epoch].key(scope)
                let newKey = try CircleKey(copying: bytes.span)
                let key = try former.key(
                    of: scope, under: newKey, circle: entry.head.circle, epoch: wraps.epoch,
                    commitments: commitments)
                #expect(try key.array == keys[wraps.epoch - 1].key(scope))
            }
            count += 1
        }
        #expect(count == 2)
    }

    @Test(arguments: try Vector.sync("bad-entry"))
    func `The vectors of bad roster entries are refused as they say`(_ vector: Vector) throws {
        var roster = try Self.roster(upTo: 8)
        try vector.check {
            let entry = try RosterEntry(parsing: vector.bytes("bytes"))
            let reading = roster.add([entry])
            // Its parent is no entry that was kept, because its number is not the next one.
            if reading.waiting == [entry.hash] {
                throw SyncError(.malformed, .parent, in: .rosterEntry)
            }
            if let error = reading.refused[entry.hash] { throw error }
        }
    }

    @Test func `The vector of an invitation is met from both sides`() throws {
        let vector = try Vector.sync(file: "invitation.txt")
        let (plaintexts, mails) = (try vector.list("plaintext"), try vector.list("mail"))
        let random = try vector.list("random").map { try HedgeBytes($0) }
        let text = Array(try vector.text("text").utf8)
        let opening = plaintexts[2]
        let sponsorRandom = try SponsorRandom(copying: opening.span)
        let invitation = try Invitation(parsing: text.span)
        #expect(invitation.text.array == text)
        #expect(try invitation.key.array == vector.bytes("key"))
        #expect(try invitation.mailbox == vector.id("mailbox"))
        let (offer, _) = try InvitationOffer.parse(plaintexts[0])
        let request = try InvitationRequest(parsing: plaintexts[1], circle: offer.circle)

        var sponsor = Sponsoring(invitation, offer, random: sponsorRandom)
        let typed = try Invitation(parsing: text.span)
        var joiner = Joining(typed)
        #expect(sponsor.offerMail(random: random[0]) == mails[0])
        #expect(try joiner.receiveOffer(mails[0]) == offer)
        #expect(joiner.requestMail(request, random: random[1]) == mails[1])
        #expect(try sponsor.receiveRequest(mails[1]) == request)
        #expect(sponsor.openingMail(random: random[2]) == mails[2])
        try joiner.receiveOpening(mails[2])
        #expect(joiner.words == vector.texts("word"))
        #expect(sponsor.words == vector.texts("word"))
        #expect(joiner.answerMail(isSame: true, random: random[3]) == mails[3])
        #expect(try sponsor.receiveAnswer(mails[3]))
        for (step, file) in zip(Mail.Step.allCases, vector.texts("file")) {
            let name = StoreNames.name(
                of: StoredMail(step, mails[Int(step.rawValue) - 1]))
            let mailbox: MailboxID = try vector.id("mailbox")
            #expect("join/\(StoreNames.text(mailbox))/\(StoreNames.text(name))" == file)
        }
    }

    @Test(arguments: try Vector.sync("bad-mail"))
    func `The vectors of bad mails are refused as they say`(_ vector: Vector) throws {
        let sample = try Vector.sync(file: "invitation.txt")
        let (mails, plaintexts) = (try sample.list("mail"), try sample.list("plaintext"))
        let text = Array(try sample.text("text").utf8)
        let (offer, _) = try InvitationOffer.parse(plaintexts[0])
        let opening = plaintexts[2]
        let random = try SponsorRandom(copying: opening.span)
        let (shown, typed) = (text, text)
        let invitation = try Invitation(parsing: shown.span)
        var sponsor = Sponsoring(invitation, offer, random: random)
        let other = try Invitation(parsing: typed.span)
        var joiner = Joining(other)
        let (bytes, step) = (try vector.bytes("bytes"), try vector.number("step") as Int)
        try vector.check {
            if step == 1 {
                _ = try joiner.receiveOffer(bytes)
            } else if step == 2 {
                _ = try sponsor.receiveRequest(bytes)
            } else {
                _ = try sponsor.receiveRequest(mails[1])
                _ = try sponsor.receiveAnswer(bytes)
            }
        }
    }
}

extension `The vectors of circles` {
    /// The roster after its first entries.
    static func roster(upTo count: Int) throws -> Roster {
        let entries = try Vector.sync("roster").prefix(count).map { vector in
            try RosterEntry(parsing: vector.bytes("bytes"))
        }
        var roster = try Roster(founding: entries[0], of: entries[0].hash.half())
        _ = roster.add(Array(entries.dropFirst()))
        return roster
    }

    /// Keys that can be copied.
    struct Keys {
        var f: CopiedKey
        var u: CopiedKey
    }

    struct CopiedKey {
        let array: [UInt8]
        let id: KeyID
        let commitment: Digest

        init(_ key: borrowing CircleKey) {
            array = key.array
            id = key.id
            commitment = key.commitment
        }
    }

    /// The keys of each epoch, from the boxes of one member.
    static func keys(of path: [RosterEntry], _ identity: Vector) throws -> [UInt32: Keys] {
        var keys: [UInt32: Keys] = [:]
        for entry in path {
            guard let wraps = entry.operation.wraps, try wraps.devices.contains(identity.id("id"))
            else { continue }
            let (device, place) = (try identity.id("id", as: DeviceID.self), entry.head)
            let identityF = try identity.identity(.afterFirstUnlock)
            let identityU = try identity.identity(.whileUnlocked)
            let f = try wraps.key(for: device, identityF, in: place)
            let u = try wraps.key(for: device, identityU, in: place)
            keys[wraps.epoch] = Keys(f: CopiedKey(f), u: CopiedKey(u))
        }
        return keys
    }
}

extension `The vectors of circles`.Keys? {
    /// The bytes of the key of `scope`.
    func key(_ scope: KeyScope) throws -> [UInt8] {
        let keys = try #require(self)
        return scope == .afterFirstUnlock ? keys.f.array : keys.u.array
    }
}
