// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

// Messages as they are in the store: header, sealed plaintext and signature. A message is parsed,
// then verified, then opened, and the types allow no other order.

/// Sizes and names that all messages share: docs/SYNC.md §3.
package enum MessageFormat {
    package static let maximalByteCount = 262_144
    /// The version that this program writes, and the highest that it reads.
    package static let version: UInt16 = 1
    /// The most bytes of a plaintext, so that the message with its padding is not too large.
    package static let maximalPlaintextByteCount = 63 * largeStep - 1
    package static let maximalLogCount = 1024
    static let largeStep = 4096
    static let smallStep = 512
    static let headByteCount = 8 + 2 + 16 + 1 + 16 + 16 + 8 + 32 + 32 + 16 + 4

    /// The step for a plaintext of `byteCount` bytes, which is padded to a multiple of the step.
    static func step(ofPlaintext byteCount: Int) -> Int {
        byteCount < 2 * largeStep ? smallStep : largeStep
    }

    /// The step of a padded plaintext, which has `byteCount` bytes with its padding.
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
    package let bytes: [UInt8]
    package let hash: SyncHash

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
    fileprivate func encoded(sealedByteCount: Int) -> [UInt8] {
        kind.magic
            + [UInt8](
                fields: MessageFormat.version, circle, scope, device, name, previous, roster, keyID,
                UInt32(sealedByteCount))
    }
}

/// A message from the store that has the right form. Anyone may have made it.
package struct ReceivedMessage: Sendable {
    package let header: MessageHeader
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
    package let header: MessageHeader
    package let hash: SyncHash
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

// Plaintexts of messages. The error for a malformed field names the subject of the reader.

typealias OpenedReader = SecretReader<SyncError>

extension SecretReader<SyncError> {
    /// Starts at the front of `plaintext`, which is padded to a multiple of `step`.
    ///
    /// - Throws: ``SyncError`` with `code` if it is not padded.
    init(
        _ plaintext: consuming SecretBytes, paddedTo step: Int, in subject: SyncError.Subject,
        _ code: SyncError.Code = .invalid
    ) throws(SyncError) {
        let byteCount: Int
        do {
            byteCount = try plaintext.withBytes { (bytes: Span<UInt8>) throws(SystemError) in
                try Padding.unpaddedByteCount(bytes, step: step)
            }
        } catch {
            throw SyncError(code, .padding, in: subject)
        }
        self.init(plaintext, byteCount: byteCount, malformed: SyncError(code, .form, in: subject))
    }

    /// Starts at the front of `value`, which is not padded.
    init(
        copying value: SecretValue, in subject: SyncError.Subject,
        _ code: SyncError.Code = .invalid
    ) {
        self.init(
            value.withBytes { SecretBytes(copying: $0) },
            malformed: SyncError(code, .form, in: subject))
    }

    /// The error for a broken rule.
    func refusal(_ rule: SyncError.Rule) -> SyncError {
        SyncError(malformed.code, rule, in: malformed.subject)
    }

    /// A 2-byte count that is at most `limit`.
    mutating func count(upTo limit: Int) throws(SyncError) -> Int {
        let count = Int(try integer(UInt16.self))
        guard count <= limit else { throw refusal(.limit) }
        return count
    }

    /// A 4-byte length that is at most `limit`.
    mutating func length(upTo limit: Int) throws(SyncError) -> Int {
        let length = try integer(UInt32.self)
        guard length <= UInt32(limit) else { throw refusal(.limit) }
        return Int(length)
    }

    /// The next field, which has `byteCount` bytes and is not secret.
    mutating func field<Field: ByteField>(
        _ byteCount: Int, as type: Field.Type = Field.self
    ) throws(SyncError) -> Field {
        var reader = ByteReader(try bytes(byteCount), malformed: malformed)
        return try Field(from: &reader)
    }

    /// All bytes that are left, in memory that is not wiped.
    mutating func rest() throws(SyncError) -> [UInt8] { try bytes(remainingByteCount) }
}
