// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A file that somebody else keeps for this process: a systemd credential, a mounted secret.
///
/// It may belong to root, may be reached through symbolic links, and may be readable for a group
/// that root chose; others may neither read nor write it.
package enum GivenFile {
    /// Lends the contents, then wipes the memory that held them.
    ///
    /// - Throws: ``SystemError``, with the remedy as its hint: `missing`, `notARegularFile`,
    ///   `wrongOwner`, `wrongMode`, `tooLarge` above `maxByteCount`, `cannotOpen`, `inputOutput`.
    package static func withContents<R: ~Copyable>(
        of path: String, maxByteCount: Int, _ body: (Span<UInt8>) -> R
    ) throws(SystemError) -> R {
        let operation = "read a file"
        let file = FileDescriptor(
            owning: unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK))
        guard file.number >= 0 else {
            throw SystemError(errno: errno, during: operation, path: path)
        }
        try check(file.status(), path: path, during: operation)
        return try file.withContents(
            maxByteCount: maxByteCount, path: path, during: operation, body)
    }

    /// Whether there is something at `path`, whatever it is.
    package static func exists(_ path: String) -> Bool {
        unsafe access(path, F_OK) == 0
    }

    /// Which file `path` leads to, through symbolic links, whatever it is; nil if to none.
    ///
    /// - Throws: ``SystemError`` if it cannot be told.
    package static func identity(of path: String) throws(SystemError) -> FileIdentity? {
        var status = stat()
        guard unsafe stat(path, &status) != 0 else { return FileIdentity(status) }
        if errno == ENOENT { return nil }
        throw SystemError(errno: errno, during: "examine a file", path: path)
    }

    private static func check(
        _ status: stat, path: String, during operation: String
    ) throws(SystemError) {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SystemError(.notARegularFile, during: operation, path: path)
        }
        guard status.st_uid == 0 || status.st_uid == geteuid() else {
            throw SystemError(
                .wrongOwner, during: operation, path: path,
                hint: FileRules.hintOnOwner(status.st_uid, path: path))
        }
        // A service manager gives a file to a service by an access list, which shows as the
        // group's right to read.
        let foreignBits: mode_t = status.st_uid == 0 ? 0o037 : 0o077
        guard status.st_mode & foreignBits == 0 else {
            throw SystemError(
                .wrongMode, during: operation, path: path,
                hint: "chmod 400 \(path.quotedForShell)")
        }
    }
}
