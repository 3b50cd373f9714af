// SPDX-License-Identifier: Apache-2.0

// Reads and writes plaintexts. They hold values of items, and so never lie in ordinary arrays.

internal import ValetSealing
internal import ValetSecretMemory

/// Reads big-endian fields from the front of an opened plaintext.
struct OpenedReader: ~Copyable {
    private let plaintext: SecretBytes
    /// Where the next field begins.
    private(set) var position = 0
    private let end: Int
    /// What a field of another form is refused as.
    private let subject: SyncError.Subject
    private let code: SyncError.Code

    /// Starts at the front of `plaintext`, which is padded to a multiple of `step`.
    ///
    /// - Throws: ``SyncError`` with `code` if it is not padded.
    init(
        _ plaintext: consuming SecretBytes, paddedTo step: Int, in subject: SyncError.Subject,
        _ code: SyncError.Code = .invalid
    ) throws(SyncError) {
        do throws(SealingError) {
            end = try plaintext.withBytes { (bytes: Span<UInt8>) throws(SealingError) in
                try Padding.unpaddedByteCount(bytes, step: step)
            }
        } catch {
            throw SyncError(code, .padding, in: subject)
        }
        self.plaintext = plaintext
        self.subject = subject
        self.code = code
    }

    /// Starts at the front of `value`, which is not padded.
    init(
        copying value: SecretValue, in subject: SyncError.Subject,
        _ code: SyncError.Code = .invalid
    ) {
        plaintext = value.withBytes { SecretBytes(copying: $0) }
        end = value.byteCount
        self.subject = subject
        self.code = code
    }

    /// The error for a broken rule.
    func refusal(_ rule: SyncError.Rule) -> SyncError { SyncError(code, rule, in: subject) }

    /// Requires that every byte was taken.
    func finish() throws(SyncError) {
        guard position == end else { throw refusal(.form) }
    }

    private mutating func take(_ count: Int) throws(SyncError) -> Int {
        guard count >= 0, count <= end - position else { throw refusal(.form) }
        defer { position += count }
        return position
    }

    /// The next number.
    mutating func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) throws(SyncError) -> T {
        let start = try take(T.bitWidth / 8)
        return plaintext.withBytes { bytes in
            (start..<(start + T.bitWidth / 8)).reduce(0) {
                $0 << 8 | T(truncatingIfNeeded: bytes[$1])
            }
        }
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

    /// The next `count` bytes, in memory that is not wiped: for attributes, not for values.
    mutating func bytes(_ count: Int) throws(SyncError) -> [UInt8] {
        let start = try take(count)
        return plaintext.withBytes { bytes in (start..<(start + count)).map { bytes[$0] } }
    }

    /// All bytes that are left, in memory that is not wiped.
    mutating func rest() throws(SyncError) -> [UInt8] { try bytes(end - position) }

    /// The next `count` bytes, which are secret.
    mutating func secret(_ count: Int) throws(SyncError) -> SecretValue {
        let start = try take(count)
        return plaintext.withBytes { bytes in
            SecretValue(copying: bytes.extracting(start..<(start + count)))
        }
    }

    /// Whether the bytes of `left` order before those of `right`.
    func isRising(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        plaintext.withBytes { bytes in
            bytes.extracting(left).precedes(bytes.extracting(right))
        }
    }
}

/// Writes big-endian fields into a plaintext whose length is known before.
struct PlaintextWriter: ~Copyable {
    private var bytes: SecretBytes
    private var position = 0

    /// Starts with room for `byteCount` bytes, and pads them to a multiple of `step`.
    init(byteCount: Int, paddedTo step: Int) {
        bytes = SecretBytes(
            byteCount: Padding.paddedByteCount(byteCount, toMultipleOf: step))
        bytes.withMutableBytes { bytes in bytes[byteCount] = 0x80 }
    }

    /// Starts with room for `byteCount` bytes.
    init(byteCount: Int) {
        bytes = SecretBytes(byteCount: byteCount)
    }

    /// Appends a number.
    mutating func append(_ number: some FixedWidthInteger) {
        var field: [UInt8] = []
        field.append(bigEndian: number)
        append(field)
    }

    /// Appends bytes.
    mutating func append(_ field: [UInt8]) { append(field.span) }

    /// Appends bytes, which may be secret.
    mutating func append(_ field: Span<UInt8>) {
        bytes.write(field, at: position)
        position += field.count
    }

    /// Appends a value.
    mutating func append(_ value: SecretValue) { value.withBytes { append($0) } }

    /// All bytes. Nothing may be missing, as the padding follows.
    consuming func finish() -> SecretBytes { bytes }
}

extension Span<UInt8> {
    /// Whether these bytes order before `other`; the shorter of two with one beginning is first.
    func precedes(_ other: Span<UInt8>) -> Bool {
        for index in 0..<Swift.min(count, other.count) where self[index] != other[index] {
            return self[index] < other[index]
        }
        return count < other.count
    }
}
