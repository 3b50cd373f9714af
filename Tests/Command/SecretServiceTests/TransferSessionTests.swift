// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetSealing

@testable import ValetSecretService

@Suite struct `Sessions of the Secret Service` {
    /// A client that knows the exponent 1: its public key is the generator, so that the shared
    /// secret is the service's public key.
    private func session() throws -> TransferSession {
        let cipher = try #require(TransferCipher.ofSystem)
        return try #require(TransferSession.agree(with: [2], by: cipher)).session
    }

    private func text(_ value: SecretValue?) -> String? {
        value?.withBytes { bytes in
            String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
        }
    }

    private func value(_ text: String) -> SecretValue {
        SecretValue(SecretBytes(copying: Array(text.utf8).span))
    }

    // Promise: 20.4
    @Test(arguments: [0, 1, 15, 16, 17, 5_000])
    func `A sealed secret opens in its session alone`(_ count: Int) throws {
        let (session, other) = (try session(), try session())
        let secret = String(repeating: "x", count: count)
        let sealed = try #require(session.sealed(value(secret)))
        #expect(sealed.parameters.count == 16)
        #expect(sealed.bytes.byteCount == count / 16 * 16 + 16)
        #expect(text(session.opened(sealed.parameters, sealed.bytes)) == secret)
        // Without authentication one wrong key in 256 gives a padding that seems right.
        #expect(text(other.opened(sealed.parameters, sealed.bytes)) != secret)
    }

    // Promise: 20.4
    @Test func `Parameters and bytes of other lengths do not open`() throws {
        let session = try session()
        let sealed = try #require(session.sealed(value("secret")))
        #expect(session.opened([], sealed.bytes) == nil)
        #expect(session.opened(sealed.parameters + [0], sealed.bytes) == nil)
        #expect(session.opened(sealed.parameters, value("")) == nil)
        #expect(session.opened(sealed.parameters, value(String(repeating: "x", count: 15))) == nil)
        #expect(session.opened(sealed.parameters, value(String(repeating: "x", count: 17))) == nil)
    }

    @Test func `A plain session passes secrets through, and takes no parameters`() {
        let sealed = TransferSession.plain.sealed(value("secret"))
        #expect(sealed?.parameters == [])
        #expect(text(sealed?.bytes) == "secret")
        #expect(TransferSession.plain.opened([1], value("secret")) == nil)
    }

    // Promise: 20.4
    @Test(arguments: [[], [0], [1], [0, 0, 1], [UInt8](repeating: 0xFF, count: 128)])
    func `A public key whose powers are known is refused`(_ key: [UInt8]) throws {
        let cipher = try #require(TransferCipher.ofSystem)
        #expect(TransferSession.agree(with: key, by: cipher) == nil)
    }
}
