// SPDX-License-Identifier: Apache-2.0

// Plaintexts of messages. Fields of another form are refused as what the reader reads.

internal import ValetSealing
internal import ValetSystem

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
        self.init(
            plaintext, byteCount: byteCount, malformed: SyncError(code, .form, in: subject))
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

    /// A count of 2 bytes, of at most `limit`.
    mutating func count(upTo limit: Int) throws(SyncError) -> Int {
        let count = Int(try integer(UInt16.self))
        guard count <= limit else { throw refusal(.limit) }
        return count
    }

    /// A length of 4 bytes, of at most `limit`.
    mutating func length(upTo limit: Int) throws(SyncError) -> Int {
        let length = try integer(UInt32.self)
        guard length <= UInt32(limit) else { throw refusal(.limit) }
        return Int(length)
    }

    /// The next 16 bytes.
    mutating func id<Name>(
        _ kind: SyncBytes<Name>.Type = SyncBytes<Name>.self
    ) throws(SyncError) -> SyncBytes<Name> {
        SyncBytes(high: try integer(), low: try integer())
    }

    /// The next 32 bytes.
    mutating func hash() throws(SyncError) -> SyncHash {
        SyncHash(try integer(), try integer(), try integer(), try integer())
    }

    /// All bytes that are left, in memory that is not wiped.
    mutating func rest() throws(SyncError) -> [UInt8] { try bytes(remainingByteCount) }
}
