// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A file that the system provides for this process: a systemd credential, a mounted secret.
///
/// It may belong to root, may be reached through symbolic links, and may be readable for a group
/// that root chose. All others may neither read nor write it.
package enum GivenFile {
    /// Calls `body` with the contents, then wipes them from memory.
    ///
    /// - Throws: ``SystemError``, with the remedy as its hint: `missing`, `notARegularFile`,
    ///   `wrongOwner`, `wrongMode`, `tooLarge` above `maxByteCount`, `cannotOpen`, `inputOutput`.
    package static func withContents<R: ~Copyable>(
        of path: String, maxByteCount: Int, _ body: (Span<UInt8>) -> R
    ) throws(SystemError) -> R {
        let operation = "read a file"
        let file = FileDescriptor(
            owning: unsafe valet_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK))
        guard file.number >= 0 else {
            throw SystemError(errno: errno, during: operation, path: path)
        }
        // A service manager grants a service access to a file by an access list, which the mode
        // shows as the group's permission to read.
        let status = try file.status(path: path, during: operation)
        try FileRules.checkGiven(
            status, path: path, during: operation,
            forbidding: (bits: status.owner == 0 ? 0o037 : 0o077, remedy: "chmod 400"))
        return try file.withContents(
            maxByteCount: maxByteCount, path: path, during: operation, body)
    }

    /// Whether there is something at `path`, or the kernel does not say that there is nothing.
    package static func mayExist(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR)
    }

    /// Whether `path` leads to a file that this process may run.
    package static func isProgram(_ path: String) -> Bool {
        guard FilePath.isRegularFile(path) else { return false }
        return unsafe access(path, X_OK) == 0
    }

    /// The identity of the file at `path`; nil if there is none. Without `followingLink`, that of a
    /// symbolic link itself.
    ///
    /// - Throws: ``SystemError`` if the kernel refuses to say; `cannotOpen` if a link leads
    ///   nowhere.
    package static func identity(
        of path: String, followingLink: Bool = true
    ) throws(SystemError) -> FileIdentity? {
        if let status = FileStatus(at: path, followingLink: followingLink) {
            return status.identity
        }
        let operation = "examine a file"
        guard errno == ENOENT else {
            throw SystemError(errno: errno, during: operation, path: path)
        }
        try FilePath.checkAbsence(of: path, following: followingLink, during: operation)
        return nil
    }
}

/// A file that a person named, open for reading at any offset.
///
/// Symbolic links are followed and permissions ignored: the contents of such a file have to be
/// authenticated. Never open one of SQLite's files: closing it would drop this process's locks.
package final class UserFile: Sendable {
    package let path: String

    private let file: FileDescriptor

    /// Opens a regular file.
    ///
    /// - Throws: ``SystemError``: `missing`, `cannotOpen`, `notARegularFile`, `notADirectory`, …
    package init(_ path: String) throws(SystemError) {
        // O_NONBLOCK: opening a FIFO must not block.
        let file = FileDescriptor(
            owning: unsafe valet_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK))
        guard file.number >= 0 else {
            throw SystemError(errno: errno, during: "open a file", path: path)
        }
        guard try file.status(path: path, during: "open a file").type == S_IFREG else {
            throw SystemError(.notARegularFile, during: "open a file", path: path)
        }
        self.path = path
        self.file = file
    }

    /// Copies the contents of a pipe into a file without a name, so that they can be read at any
    /// offset.
    ///
    /// - Parameters:
    ///   - path: The pipe's name in errors.
    ///   - isWanted: Judges the first 4 KiB, or all of a shorter input. If it returns false,
    ///     nothing more is read or copied.
    /// - Throws: ``SystemError``: `inputOutput`, `diskFull`, `cannotOpen`.
    package init(
        copyOf descriptor: Int32, called path: String, ifBeginning isWanted: ([UInt8]) -> Bool
    ) throws(SystemError) {
        let operation = "copy standard input"
        file = try FileDescriptor.unnamed(in: ["/var/tmp", "/tmp"], during: operation)
        self.path = path
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var (filled, offset, isJudged) = (0, 0, false)
        while true {
            var span = buffer.mutableSpan
            let count = FileDescriptor.read(
                from: descriptor, into: &span, at: filled..<(isJudged ? span.count : 4 << 10))
            if count < 0, FileDescriptor.mayTryAgain(after: -count) {
                _ = WaitLimit(until: .never).wait(for: descriptor)
                continue
            }
            guard count >= 0 else {
                throw SystemError(errno: Int32(-count), during: operation, path: path)
            }
            filled += count
            if !isJudged, count > 0, filled < 4 << 10 { continue }
            let code = file.writeAll(buffer.span.extracting(first: filled), at: offset)
            guard code == 0 else { throw SystemError(errno: code, during: operation, path: path) }
            offset += filled
            if !isJudged, !isWanted(Array(buffer[..<filled])) { return }
            (filled, isJudged) = (0, true)
            if count == 0 { return }
        }
    }

    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// - Returns: How many bytes were read: fewer than `buffer` holds only at the end of the file.
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
