// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainModel
import ValetSealing
import ValetTestValues

@testable import ValetSync

/// docs/SYNC.md §10, item 13. No reader makes room for a count before it has read what it counts,
/// so that memory is bounded by the bytes.
@Suite struct `Any bytes of a circle` {
    /// How many inputs each parser gets: more for a long run.
    private static func rounds(_ count: Int) -> Int {
        guard let text = ProcessInfo.processInfo.environment["VALET_FUZZ_ROUNDS"],
            let rounds = Int(text)
        else { return count }
        return max(rounds, count)
    }

    private static func messages() throws -> [[UInt8]] {
        try Vector.sync("message").map { try $0.bytes("bytes") }
    }

    private static func isVerified(_ bytes: [UInt8], _ author: Member) -> Bool {
        do throws(SyncError) {
            let message = try ReceivedMessage(parsing: bytes)
            _ = try message.verified(by: author.signingKey(message.header.scope))
            return true
        } catch {
            return false
        }
    }

    @Test func `Any bytes of a circle are no message with a bit flipped or the end missing`()
        throws
    {
        let author = try Vector.author.member
        for bytes in try Self.messages() {
            #expect(Self.isVerified(bytes, author))
            let step = max(1, bytes.count / 400)
            for index in stride(from: 0, to: bytes.count, by: step) {
                var flipped = bytes
                flipped[index] ^= 1 << UInt8(index % 8)
                #expect(!Self.isVerified(flipped, author))
                #expect(!Self.isVerified(Array(bytes.prefix(index)), author))
            }
        }
    }

    @Test func `Any bytes of a circle that are sealed and signed give the same bytes again`()
        throws
    {
        var random = SplitMix(seed: 22)
        let author = TestAuthor()
        let key = try TestAuthor.key()
        let (batch, base) = (RawBatch().bytes, RawBase().bytes)
        var takenCount = 0
        for round in 0..<Self.rounds(3_000) {
            let kind: MessageHeader.Kind = round.isMultiple(of: 2) ? .batch : .base
            var plaintext = random.mutation(of: kind == .batch ? batch : base)
            if round % 50 < 2 { plaintext = kind == .batch ? batch : base }
            let header = try author.header(kind)
            let bytes = try author.bytes(plaintext, header)
            let verified = try author.verified(bytes)
            let signing = try author.signing()
            let built: BuiltMessage
            do throws(SyncError) {
                switch kind {
                case .batch:
                    built = try verified.batch(under: key).built(
                        header, under: key, signedBy: signing, random: .random())
                case .base:
                    built = try verified.base(under: key).built(
                        header, under: key, signedBy: signing, random: .random())
                }
            } catch {
                #expect(error.code == .invalid)
                continue
            }
            takenCount += 1
            var opened = try author.verified(built.bytes).open(under: key)
            let again = try opened.rest()
            #expect(again == plaintext)
        }
        #expect(takenCount > 100)
    }

    @Test func `Any bytes of a circle are refused as a roster entry, or give the same again`()
        throws
    {
        var random = SplitMix(seed: 23)
        let entries = try Vector.sync("roster").map { try $0.bytes("bytes") }
        let founder = try Vector.sync(file: "identity-founder.txt").identity(.whileUnlocked)
        var takenCount = 0
        for round in 0..<Self.rounds(4_000) {
            let seed = entries[round % entries.count]
            let bytes = round % 20 == 0 ? seed : random.mutation(of: seed)
            do throws(SyncError) {
                let entry = try RosterEntry(parsing: bytes)
                takenCount += 1
                let again = RosterEntry(entry.head, entry.operation, signedBy: founder.signing)
                #expect(again.hash == entry.hash)
            } catch {
                #expect(error.code != .invalid)
            }
        }
        #expect(takenCount > 100)
    }

    @Test func `Any bytes of a circle are refused as content, or give the same again`() throws {
        var random = SplitMix(seed: 24)
        let vectors = try Vector.sync("record")
        let seeds = try vectors.map { (try $0.bytes("content"), try $0.scope) }
        var takenCount = 0
        for round in 0..<Self.rounds(20_000) {
            let (seed, scope) = seeds[round % seeds.count]
            let bytes = random.mutation(of: seed)
            do throws(SyncError) {
                let content = try RecordContent(
                    parsing: SecretValue(copying: bytes.span), in: scope)
                takenCount += 1
                #expect(content.encoded.array == bytes)
            } catch {
                #expect(error.code == .invalid)
            }
        }
        #expect(takenCount > 100)
    }

