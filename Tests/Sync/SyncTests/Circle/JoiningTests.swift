// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetTestValues

@testable import ValetSync

/// docs/SYNC.md §6.
@Suite struct `An invitation` {
    private static let text = Array("J101-2345-6789-ABCD-EFGH-JKMN-PQRS-WBN1-YX".utf8)

    private static func invitation() throws -> Invitation {
        let text = text
        return try Invitation(parsing: text.span)
    }

    private static func offer(_ circle: TestCircle) throws -> InvitationOffer {
        InvitationOffer(
            circle: circle.id, number: 1, head: circle.genesis.hash,
            sponsor: try circle.device("a").id)
    }

    private static func request(
        _ circle: TestCircle, _ letter: Character = "b", name: String = "laptop"
    ) throws -> InvitationRequest {
        InvitationRequest(try circle.device(letter).member, name: name)
    }

    /// Both sides after P3.
    private static func met(
        _ circle: TestCircle
    ) throws -> (sponsor: [String]?, joiner: [String]?) {
        let invitation = try invitation()
        let typed = try self.invitation()
        let random = SponsorRandom.random()
        var sponsor = Sponsoring(invitation, try offer(circle), random: random)
        var joiner = Joining(typed)
        _ = try joiner.receiveOffer(sponsor.offerMail(random: .random()))
        let mail = joiner.requestMail(try request(circle), random: .random())
        _ = try sponsor.receiveRequest(mail)
        let opening = try Self.present(sponsor.openingMail(random: .random()))
        try joiner.receiveOpening(opening)
        return (sponsor.words, joiner.words)
    }

    @Test func `An invitation shows both sides the same four words`() throws {
        let circle = try TestCircle()
        let words = try Self.met(circle)
        #expect(words.sponsor?.count == 4)
        #expect(words.sponsor == words.joiner)
        // With other random bytes of the sponsor's they are others.
        #expect(try Self.met(circle).sponsor != words.sponsor)
    }

    @Test func `An invitation in the middle of which a thief sits shows other words`() throws {
        let circle = try TestCircle()
        let shown = try Self.invitation()
        let typed = try Self.invitation()
        let stolen = try Self.invitation()
        let again = try Self.invitation()
        let random = SponsorRandom.random()
        let thiefsRandom = SponsorRandom.random()
        var sponsor = Sponsoring(shown, try Self.offer(circle), random: random)
        var thiefAsSponsor = Sponsoring(stolen, try Self.offer(circle), random: thiefsRandom)
        var thiefAsJoiner = Joining(again)
        var joiner = Joining(typed)
        _ = try thiefAsJoiner.receiveOffer(sponsor.offerMail(random: .random()))
        _ = try joiner.receiveOffer(thiefAsSponsor.offerMail(random: .random()))
        let thiefsMail = thiefAsJoiner.requestMail(
            try Self.request(circle, "c"), random: .random())
        _ = try sponsor.receiveRequest(thiefsMail)
        let mail = joiner.requestMail(try Self.request(circle), random: .random())
        _ = try thiefAsSponsor.receiveRequest(mail)
        let opening = try Self.present(thiefAsSponsor.openingMail(random: .random()))
        try joiner.receiveOpening(opening)
        #expect(joiner.words != nil)
        #expect(joiner.words != sponsor.words)
    }

    @Test func `An invitation whose sponsor changes its mind about the random bytes ends`() throws {
        let circle = try TestCircle()
        let shown = try Self.invitation()
        let other = try Self.invitation()
        let typed = try Self.invitation()
        let random = SponsorRandom.random()
        let otherRandom = SponsorRandom.random()
        let sponsor = Sponsoring(shown, try Self.offer(circle), random: random)
        var changed = Sponsoring(other, try Self.offer(circle), random: otherRandom)
        var joiner = Joining(typed)
        _ = try joiner.receiveOffer(sponsor.offerMail(random: .random()))
        let mail = joiner.requestMail(try Self.request(circle), random: .random())
        _ = try changed.receiveRequest(mail)
        let opening = try Self.present(changed.openingMail(random: .random()))
        let error = Self.error { () throws(SyncError) in try joiner.receiveOpening(opening) }
        #expect(error == SyncError(.invalid, .commitment, in: .mail))
        #expect(joiner.isEnded == true)
        #expect(joiner.words == nil)
    }

    @Test func `An invitation ends with a second and different request`() throws {
        let circle = try TestCircle()
        let shown = try Self.invitation()
        let random = SponsorRandom.random()
        var sponsor = Sponsoring(shown, try Self.offer(circle), random: random)
        let mails = try ["b", "c"].map { letter in
            let typed = try Self.invitation()
            var joiner = Joining(typed)
            _ = try joiner.receiveOffer(sponsor.offerMail(random: .random()))
            return joiner.requestMail(
                try Self.request(circle, Character(letter)), random: .random())
        }
        _ = try sponsor.receiveRequest(mails[0])
        _ = try sponsor.receiveRequest(mails[0])
        #expect(sponsor.words != nil)
        let error = Self.error { () throws(SyncError) in
            _ = try sponsor.receiveRequest(mails[1])
        }
        #expect(error == SyncError(.invalid, .ended, in: .mail))
        #expect(sponsor.isEnded == true)
        #expect(sponsor.words == nil)
        #expect(sponsor.openingMail(random: .random()) == nil)
    }

