// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing

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
    /// All 236 bytes.
    let bytes: [UInt8]

    /// The header of a new backup.
    ///
    /// - Parameter key: What seals the stream; it is wrapped under `kek`.
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

    /// What stands before the wrapped key, and is bound to it: 59 bytes.
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

        /// What wraps the key: `H(W; "valet/1/backup", KC)`.
        func kek(from stretched: borrowing StretchedPasscode) -> BackupKEK {
            KeyedHash.derive(from: stretched, .backup) { $0.append(origin.keychainID) }
        }
    }

    /// What the wrapped key is bound to.
    var preamble: Preamble { Preamble(origin: origin, salt: salt, cost: cost) }
}

/// Which costs a reader takes.
enum CostBounds {
    /// Those of the format.
    case format
    /// Any that libsodium takes, for tests, which cannot wait for real ones.
    case any

    func cost(memoryKiB: UInt32, passes: UInt32) throws(SealingError) -> Argon2Cost {
        if self == .any, (8...65_535).contains(memoryKiB), (1...3).contains(passes) {
            return Argon2Cost(uncheckedMemoryKiB: memoryKiB, passes: passes)
        }
        return try Argon2Cost(memoryKiB: memoryKiB, passes: passes)
    }
}
