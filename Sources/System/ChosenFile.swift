// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A file that a person named, open for reading at any place.
///
/// Symbolic links are followed and permissions not looked at: what such a file holds has to prove
/// itself. It must not be one of SQLite's files: closing it would drop the process's locks.
package final class ChosenFile: Sendable {
    /// The path, as it was given.
    package let path: String

    private let file: FileDescriptor

    /// Opens a regular file.
    ///
    /// - Throws: ``SystemError``: `missing`, `cannotOpen`, `notARegularFile`, `notADirectory`, …
    package init(_ path: String) throws(SystemError) {
        // O_NONBLOCK: a FIFO must not hang us.
        let file = FileDescriptor(
            owning: unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK))
        guard file.number >= 0 else {
            throw SystemError(errno: errno, during: "open a file", path: path)
        }
        guard file.status().st_mode & S_IFMT == S_IFREG else {
            throw SystemError(.notARegularFile, during: "open a file", path: path)
        }
        self.path = path
        self.file = file
    }

    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// - Returns: How many there were: fewer than there is room for at the end of the file only.
    /// - Throws: ``SystemError``: `inputOutput`, …
    package func read(
        at offset: Int, into buffer: inout [UInt8]
    ) throws(SystemError) -> Int {
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe file.readAll(into: bytes, at: offset)
        }
        guard count >= 0 else {
            throw SystemError(errno: Int32(-count), during: "read a file", path: path)
        }
        return count
    }
}
