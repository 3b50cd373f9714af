// SPDX-License-Identifier: Apache-2.0

// Messages as they are in the store: header, sealed plaintext and signature. A message is parsed,
// then verified, then opened, and the types allow no other order.

internal import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// Sizes and names that all messages share: docs/SYNC.md §3.
package enum MessageFormat {
    /// The most bytes of a message and of a part.
    package static let maximalByteCount = 262_144
    /// The version that this program writes, and the highest that it reads.
    package static let version: UInt16 = 1
    /// The most bytes of a plaintext, so that the message with its padding is not too large.
    package static let maximalPlaintextByteCount = 63 * largeStep - 1
    /// The most logs of a table.
    package static let maximalLogCount = 1024
    static let largeStep = 4096
    static let smallStep = 512
    /// The number of bytes before the sealed ones.
    static let headByteCount = 8 + 2 + 16 + 1 + 16 + 16 + 8 + 32 + 32 + 16 + 4

    /// To a multiple of what a plaintext of `byteCount` bytes is padded.
    static func step(ofPlaintext byteCount: Int) -> Int {
        byteCount < 2 * largeStep ? smallStep : largeStep
    }

    /// To a multiple of what `byteCount` bytes were padded.
    static func step(ofPadded byteCount: Int) -> Int {
        byteCount <= 2 * largeStep ? smallStep : largeStep
    }
}

extension MessageHeader.Kind {
    fileprivate var magic: [UInt8] { Array((self == .batch ? "VALETBAT" : "VALETBAS").utf8) }
    fileprivate var context: DerivationContext { self == .batch ? .syncBatch : .syncBase }
    fileprivate var subject: SyncError.Subject { self == .batch ? .batch : .base }
}

/// A message that this device built: docs/SYNC.md §4.
package struct BuiltMessage: Sendable {
    /// What the store keeps.
    package let bytes: [UInt8]
    /// What names it in tables and in the next message.
    package let hash: SyncHash

    /// Seals and signs a padded plaintext.
    init(
        _ header: MessageHeader, sealing plaintext: Span<UInt8>, under key: borrowing CircleKey,
        signedBy pair: borrowing SigningPair, random: HedgeBytes
    ) {
        precondition(header.keyID == key.id, "a header names the key that seals its message")
        var bytes = header.encoded(sealedByteCount: plaintext.count + HedgedSeal.overhead)
        bytes += HedgedSeal.seal(
            plaintext, header.kind.context, associatedData: bytes.span, under: key,
            random: random)
        hash = SyncHash(messageDigest(bytes.span))
        bytes += pair.signature(.syncMessage, of: hash.bytes.span).bytes
        self.bytes = bytes
    }
}

extension MessageHeader {
    /// All bytes before the sealed ones.
    fileprivate func encoded(sealedByteCount: Int) -> [UInt8] {
        kind.magic
            + [UInt8](
                fields: MessageFormat.version, circle, scope, device, name, previous, roster, keyID,
                UInt32(sealedByteCount))
    }
}

/// A message from the store that has the right form. Anyone may have made it.
package struct ReceivedMessage: Sendable {
    /// The open part.
    package let header: MessageHeader
    /// What names it in tables and in the next message.
    package let hash: SyncHash
    private let version: UInt16
    private let bytes: [UInt8]
    private let signature: Signature

    /// Reads the header, which is the same in all versions.
    ///
    /// - Throws: ``SyncError``, all `malformed`: `limit`, `form`, `magic`, `version`, `scope`.
    package init(parsing bytes: [UInt8]) throws(SyncError) {
        let limit = MessageFormat.maximalByteCount
        guard bytes.count <= limit else { throw .message(.malformed, .limit) }
        var reader = ByteReader(bytes, of: .message)
        let magic = try reader.bytes(8)
        let kind = [MessageHeader.Kind.batch, .base].first { $0.magic == magic }
        guard let kind else { throw .message(.malformed, .magic) }
        version = try reader.integer()
        guard version > 0 else { throw .message(.malformed, .version) }
        let circle = try CircleID(from: &reader)
        let scope = KeyScope(rawValue: try reader.integer())
        guard let scope else { throw .message(.malformed, .scope) }
        let (device, name, previous) = try reader.fields(
            DeviceID.self, MessageName.self, SyncHash.self)
        header = MessageHeader(
            kind, name.number, in: LogPlace(circle, device, scope, name.log), after: previous,
            naming: try reader.fields(SyncHash.self, KeyID.self))
        let sealedByteCount = try reader.integer(UInt32.self)
        guard sealedByteCount <= UInt32(limit) else { throw .message(.malformed, .limit) }
        _ = try reader.bytes(Int(sealedByteCount))
        signature = try reader.fixedBytes()
        try reader.finish()
        self.bytes = bytes
        hash = SyncHash(messageDigest(bytes.span.extracting(droppingLast: Signature.byteCount)))
    }

    /// Checks the signature with the author's key of the message's scope, then the header's rules.
    ///
    /// - Throws: ``SyncError``: `tampered`, `signature`; `newer` for a later version; `invalid`:
    ///   `number`, `log`.
    package func verified(by key: SigningKey) throws(SyncError) -> VerifiedMessage {
        let isSigned = signature.isValid(.syncMessage, of: hash.bytes.span, by: key)
        guard isSigned else { throw .message(.tampered, .signature) }
        guard version == MessageFormat.version else { throw .message(.newer, .version) }
        guard header.name.number > 0 else { throw .message(.invalid, .number) }
        guard header.name.log.belongs(to: header.device) else { throw .message(.invalid, .log) }
        return VerifiedMessage(header: header, hash: hash, encoded: bytes)
    }
}

/// A message that its author signed.
package struct VerifiedMessage: Sendable {
    /// The open part.
    package let header: MessageHeader
    /// What names it in tables and in the next message.
    package let hash: SyncHash
    /// The bytes in the store.
    package let encoded: [UInt8]

    /// Opens the plaintext and removes its padding.
    ///
    /// - Throws: ``SyncError``: `wrongKey` if the header names another key; `invalid`: `seal`,
    ///   `padding`.
    func open(under key: borrowing CircleKey) throws(SyncError) -> OpenedReader {
        let subject = header.kind.subject
        guard key.id == header.keyID else { throw SyncError(.wrongKey, .seal, in: subject) }
        let end = encoded.count - Signature.byteCount
        let plaintext: SecretBytes
        do {
            plaintext = try HedgedSeal.open(
                encoded.span.extracting(MessageFormat.headByteCount..<end), header.kind.context,
                associatedData: encoded.span.extracting(first: MessageFormat.headByteCount),
                under: key)
        } catch {
            throw SyncError(error, .invalid, in: subject)
        }
        let step = MessageFormat.step(ofPadded: plaintext.byteCount)
        return try OpenedReader(plaintext, paddedTo: step, in: subject)
    }
}

/// `HASH(message; all before the signature)`.
private func messageDigest(_ bytes: Span<UInt8>) -> Digest {
    UnkeyedHash.digest(.syncMessage) { $0.append(bytes) }
}
