// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

/// A new session, and the public key for the client.
struct KeyAgreement: Sendable {
    let session: TransferSession
    let publicKey: [UInt8]
}

/// How the secrets of one client travel (Secret Service API 0.2, "Transfer of Secrets"). One
/// connection to the bus owns the session, which ends with the connection.
final class TransferSession: Sendable {
    private enum Algorithm: Sendable {
        case plain
        case encrypted(TransferCipher, SecretValue)
    }

    static let plainName = "plain"
    static let encryptedName = "dh-ietf1024-sha256-aes128-cbc-pkcs7"

    private let algorithm: Algorithm

    private init(_ algorithm: Algorithm) { self.algorithm = algorithm }

    static let plain = TransferSession(.plain)

    /// Agrees on a key with a client.
    ///
    /// - Parameter clientKey: The client's public key, big endian.
    /// - Returns: nil for a number that is no key, or if the library refuses.
    static func agree(
        with clientKey: [UInt8], by cipher: TransferCipher
    ) -> KeyAgreement? {
        let theirs = Array(clientKey.drop { $0 == 0 })
        // Neither 0, 1 nor p − 1, whose powers are known.
        guard !theirs.isEmpty, theirs != [1], theirs.count <= prime.count,
            theirs.count < prime.count
                || theirs.lexicographicallyPrecedes(prime.dropLast() + [0xfe])
        else { return nil }
        let secret = SecretBytes(randomByteCount: prime.count)
        guard let power = cipher.power([2], secret, prime),
            let shared = cipher.power(theirs, secret, prime), let key = derivedKey(shared)
        else { return nil }
        let publicKey = power.withBytes { bytes in bytes.indices.map { bytes[$0] } }
        return KeyAgreement(
            session: TransferSession(.encrypted(cipher, SecretValue(key))), publicKey: publicKey)
    }

    /// HKDF of RFC 5869 with SHA-256, without salt and info: 16 bytes.
    private static func derivedKey(_ shared: consuming SecretBytes) -> SecretBytes? {
        let salt = [UInt8](repeating: 0, count: 32)
        let extracted = shared.withBytes { shared in
            HMAC.sha256.code(of: shared, key: salt.span)
        }
        guard let extracted else { return nil }
        let one: [UInt8] = [1]
        let expanded = extracted.withBytes { key in
            HMAC.sha256.code(of: one.span, key: key)
        }
        guard let expanded else { return nil }
        return expanded.withBytes { SecretBytes(copying: $0.extracting(0..<16)) }
    }

    /// The second group of RFC 2409, §6.2, with the generator 2.
    private static let prime = [UInt8](
        Hexadecimal.bytes(
            "ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74"
                + "020bbea63b139b22514a08798e3404ddef9519b3cd3a431b302b0a6df25f1437"
                + "4fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7ed"
                + "ee386bfb5a899fa5ae9f24117c4b1fe649286651ece65381ffffffffffffffff") ?? [])

    private static let blockByteCount = 16

    /// The parameters and the bytes that travel; nil if the library refuses.
    func sealed(_ value: SecretValue) -> (parameters: [UInt8], bytes: SecretValue)? {
        guard case .encrypted(let cipher, let key) = algorithm else { return ([], value) }
        let padding = Self.blockByteCount - value.byteCount % Self.blockByteCount
        var padded = SecretBytes(byteCount: value.byteCount + padding)
        value.withBytes { padded.write($0, at: 0) }
        padded.write(
            [UInt8](repeating: UInt8(padding), count: padding).span, at: value.byteCount)
        let vector = Randomness.bytes(Self.blockByteCount)
        let bytes = key.withBytes { key in
            cipher.crypt(padded, SecretBytes(copying: key), vector, isEncrypting: true)
        }
        guard let bytes else { return nil }
        return (vector, SecretValue(bytes))
    }

    /// The value that came; nil if it is not sealed for this session.
    func opened(_ parameters: [UInt8], _ bytes: SecretValue) -> SecretValue? {
        guard case .encrypted(let cipher, let key) = algorithm else {
            return parameters.isEmpty ? bytes : nil
        }
        guard parameters.count == Self.blockByteCount, bytes.byteCount > 0,
            bytes.byteCount.isMultiple(of: Self.blockByteCount)
        else { return nil }
        let opened = bytes.withBytes { bytes in
            key.withBytes { key in
                cipher.crypt(
                    SecretBytes(copying: bytes), SecretBytes(copying: key), parameters,
                    isEncrypting: false)
            }
        }
        guard let opened else { return nil }
        let padding = opened.withBytes { Int($0[$0.count - 1]) }
        guard 1...Self.blockByteCount ~= padding else { return nil }
        let isPadded = opened.withBytes { bytes in
            (bytes.count - padding..<bytes.count).allSatisfy { bytes[$0] == padding }
        }
        guard isPadded else { return nil }
        let byteCount = opened.byteCount - padding
        return SecretValue(opened, byteCount: byteCount)
    }
}
