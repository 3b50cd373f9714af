// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

extension BackupHeader {
    /// Reads the header off the first bytes of a file, at most 236.
    ///
    /// - Throws: ``BackupError``: `notABackup`, `newer`, `truncated`, `damaged`.
    init(
        parsing bytes: [UInt8], path: String, costs: CostBounds
    ) throws(BackupError) {
        guard bytes.starts(with: Self.magic) else {
            throw BackupError(.notABackup, during: .open, path: path)
        }
        let truncated = BackupError(.truncated, during: .open, path: path, place: .header)
        var reader = ByteReader(
            Array(bytes.dropFirst(Self.magic.count)), malformed: truncated)
        let version: UInt16 = try reader.integer()
        guard version <= Self.version else {
            throw BackupError(.newer, during: .open, path: path)
        }
        guard bytes.count == Self.byteCount else { throw truncated }
        let body = bytes.span.extracting(first: bytes.count - Digest.byteCount)
        guard version == Self.version, Digest(of: body).bytes == bytes.suffix(Digest.byteCount)
        else { throw BackupError(.damaged, during: .open, path: path, place: .header) }
        do throws(SealingError) {
            try self.init(checked: bytes, costs: costs)
        } catch {
            throw BackupError(error, during: .open, path: path, place: .header)
        }
    }

    /// Reads the fields of 236 bytes with the right checksum.
    private init(checked bytes: [UInt8], costs: CostBounds) throws(SealingError) {
        var reader = ByteReader(
            Array(bytes.dropFirst(10)),
            malformed: SealingError(.malformed, during: .parse, of: "header of a backup"))
        origin = BackupOrigin(
            keychainID: try reader.fixedBytes(), milliseconds: try reader.integer())
        salt = try reader.fixedBytes()
        cost = try costs.cost(memoryKiB: reader.integer(), passes: reader.integer())
        guard try reader.integer(UInt8.self) == Self.lanes else { throw reader.malformed }
        let wrapped = try reader.bytes(WrappedKey.byteCount)
        wrappedKey = try WrappedKey(parsing: wrapped.span)
        stream = try reader.fixedBytes()
        self.bytes = bytes
    }
}
