// SPDX-License-Identifier: Apache-2.0

internal import ValetKeychainModel
package import ValetSealing
package import ValetSecretMemory
internal import ValetSystem

/// A backup that is being written. Dropping it before ``finish()`` leaves nothing behind.
///
/// It keeps one chunk of 64 KiB in memory, whatever the number of items.
/// Format: docs/FORMAT.md §11.
package struct BackupWriter: ~Copyable {
    private var chunks: ChunkWriter
    private var itemCount: UInt64 = 0

    /// Starts a backup, which will be at `path` once it is finished.
    ///
    /// Takes the memory and the time that `cost` says. `path` must not name one of a keychain's own
    /// files: the caller knows them, and this module does not.
    ///
    /// - Parameters:
    ///   - replacing: Whether it may take the place of a file that is there.
    ///   - passphrase: What opens it, byte for byte: normalise it before.
    ///   - cost: What a guess of it will cost; the reader takes costs within the format's bounds.
    /// - Throws: ``BackupError``: `emptyPassphrase`; `destinationExists` unless `replacing`;
    ///   `unsuitablePath`, `missing`, `denied`, `diskFull`, `outOfMemory`, `io`.
    package init(
        to path: String, replacing: Bool = false, origin: BackupOrigin,
        passphrase: borrowing SecretBytes, cost: Argon2Cost
    ) throws(BackupError) {
        guard passphrase.byteCount > 0 else {
            throw BackupError(.emptyPassphrase, during: .write, path: path)
        }
        let file: StagedFile
        do throws(SystemError) {
            file = try StagedFile(at: path, replacing: replacing)
        } catch {
            throw BackupError(error, during: .write)
        }
        let preamble = BackupHeader.Preamble(origin: origin, salt: .random(), cost: cost)
        let key = BackupKey.random()
        let sealer = StreamSealer(under: key)
        let header: BackupHeader
        do throws(SealingError) {
            let stretched = try PassphraseKDF.stretch(
                passphrase, salt: preamble.salt, cost: preamble.cost)
            header = BackupHeader(
                preamble, key: key, kek: preamble.kek(from: stretched), stream: sealer.header)
        } catch {
            throw BackupError(error, during: .write, path: path)
        }
        chunks = try ChunkWriter(into: file, sealer: sealer, header: header)
    }

    /// Checks that a backup could be written to `path`, and leaves nothing there.
    ///
    /// - Throws: ``BackupError``: `destinationExists` unless `replacing`; `unsuitablePath`,
    ///   `missing`, `denied`, `diskFull`, `io`.
    package static func check(path: String, replacing: Bool) throws(BackupError) {
        do throws(SystemError) {
            _ = try StagedFile(at: path, replacing: replacing)
        } catch {
            throw BackupError(error, during: .write)
        }
    }

    /// Appends an item.
    ///
    /// - Throws: ``BackupError``: `diskFull`, `tooLarge` at the limit for files, `io`. After that
    ///   nothing can be appended, and the backup cannot be finished.
    package mutating func append(_ item: BackupItem) throws(BackupError) {
        try chunks.append(item.recordStart.span)
        if let value = item.value {
            try value.withBytes { (bytes: Span<UInt8>) throws(BackupError) in
                try chunks.append(bytes)
            }
        }
        itemCount += 1
    }

    /// Writes the end, brings the file to disk and gives it its name.
    ///
    /// - Returns: What a reader of the whole file will find.
    /// - Throws: ``BackupError``, after which there is no file: what ``append(_:)`` threw,
    ///   `destinationExists`, `unsuitablePath`, `diskFull`, `io`.
    package consuming func finish() throws(BackupError) -> BackupSummary {
        var trailer = [RecordKind.trailer.rawValue]
        trailer.append(bigEndian: UInt32(8))
        trailer.append(bigEndian: itemCount)
        try chunks.append(trailer.span)
        let itemCount = itemCount
        return BackupSummary(itemCount: itemCount, ending: try chunks.finish())
    }
}
