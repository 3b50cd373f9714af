// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSystem
import ValetTestValues

@testable import ValetSealing

@Suite struct `A signing pair` {
    @Test(arguments: try Vector.sealing("ed25519"))
    func `A signing pair signs as RFC 8032 says`(_ vector: Vector) throws {
        let seed = try vector.key("seed", as: Purpose.SigningSeed.self)
        var publicKey = [UInt8](repeating: 0, count: 32)
        var key = publicKey.mutableSpan
        var secret = SecretBytes(byteCount: Sodium.signingSecretByteCount)
        secret.withMutableBytes { secret in
            seed.withBytes { Sodium.signingPair(seed: $0, publicKey: &key, secret: &secret) }
        }
        #expect(try publicKey == vector.bytes("public_key"))
        let message = try vector.bytes("message")
        var signature = [UInt8](repeating: 0, count: Sodium.signatureByteCount)
        var bytes = signature.mutableSpan
        secret.withBytes { Sodium.sign(message.span, secret: $0, into: &bytes) }
        #expect(try signature == vector.bytes("signature"))
        let isSigned = Sodium.isSignature(signature.span, of: message.span, by: publicKey.span)
        #expect(isSigned)
    }

    @Test func `A signing pair's signature is valid for its context, message and key only`() {
        let seed = SymmetricKey<Purpose.SigningSeed>.random()
        let otherSeed = SymmetricKey<Purpose.SigningSeed>.random()
        let pair = SigningPair(seed: seed)
        let other = SigningPair(seed: otherSeed)
        let (message, changed) = ([1, 2, 3] as [UInt8], [1, 2, 4] as [UInt8])
        let signature = pair.signature(.syncMessage, of: message.span)
        func isValid(
            _ context: DerivationContext, _ message: [UInt8], _ key: SigningKey,
            _ bytes: [UInt8] = signature.bytes
        ) -> Bool {
            let signature = try? Signature(bytes)
            return signature?.isValid(context, of: message.span, by: key) ?? false
        }
        #expect(isValid(.syncMessage, message, pair.publicKey) == true)
        #expect(isValid(.syncRoster, message, pair.publicKey) == false)
        #expect(isValid(.syncMessage, changed, pair.publicKey) == false)
        #expect(isValid(.syncMessage, message, other.publicKey) == false)
        for index in 0..<Signature.byteCount {
            let flipped = signature.bytes.flipping(index)
            #expect(isValid(.syncMessage, message, pair.publicKey, flipped) == false)
        }
    }

    /// With these keys, every message would have a signature that anyone can make.
    @Test(arguments: [
        [1] + [UInt8](repeating: 0, count: 31), [UInt8](repeating: 0, count: 32),
        [0xec] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
    ])
    func `A signing pair has no key of small order`(_ bytes: [UInt8]) throws {
        let key = try SigningKey(bytes)
        let signature = try Signature(bytes + [UInt8](repeating: 0, count: 32))
        let message: [UInt8] = [1]
        let isValid = signature.isValid(.syncMessage, of: message.span, by: key)
        #expect(!isValid)
    }
}

@Suite struct `A hedged seal` {
    private func seal(
        _ plaintext: [UInt8], data: [UInt8] = [], _ random: HedgeBytes,
        _ context: DerivationContext = .syncBatch
    ) -> [UInt8] {
        let bytes = [UInt8](repeating: 7, count: 32)
        guard let key = try? CircleKey(copying: bytes.span) else { return [] }
        return HedgedSeal.seal(
            plaintext.span, context, associatedData: data.span, under: key, random: random)
    }

    @Test func `A hedged seal repeats no nonce when the random numbers repeat`() {
        let random = HedgeBytes.random()
        let first = seal([1], random)
        let nonces = [
            seal([2], random), seal([1], data: [1], random), seal([1], random, .syncBase),
            seal([1], .random()),
        ].map { $0.prefix(24) }
        #expect(Set(nonces + [first.prefix(24)]).count == 5)
        #expect(seal([1], random) == first)
    }

    @Test func `A hedged seal opens with its key, context and data only`() throws {
        let key = CircleKey.random()
        let other = CircleKey.random()
        let (plaintext, data, noData) = ([1, 2] as [UInt8], [3] as [UInt8], [] as [UInt8])
        let sealed = HedgedSeal.seal(
            plaintext.span, .syncBatch, associatedData: data.span, under: key, random: .random())
        #expect(sealed.count == plaintext.count + HedgedSeal.overhead)
        let opened = try HedgedSeal.open(
            sealed.span, .syncBatch, associatedData: data.span, under: key)
        #expect(opened.array == plaintext)
        #expect(Self.code(sealed, .syncBatch, data, other) == .tampered)
        #expect(Self.code(sealed, .syncBase, data, key) == .tampered)
        #expect(Self.code(sealed, .syncBatch, noData, key) == .tampered)
        #expect(Self.code(sealed.flipping(0), .syncBatch, data, key) == .tampered)
        #expect(Self.code(Array(sealed.prefix(39)), .syncBatch, data, key) == .malformed)
    }

    private static func code(
        _ sealed: [UInt8], _ context: DerivationContext, _ data: [UInt8],
        _ key: borrowing CircleKey
    ) -> SystemError.Code? {
        do throws(SystemError) {
            _ = try HedgedSeal.open(sealed.span, context, associatedData: data.span, under: key)
            return nil
        } catch {
            return error.code
        }
    }
}

@Suite struct `A public key` {
    /// The points of RFC 7748's curve and of its twist that make every secret zero.
    @Test(arguments: [
        [UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31),
        [0xec] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
        [0xed] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
        [0xee] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
    ])
    func `A public key of small order is unfit`(_ bytes: [UInt8]) throws {
        #expect(try !PublicKey(bytes).isFit)
    }

    @Test func `A public key of a pair is fit`() {
        let pair = KeyAgreementPair.random()
        #expect(pair.publicKey.isFit)
    }
}
