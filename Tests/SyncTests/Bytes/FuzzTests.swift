// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetKeychainModel
import ValetSealing
import ValetSecretMemory
import ValetTestValues

@testable import ValetSync

/// docs/SYNC.md §10, item 13. No reader makes room for a count before it has read what it counts,
/// so that memory is bounded by the bytes.
@Suite struct `Any bytes of a circle` {
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
        for round in 0..<3_000 {
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
        for round in 0..<4_000 {
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
        for round in 0..<20_000 {
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
        for _ in 0..<2_000 {
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
}
