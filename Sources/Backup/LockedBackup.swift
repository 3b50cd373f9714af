// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
package import ValetSecretMemory
internal import ValetSystem

/// A backup file whose header is sound, and whose passphrase has not been given yet.
package struct LockedBackup: Sendable {
    private let file: ChosenFile
    private let header: BackupHeader

    /// Where the backup says it is from. Proved only once it is unlocked.
    package var origin: BackupOrigin { header.origin }

    /// Opens the file at `path` and reads its header.
    ///
    /// The file stays open: a later exchange of what has that name changes nothing. `path` must not
    /// name a keychain's own database: closing that would drop the locks of this process.
    ///
    /// - Throws: ``BackupError``: `notABackup`, `newer`, `truncated`, `damaged`; `missing`,
    ///   `denied`, `unsuitablePath`, `io`.
    package init(_ path: String) throws(BackupError) {
        try self.init(path, costs: .format)
    }

    init(_ path: String, costs: CostBounds) throws(BackupError) {
        var bytes = [UInt8](repeating: 0, count: BackupHeader.byteCount)
        do throws(SystemError) {
            file = try ChosenFile(path)
            let count = try file.read(at: 0, into: &bytes)
            bytes.removeSubrange(count...)
        } catch {
            throw BackupError(error, during: .open)
        }
        header = try BackupHeader(parsing: bytes, path: path, costs: costs)
    }

    /// Opens the backup. Takes the memory and the time that its header asks for, within bounds.
    ///
    /// - Throws: ``BackupError``: `wrongPassphrase`, `emptyPassphrase`, `damaged`, `outOfMemory`.
    package func unlock(
        with passphrase: borrowing SecretBytes
    ) throws(BackupError) -> BackupReader {
        guard passphrase.byteCount > 0 else {
            throw BackupError(.emptyPassphrase, during: .open, path: file.path)
        }
        do throws(SealingError) {
            let preamble = header.preamble
            let stretched = try PassphraseKDF.stretch(
                passphrase, salt: preamble.salt, cost: preamble.cost)
            let key = try KeyWrap.unwrap(
                header.wrappedKey, as: Purpose.Backup.self, under: preamble.kek(from: stretched),
                binding: preamble.binding)
            return BackupReader(file, header: header, key: key)
        } catch {
            throw BackupError(error, during: .open, path: file.path, place: .header)
        }
    }
}
