// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
package import ValetSealing
internal import ValetSystem

/// The first 236 bytes of a backup: docs/FORMAT.md §11.1.
struct BackupHeader: Equatable, Sendable {
    static let byteCount = 236
    static let magic = Array("VALETBAK".utf8)
    static let version: UInt16 = 1
    static let lanes: UInt8 = 1

    let origin: BackupOrigin
    let salt: Salt
    let cost: Argon2Cost
    let wrappedKey: WrappedKey
    let stream: StreamHeader
    let bytes: [UInt8]

    /// The header of a new backup.
    ///
    /// - Parameter key: The key of the stream; it is wrapped under `kek`.
    init(
        _ preamble: Preamble, key: borrowing BackupKey, kek: borrowing BackupKEK,
        stream: StreamHeader
    ) {
        origin = preamble.origin
        salt = preamble.salt
        cost = preamble.cost
        self.stream = stream
        wrappedKey = KeyWrap.wrap(key, under: kek, binding: preamble.binding)
        let body = preamble.bytes + wrappedKey.bytes + stream.bytes
        bytes = body + Digest(of: body.span).bytes
    }

    /// The 59 bytes before the wrapped key, which is bound to them.
    struct Preamble: Equatable, Sendable {
        let origin: BackupOrigin
        let salt: Salt
        let cost: Argon2Cost

        var bytes: [UInt8] {
            var bytes = BackupHeader.magic
            bytes.append(bigEndian: BackupHeader.version)
            bytes += origin.keychainID.bytes
            bytes.append(bigEndian: origin.milliseconds)
            bytes += salt.bytes
            bytes.append(bigEndian: cost.memoryKiB)
            bytes.append(bigEndian: cost.passes)
            bytes.append(BackupHeader.lanes)
            return bytes
        }

        /// Backups belong to no epoch.
        var binding: WrapBinding {
            WrapBinding(
                .backup, keychainID: origin.keychainID, epoch: Epoch(0), parameters: bytes)
        }

        /// The key that wraps the backup's key: `H(W; "valet/1/backup", KC)`.
        func kek(from stretched: borrowing StretchedPasscode) -> BackupKEK {
            KeyedHash.derive(from: stretched, .backup) { $0.append(origin.keychainID) }
        }
    }

    /// What the wrapped key is bound to.
    var preamble: Preamble { Preamble(origin: origin, salt: salt, cost: cost) }
}

/// Which costs a reader accepts.
enum CostBounds {
    case format
    /// Any cost that libsodium accepts: for tests, which cannot wait for real ones.
    case any

    func cost(memoryKiB: UInt32, passes: UInt32) throws(SystemError) -> Argon2Cost {
        if self == .any, (8...65_535).contains(memoryKiB), (1...3).contains(passes) {
            return Argon2Cost(uncheckedMemoryKiB: memoryKiB, passes: passes)
        }
        return try Argon2Cost(memoryKiB: memoryKiB, passes: passes)
    }
}

extension BackupHeader {
    /// Reads the header from the first 236 bytes of a file, or from all bytes of a shorter one.
    ///
    /// - Throws: ``KeychainFailure``: `damaged`, `newerFormat`.
    init(
        parsing bytes: [UInt8], path: String, costs: CostBounds
    ) throws(KeychainFailure) {
        guard bytes.starts(with: Self.magic) else {
            throw KeychainFailure(.notABackup, during: .open, path: path)
        }
        let truncated = KeychainFailure(.truncated, during: .open, path: path, at: .header)
        var reader = ByteReader(
            Array(bytes.dropFirst(Self.magic.count)), malformed: truncated)
        let version: UInt16 = try reader.integer()
        guard version <= Self.version else {
            throw KeychainFailure(.newer, during: .open, path: path)
        }
        guard bytes.count == Self.byteCount else { throw truncated }
        let body = bytes.span.extracting(first: bytes.count - Digest.byteCount)
        guard version == Self.version, Digest(of: body).bytes == bytes.suffix(Digest.byteCount)
        else { throw KeychainFailure(.damaged, during: .open, path: path, at: .header) }
        do {
            try self.init(checked: bytes, costs: costs)
        } catch {
            throw KeychainFailure(error, during: .open, path: path, at: .header)
        }
    }

    /// Reads the fields of a header whose length and checksum are right.
    private init(checked bytes: [UInt8], costs: CostBounds) throws(SystemError) {
        var reader = ByteReader(
            Array(bytes.dropFirst(10)),
            malformed: SystemError.sealing(.malformed, during: .parse, of: "header of a backup"))
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

/// The origin of a backup, which the header shows without the passphrase.
package struct BackupOrigin: Hashable, Sendable {
    package let keychainID: KeychainID
    /// When it was made, in milliseconds since 1970.
    package let milliseconds: Int64

    package init(keychainID: KeychainID, milliseconds: Int64) {
        self.keychainID = keychainID
        self.milliseconds = milliseconds
    }
}
