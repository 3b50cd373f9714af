// SPDX-License-Identifier: Apache-2.0

internal import Sealing

extension BackupHeader {
    /// Reads the header off the first bytes of a file, at most 236.
    ///
    /// - Throws: ``BackupError``: `notABackup`, `newer`, `truncated`, `damaged`.
    init(
        parsing bytes: [UInt8], path: String, costs: CostBounds
    ) throws(BackupError) {
        var rest = bytes[...]
        guard rest.popBytes(Self.magic.count)?.elementsEqual(Self.magic) == true else {
            throw BackupError(.notABackup, during: .open, path: path)
        }
        guard let version = rest.popNumber(UInt16.self) else {
            throw BackupError(.truncated, during: .open, path: path, place: .header)
        }
        guard version <= Self.version else {
            throw BackupError(.newer, during: .open, path: path)
        }
        guard bytes.count == Self.byteCount else {
            throw BackupError(.truncated, during: .open, path: path, place: .header)
        }
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
        var rest = bytes[10...]
        let malformed = SealingError(.malformed, during: .parse, of: "header of a backup")
        guard let keychain = rest.popBytes(16), let milliseconds = rest.popNumber(Int64.self),
            let salt = rest.popBytes(16), let memoryKiB = rest.popNumber(UInt32.self),
            let passes = rest.popNumber(UInt32.self), rest.popFirst() == 1,
            let wrapped = rest.popBytes(WrappedKey.byteCount), let stream = rest.popBytes(24)
        else { throw malformed }
        origin = BackupOrigin(
            keychainID: try KeychainID(Array(keychain)), milliseconds: milliseconds)
        self.salt = try Salt(Array(salt))
        cost = try costs.cost(memoryKiB: memoryKiB, passes: passes)
        wrappedKey = try WrappedKey(parsing: Array(wrapped).span)
        self.stream = try StreamHeader(Array(stream))
        self.bytes = bytes
    }
}
