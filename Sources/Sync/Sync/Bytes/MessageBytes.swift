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
    var magic: [UInt8] {
        switch self {
        case .batch: Array("VALETBAT".utf8)
        case .base: Array("VALETBAS".utf8)
        }
    }

    var context: DerivationContext {
        switch self {
        case .batch: .syncBatch
        case .base: .syncBase
        }
    }

    var subject: SyncError.Subject {
        switch self {
        case .batch: .batch
        case .base: .base
        }
    }

    fileprivate init?(magic: [UInt8]) {
        guard let kind = [Self.batch, .base].first(where: { $0.magic == magic }) else {
            return nil
        }
        self = kind
    }
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
        var bytes = kind.magic
        bytes.append(bigEndian: MessageFormat.version)
        bytes += circle.bytes
        bytes.append(scope.rawValue)
        bytes += device.bytes
        bytes += name.log.bytes
        bytes.append(bigEndian: name.number)
        bytes += previous.bytes
        bytes += roster.bytes
        bytes += keyID.bytes
        bytes.append(bigEndian: UInt32(sealedByteCount))
        return bytes
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
        guard bytes.count <= MessageFormat.maximalByteCount else {
            throw SyncError(.malformed, .limit, in: .message)
        }
        var reader = ByteReader(bytes, malformed: SyncError(.malformed, .form, in: .message))
        guard let kind = MessageHeader.Kind(magic: try reader.bytes(8)) else {
            throw SyncError(.malformed, .magic, in: .message)
        }
        version = try reader.integer()
        guard version > 0 else { throw SyncError(.malformed, .version, in: .message) }
        let circle = try CircleID(from: &reader)
        guard let scope = KeyScope(rawValue: try reader.integer()) else {
            throw SyncError(.malformed, .scope, in: .message)
        }
        header = MessageHeader(
            kind: kind, circle: circle, scope: scope, device: try DeviceID(from: &reader),
            name: MessageName(log: try LogID(from: &reader), number: try reader.integer()),
            previous: try SyncHash(from: &reader), roster: try SyncHash(from: &reader),
            keyID: try reader.fixedBytes())
        let sealedByteCount = try reader.integer(UInt32.self)
        guard sealedByteCount <= UInt32(MessageFormat.maximalByteCount) else {
            throw SyncError(.malformed, .limit, in: .message)
        }
        _ = try reader.bytes(Int(sealedByteCount))
        signature = try reader.fixedBytes()
        guard reader.isAtEnd else { throw reader.malformed }
        self.bytes = bytes
        hash = SyncHash(messageDigest(bytes.span.extracting(droppingLast: Signature.byteCount)))
    }

    /// Checks the signature with the author's key of the message's scope, then the header's rules.
    ///
    /// - Throws: ``SyncError``: `tampered`, `signature`; `newer` for a later version; `invalid`:
    ///   `number`, `log`.
    package func verified(by key: SigningKey) throws(SyncError) -> VerifiedMessage {
        guard signature.isValid(.syncMessage, of: hash.bytes.span, by: key) else {
            throw SyncError(.tampered, .signature, in: .message)
        }
        guard version == MessageFormat.version else {
            throw SyncError(.newer, .version, in: .message)
        }
        guard header.name.number > 0 else { throw SyncError(.invalid, .number, in: .message) }
        guard header.name.log.belongs(to: header.device) else {
            throw SyncError(.invalid, .log, in: .message)
        }
        return VerifiedMessage(header: header, hash: hash, bytes: bytes)
    }
}

/// A message that its author signed.
package struct VerifiedMessage: Sendable {
    /// The open part.
    package let header: MessageHeader
    /// What names it in tables and in the next message.
    package let hash: SyncHash
    /// The bytes in the store.
    package var encoded: [UInt8] { bytes }
    private let bytes: [UInt8]

    fileprivate init(header: MessageHeader, hash: SyncHash, bytes: [UInt8]) {
        self.header = header
        self.hash = hash
        self.bytes = bytes
    }

    /// Opens the plaintext and removes its padding.
    ///
    /// - Throws: ``SyncError``: `wrongKey` if the header names another key; `invalid`: `seal`,
    ///   `padding`.
    func open(under key: borrowing CircleKey) throws(SyncError) -> OpenedReader {
        let subject = header.kind.subject
        guard key.id == header.keyID else { throw SyncError(.wrongKey, .seal, in: subject) }
        let end = bytes.count - Signature.byteCount
        let plaintext: SecretBytes
        do {
            plaintext = try HedgedSeal.open(
                bytes.span.extracting(MessageFormat.headByteCount..<end), header.kind.context,
                associatedData: bytes.span.extracting(first: MessageFormat.headByteCount),
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
