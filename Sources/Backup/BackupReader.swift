// SPDX-License-Identifier: Apache-2.0

internal import ValetSealing
internal import ValetSystem

/// An open backup, to be read from its start as often as needed.
package final class BackupReader: Sendable {
    /// Where the backup is from.
    package let origin: BackupOrigin
    private let file: ChosenFile
    private let header: BackupHeader
    private let key: BackupKey

    init(_ file: ChosenFile, header: BackupHeader, key: consuming BackupKey) {
        origin = header.origin
        self.file = file
        self.header = header
        self.key = key
    }

    /// A reading that begins at the first item.
    package func items() -> BackupItems {
        BackupItems(ChunkReader(file, header: header, key: key))
    }

    /// Reads the whole file and says what is at its end. A restore does this first, and
    /// compares the result with that of the reading that follows: docs/FORMAT.md §11.4.
    ///
    /// - Throws: ``BackupError``: `damaged`, `truncated`, `io`, with the place.
    package func verify() throws(BackupError) -> BackupSummary {
        var items = items()
        while try items.next() != nil {}
        return try items.end()
    }
}
