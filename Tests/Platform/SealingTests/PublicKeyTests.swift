// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSystem
import ValetTestValues

@testable import ValetSealing

@Suite struct `A key agreement pair` {
    @Test(arguments: try Vector.sealing("x25519"))
    func `A key agreement pair agrees as RFC 7748 says`(_ vector: Vector) throws {
        let pair = KeyAgreementPair(secret: try vector.key("secret"))
        try vector.check {
            let shared = try pair.sharedSecret(with: PublicKey(vector.bytes("public_key")))
            #expect(try shared.array == vector.bytes("shared"))
        }
    }

    @Test(arguments: try Vector.sealing("public-key"))
    func `A key agreement pair has the public half that RFC 7748 says`(_ vector: Vector) throws {
        let pair = KeyAgreementPair(secret: try vector.key("secret"))
        #expect(try pair.publicKey.bytes == vector.bytes("public_key"))
    }

    @Test func `A key agreement pair is another each time it is made`() {
        let first = KeyAgreementPair.random()
        let second = KeyAgreementPair.random()
        #expect(first.publicKey != second.publicKey)
    }

    @Test func `A key agreement pair can be wrapped like any key`() throws {
        let pair = KeyAgreementPair.random()
        let kek = PresenceKEK.random()
        let binding = WrapBinding(.presence, keychainID: .random(), epoch: Epoch(1))
        let wrapped = KeyWrap.wrap(pair.secret, under: kek, binding: binding)
        let secret = try KeyWrap.unwrap(
            wrapped, as: Purpose.Agreement.self, under: kek, binding: binding)
        let again = KeyAgreementPair(secret: secret)
        #expect(again.publicKey == pair.publicKey)
    }
}

@Suite struct `A key sealed to a public key` {
    @Test(arguments: try Vector.sealing("recovery"))
    func `A key sealed to a public key unwraps as its vector says`(_ vector: Vector) throws {
        let pair = KeyAgreementPair(secret: try vector.key("secret"))
        let binding = try Self.binding(vector)
        let bytes = try vector.bytes("sealed")
        try vector.check {
            let sealed = try SealedToPublicKey(parsing: bytes.span)
            let key = try sealed.unwrap(as: Purpose.Root.self, with: pair, binding: binding)
            #expect(try key.array == vector.bytes("key"))
        }
    }

    @Test(arguments: try Vector.sealing("recovery").filter { $0.outcome == .success })
    func `A key sealed to a public key is what its vector says`(_ vector: Vector) throws {
        let pair = KeyAgreementPair(secret: try vector.key("secret"))
        let sealed = try SealedToPublicKey(
            wrapping: vector.key("key", as: Purpose.Root.self), to: pair.publicKey,
            binding: Self.binding(vector),
            ephemeral: KeyAgreementPair(secret: vector.key("ephemeral")),
            nonce: Nonce(vector.bytes("nonce")))
        #expect(try sealed.bytes == vector.bytes("sealed"))
    }

    @Test func `A key sealed to a public key has another ephemeral key each time`() throws {
        let pair = KeyAgreementPair.random()
        let root = RootKey.random()
        let binding = WrapBinding(.rootRecovery, keychainID: .random(), epoch: Epoch(1))
        let first = try SealedToPublicKey(wrapping: root, to: pair.publicKey, binding: binding)
        let second = try SealedToPublicKey(wrapping: root, to: pair.publicKey, binding: binding)
        #expect(first.ephemeral != second.ephemeral)
        let unwrapped: RootKey = try second.unwrap(with: pair, binding: binding)
        #expect(unwrapped.array == root.array)
    }

    @Test func `A key sealed to a public key is not made for a point of low order`() {
        let binding = WrapBinding(.rootRecovery, keychainID: .random(), epoch: Epoch(1))
        let error = #expect(throws: SystemError.self) {
            try SealedToPublicKey(
                wrapping: RootKey.random(),
                to: PublicKey([UInt8](repeating: 0, count: 32)), binding: binding)
        }
        #expect(error == SystemError.sealing(.malformed, during: .agree, of: "public key"))
    }

    private static func binding(_ vector: Vector) throws -> WrapBinding {
        try WrapBinding(
            .rootRecovery, keychainID: KeychainID(vector.bytes("keychain")),
            epoch: Epoch(vector.number("epoch")))
    }
}

@Suite struct `A value sealed to a public key` {
    @Test(arguments: try Vector.sealing("presence"))
    func `A value sealed to a public key opens as its vector says`(_ vector: Vector) throws {
        let pair = KeyAgreementPair(secret: try vector.key("secret"))
        let sealed = try vector.bytes("sealed")
        let data = try vector.bytes("associated_data")
        try vector.check {
            let opened = try PublicKeySealing.open(
                sealed.span, associatedData: data.span, with: pair,
                keychainID: KeychainID(vector.bytes("keychain")),
                epoch: Epoch(vector.number("epoch")))
            #expect(try opened.array == vector.bytes("plaintext"))
        }
    }

    @Test(arguments: try Vector.sealing("presence").filter { $0.outcome == .success })
    func `A value sealed to a public key is what its vector says`(_ vector: Vector) throws {
        let pair = KeyAgreementPair(secret: try vector.key("secret"))
        let recipient = try Recipient(
            pair.publicKey, keychainID: KeychainID(vector.bytes("keychain")),
            epoch: Epoch(vector.number("epoch")))
        let plaintext = try vector.bytes("plaintext")
        let data = try vector.bytes("associated_data")
        let sealed = try PublicKeySealing.seal(
            plaintext.span, associatedData: data.span, to: recipient,
            ephemeral: KeyAgreementPair(secret: vector.key("ephemeral")),
            nonce: Nonce(vector.bytes("nonce")))
        #expect(try sealed == vector.bytes("sealed"))
    }

    @Test func `A value sealed to a public key opens with the pair it was sealed to`() throws {
        let pair = KeyAgreementPair.random()
        let id = KeychainID.random()
        let plaintext: [UInt8] = [1, 2]
        let data: [UInt8] = [3]
        let sealed = try PublicKeySealing.seal(
            plaintext.span, associatedData: data.span,
            to: Recipient(pair.publicKey, keychainID: id, epoch: Epoch(2)))
        let opened = try PublicKeySealing.open(
            sealed.span, associatedData: data.span, with: pair, keychainID: id, epoch: Epoch(2))
        #expect(opened.array == [1, 2])
        #expect(sealed.count == 2 + PublicKeySealing.overhead)
    }
}
