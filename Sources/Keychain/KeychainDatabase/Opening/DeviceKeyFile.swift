// SPDX-License-Identifier: Apache-2.0

package import ValetKeychainModel
package import ValetSealing

/// The contents of `device.key`: docs/FORMAT.md §3.1. ``DeviceSecretSource`` and
/// ``DeviceKeyFolder`` read such files; creation and key changes write them.
package struct DeviceKeyFile: ~Copyable {
    static let byteCount = 122
    private static let magic = Array("VALETDEV".utf8)
    private static let version: UInt8 = 1
    private static let checksumOffset = 90
    private static let operation = "read the device key"

    /// The keychain that the file names; nil for a bare secret, which names none.
    package let keychainID: KeychainID?
    package let secret: DeviceSecret

    /// A file for one keychain, or for any if `keychainID` is nil.
    package init(keychainID: KeychainID?, secret: consuming DeviceSecret) {
        self.keychainID = keychainID
        self.secret = secret
    }

    /// Parses a device key that the user supplies: a file in this format, or a bare secret of 32
    /// bytes.
    ///
    /// - Throws: As ``init(parsing:)``.
    package static func given(_ bytes: Span<UInt8>) throws(KeychainFailure) -> DeviceKeyFile {
        guard bytes.count == DeviceSecret.byteCount else {
            return try DeviceKeyFile(parsing: bytes)
        }
        guard let secret = try? DeviceSecret(copying: bytes) else { throw Self.malformed }
        return DeviceKeyFile(keychainID: nil, secret: secret)
    }

    /// Parses the file.
    ///
    /// - Throws: ``KeychainFailure``: `invalidEncoding`, `newerFormat`, `damaged`.
    init(parsing bytes: Span<UInt8>) throws(KeychainFailure) {
        guard bytes.count == Self.byteCount, bytes.starts(with: Self.magic) else {
            throw Self.malformed
        }
        guard bytes[8] == 0, bytes[9] == Self.version else {
            throw KeychainFailure(
                .newerFormat, during: Self.operation,
                message: "a newer version of this library wrote the device key")
        }
        guard let checksum = try? Digest(copying: bytes.extracting(Self.checksumOffset...)),
            checksum == Digest(of: bytes.extracting(..<Self.checksumOffset)),
            (74..<Self.checksumOffset).allSatisfy({ bytes[$0] == 0 }),
            let keychainID = try? KeychainID(copying: bytes.extracting(10..<26)),
            let keyID = try? KeyID(copying: bytes.extracting(26..<42)),
            let secret = try? DeviceSecret(copying: bytes.extracting(42..<74)),
            secret.id == keyID
        else {
            throw KeychainFailure(
                .damaged, during: Self.operation, message: "the device key is damaged")
        }
        self.keychainID = keychainID
        self.secret = secret
    }

    static var malformed: KeychainFailure {
        KeychainFailure(
            .invalidEncoding, during: operation, message: "the file is not a device key")
    }

    /// The first 26 bytes of every device key of a keychain. They contain no part of the secret.
    package static func start(of keychainID: KeychainID) -> [UInt8] {
        magic + [0, version] + keychainID.bytes
    }

    func copied() throws(KeychainFailure) -> DeviceKeyFile {
        try encoded.withBytes { bytes throws(KeychainFailure) in
            try DeviceKeyFile(parsing: bytes)
        }
    }

    /// The bytes of the file.
    var encoded: SecretBytes {
        SecretBytes(byteCount: Self.byteCount, for: .keys) { (bytes: inout MutableSpan<UInt8>) in
            Self.put(Self.magic, at: 0, into: &bytes)
            bytes[9] = Self.version
            if let keychainID { Self.put(keychainID.bytes, at: 10, into: &bytes) }
            Self.put(secret.id.bytes, at: 26, into: &bytes)
            secret.withBytes { key in
                for index in key.indices { bytes[42 + index] = key[index] }
            }
            let checksum = Digest(of: bytes.span.extracting(..<Self.checksumOffset))
            Self.put(checksum.bytes, at: Self.checksumOffset, into: &bytes)
        }
    }

    private static func put(
        _ source: [UInt8], at offset: Int, into bytes: inout MutableSpan<UInt8>
    ) {
        for (index, byte) in source.enumerated() { bytes[offset + index] = byte }
    }
}