    @Test func `An invitation ends with a no of the joiner`() throws {
        let circle = try TestCircle()
        let shown = try Self.invitation()
        let typed = try Self.invitation()
        let random = SponsorRandom.random()
        var sponsor = Sponsoring(shown, try Self.offer(circle), random: random)
        var joiner = Joining(typed)
        _ = try joiner.receiveOffer(sponsor.offerMail(random: .random()))
        _ = try sponsor.receiveRequest(
            joiner.requestMail(try Self.request(circle), random: .random()))
        try joiner.receiveOpening(try Self.present(sponsor.openingMail(random: .random())))
        let answer = joiner.answerMail(isSame: false, random: .random())
        #expect(joiner.isEnded == true)
        let isSame = try sponsor.receiveAnswer(answer)
        #expect(!isSame)
        #expect(sponsor.isEnded == true)
    }

    @Test func `An invitation opens no mail of another invitation or step`() throws {
        let circle = try TestCircle()
        let bytes = SecretBytes(randomByteCount: 26)
        let other = Invitation(random: bytes)
        let typed = try Self.invitation()
        let random = SponsorRandom.random()
        let sponsor = Sponsoring(other, try Self.offer(circle), random: random)
        var joiner = Joining(typed)
        let mail = sponsor.offerMail(random: .random())
        let seal = Self.error { () throws(SyncError) in _ = try joiner.receiveOffer(mail) }
        #expect(seal == SyncError(.tampered, .seal, in: .mail))
        let step = Self.error { () throws(SyncError) in try joiner.receiveOpening(mail) }
        #expect(step == SyncError(.malformed, .step, in: .mail))
        var changed = mail
        changed[10] = Mail.Step.opening.rawValue
        let bound = Self.error { () throws(SyncError) in try joiner.receiveOpening(changed) }
        #expect(bound == SyncError(.tampered, .seal, in: .mail))
    }

    @Test func `An invitation takes names of up to 64 bytes`() throws {
        let circle = try TestCircle()
        let name = String(repeating: "ä", count: 40)
        let request = try Self.request(circle, name: name)
        #expect(request.name == String(repeating: "ä", count: 32))
        let again = try InvitationRequest(parsing: request.plaintext, circle: circle.id)
        #expect(again == request)
        var long = request.plaintext
        long[request.member.bytes.count + 3] = 65
        long.append(0x61)
        #expect(
            Self.error { () throws(SyncError) in
                _ = try InvitationRequest(parsing: long, circle: circle.id)
            } == SyncError(.malformed, .limit, in: .mail))
        var broken = request.plaintext
        broken[broken.count - 1] = 0xff
        #expect(
            Self.error { () throws(SyncError) in
                _ = try InvitationRequest(parsing: broken, circle: circle.id)
            } == SyncError(.malformed, .form, in: .mail))
        let paper = try TestDevice("p", in: circle.id, .recovery).member
        #expect(
            Self.error { () throws(SyncError) in
                _ = try InvitationRequest(
                    parsing: InvitationRequest(paper, name: "").plaintext, circle: circle.id)
            } == SyncError(.malformed, .operation, in: .mail))
    }

    @Test(
        arguments: [
            ("j1o1 2345-6789 abcd efgh jkmn pqrs wbni yx", nil),
            (
                "J101-2345-6789-ABCD-EFGH-JKMN-PQRS-WBN1-Y",
                "wrong length: 33 characters instead of 34"
            ),
            (
                "J101-2345-6789-ABCD-EFGH-JKMN-PQSR-WBN1-YX",
                "mistyped: the check characters are wrong"
            ),
            ("J101-2345-6789-ABCU-EFGH-JKMN-PQRS-WBN1-YX", "invalid character at position 19"),
        ] as [(String, String?)])
    func `An invitation is read as a person types it`(
        _ text: String, _ expected: String?
    ) throws {
        let bytes = Array(text.utf8)
        do throws(KeychainFailure) {
            let invitation = try Invitation(parsing: bytes.span)
            #expect(expected == nil)
            #expect(invitation.text.array == Self.text)
        } catch {
            #expect(error.message == expected)
            #expect(error.code == .authenticationFailed)
        }
    }

    @Test func `An invitation has words from the list of BIP 39`() {
        #expect(WordList.words.count == 2048)
        #expect(Set(WordList.words).count == 2048)
        #expect(WordList.words == WordList.words.sorted())
        #expect(WordList.words.first == "abandon")
        #expect(WordList.words.last == "zoo")
        // Four characters name a word.
        #expect(Set(WordList.words.map { $0.prefix(4) }).count == 2048)
    }

    private static func present<T>(_ value: T?) throws -> T { try #require(value) }

    private static func error(_ body: () throws(SyncError) -> Void) -> SyncError? {
        do throws(SyncError) {
            try body()
            return nil
        } catch {
            return error
        }
    }
}
