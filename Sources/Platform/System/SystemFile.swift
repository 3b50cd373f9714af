// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A file that a program may trust for facts about itself, because only root and the user can
/// change it. `KeychainServices` reads declarations of applications this way.
package enum SystemFile {
    /// The contents of a small file; nil if nothing is at `path`. What cannot be looked at may be
    /// there, and is an error.
    ///
    /// The checks are made on the file that is open, so that no other can take its place.
    ///
    /// - Parameters:
    ///   - maxByteCount: The most bytes that are accepted.
    ///   - otherOwner: A user beside root and this process's own whose file is trusted.
    /// - Throws: ``SystemError``: `symbolicLink`, `notARegularFile`, `wrongOwner`, `wrongMode` if
    ///   the group or others may write it, each with a remedy where there is one; `tooLarge`,
    ///   `cannotOpen`, `inputOutput`.
    package static func contents(
        of path: String, maxByteCount: Int, trusting otherOwner: @autoclosure () -> UInt32? = nil
    ) throws(SystemError) -> [UInt8]? {
        // O_NONBLOCK: a FIFO must not hang the caller.
        let flags = O_RDONLY | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW
        let file = FileDescriptor(owning: unsafe valet_open(path, flags))
        guard file.number >= 0 else {
            let code = errno
            guard code == ENOENT || code == ENOTDIR else {
                throw SystemError(errno: code, during: operation, path: path, hint: hint(on: code))
            }
            try FilePath.checkAbsence(of: path, following: false, during: operation)
            return nil
        }
        let status = try file.status(path: path, during: operation)
        try FileRules.checkGiven(
            status, path: path, during: operation, trusting: otherOwner,
            forbidding: (bits: 0o022, remedy: "chmod go-w"))
        guard status.identity.byteCount <= maxByteCount else {
            throw SystemError(.tooLarge, during: operation, path: path)
        }
        // A file that grows while it is read is too large as well.
        return try file.withContents(
            maxByteCount: Int(status.identity.byteCount), path: path, during: operation
        ) { bytes in
            bytes.indices.map { bytes[$0] }
        }
    }

    private static func hint(on code: Int32) -> String? {
        guard code == EACCES else { return nil }
        return "let user \(geteuid()) read it, and enter the folders on the way"
    }

    private static let operation = "read a file"
}