    @Test func `Any bytes of a circle are refused as a mail`() throws {
        var random = SplitMix(seed: 25)
        let vector = try Vector.sync(file: "invitation.txt")
        let text = Array(try vector.text("text").utf8)
        let mail = try vector.list("mail")[0]
        for _ in 0..<Self.rounds(2_000) {
            let bytes = random.mutation(of: mail)
            guard bytes != mail else { continue }
            let invitation = try Invitation(parsing: text.span)
            var joiner = Joining(invitation)
            do throws(SyncError) {
                _ = try joiner.receiveOffer(bytes)
                Issue.record("a changed mail was read")
            } catch {
                #expect(error.code != .invalid)
            }
        }
    }

    @Test func `Any bytes of a circle are sorted out before a roster takes them`() throws {
        var random = SplitMix(seed: 26)
        let test = try TestRoster([.init("rotated", after: "fork", by: "b", .rotate)])
        let names = ["create", "b", "c", "fork", "rotated"]
        let seeds = names.map { test.entry($0).bytes }
        let roster = try test.reader()
        var sieve = RosterSieve(roster)
        var signedCount = 0
        for round in 0..<Self.rounds(4_000) {
            let seed = seeds[round % seeds.count]
            let bytes = round % 20 == 0 ? seed : random.mutation(of: seed)
            guard case .signed(let entry) = sieve.sift(bytes) else {
                #expect(bytes != seed)
                continue
            }
            signedCount += 1
            // Nobody can change what a member has signed.
            #expect(entry.bytes == bytes && seeds.contains(bytes))
            var copy = roster
            _ = copy.add([entry])
        }
        #expect(signedCount > 100)
    }

    @Test func `Any bytes of a circle are refused as a message, or give the same again`() throws {
        var random = SplitMix(seed: 27)
        let seeds = try Self.messages()
        let author = try Vector.author.member
        var takenCount = 0
        for round in 0..<Self.rounds(4_000) {
            let seed = seeds[round % seeds.count]
            let bytes = round % 20 == 0 ? seed : random.mutation(of: seed)
            do throws(SyncError) {
                let message = try ReceivedMessage(parsing: bytes)
                let verified = try message.verified(
                    by: author.signingKey(message.header.scope))
                takenCount += 1
                #expect(verified.encoded == bytes && seeds.contains(bytes))
            } catch {
                #expect(error.code != .invalid)
            }
        }
        #expect(takenCount > 100)
    }

    @Test func `Any bytes of a circle are refused as a kept roster, or give the same again`()
        throws
    {
        var random = SplitMix(seed: 28)
        let roster = try TestRoster([]).reader()
        let seed = roster.bytes
        for round in 0..<Self.rounds(2_000) {
            let bytes = round == 0 ? seed : random.mutation(of: seed)
            do throws(SyncError) {
                let kept = try Roster(parsing: bytes, of: roster.circle)
                let again = try Roster(parsing: kept.bytes, of: roster.circle)
                #expect(again.bytes == kept.bytes)
            } catch {
                // Nobody can change what a member has signed; an entry may be missing.
                #expect(error.code != .invalid || error.rule == .parent)
            }
        }
    }

    @Test func `Any bytes of a circle are refused as what the sides of an invitation say`() throws {
        var random = SplitMix(seed: 29)
        let circle = try TestCircle()
        let sponsor = try circle.device("a")
        let request = InvitationRequest(try circle.device("b").member, name: "phone").plaintext
        let offer = InvitationOffer(
            circle: circle.id, number: 1, head: circle.genesis.hash, sponsor: sponsor.id
        ).plaintext(commitment: Digest(of: Span()))
        let identity = try sponsor.identity(.whileUnlocked)
        let names = InvitationNames([sponsor.id: "laptop"], sponsor: sponsor.id).plaintext(
            after: Digest(of: Span()), signedBy: identity.signing)
        for _ in 0..<Self.rounds(2_000) {
            if let read = try? InvitationOffer.parse(random.mutation(of: offer)) {
                #expect(read.offer.plaintext(commitment: read.commitment).count == offer.count)
            }
            let bytes = random.mutation(of: request)
            if let read = try? InvitationRequest(parsing: bytes, circle: circle.id) {
                #expect(read.plaintext == bytes)
            }
            let changed = random.mutation(of: names)
            let read = try? InvitationNames(
                parsing: changed, after: Digest(of: Span()), signedBy: sponsor.member)
            #expect(read == nil || changed == names)
        }
    }
}
