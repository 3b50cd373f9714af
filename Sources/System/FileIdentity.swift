// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Which file it is, and its size, as found by a check.
package struct FileIdentity: Hashable, Sendable {
    /// The number of the file system.
    package let device: UInt64
    /// The number of the file in it.
    package let inode: UInt64
    /// The size.
    package let byteCount: Int64

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        byteCount = Int64(status.st_size)
    }

    /// Whether both are one file, whatever its sizes were.
    package func isSameFile(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode
    }
}

/// What the files and folders of a keychain must be (spec/keys-and-states.md §9.2).
enum FileRules {
    /// Refuses what is not a regular file of the user's own, closed to everybody else.
    static func checkFile(
        _ status: stat, path: @autoclosure () -> String, during operation: String
    ) throws(SystemError) {
        let isOwnFile = status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
        if isOwnFile, status.st_mode & 0o077 == 0, status.st_nlink == 1 { return }
        throw refusal(of: status, path: path(), during: operation)
    }

    @inline(never)
    private static func refusal(
        of status: stat, path: String, during operation: String
    ) -> SystemError {
        let refusal: (code: SystemError.Code, hint: String)? =
            switch status.st_mode & S_IFMT {
            case S_IFLNK: (.symbolicLink, "put the file itself at \(path.quotedForShell)")
            case S_IFREG where status.st_nlink == 0: (.missing, "try again")
            case S_IFREG where status.st_nlink != 1:
                (.notARegularFile, "remove the other hard links of \(path.quotedForShell)")
            case S_IFREG: foreignAccess(status, path: path, mode: "600")
            default: (.notARegularFile, "move \(path.quotedForShell) away")
            }
        guard let refusal else {
            return SystemError(.other, during: operation, path: path, hint: "try again")
        }
        return SystemError(refusal.code, during: operation, path: path, hint: refusal.hint)
    }

    /// Refuses what is not a folder of the user's own, closed to everybody else.
    static func checkFolder(
        _ status: stat, path: String, during operation: String
    ) throws(SystemError) {
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw SystemError(.notADirectory, during: operation, path: path)
        }
        guard let refusal = foreignAccess(status, path: path, mode: "700") else { return }
        throw SystemError(refusal.code, during: operation, path: path, hint: refusal.hint)
    }

    private static func foreignAccess(
        _ status: stat, path: String, mode: String
    ) -> (code: SystemError.Code, hint: String)? {
        let user = geteuid()
        guard status.st_uid == user else {
            return (.wrongOwner, hintOnOwner(status.st_uid, path: path))
        }
        guard status.st_mode & 0o077 == 0 else {
            return (.wrongMode, "chmod \(mode) \(path.quotedForShell)")
        }
        return nil
    }
    /// What helps where another user owns a file. Root is never told to take it over: that would
    /// shut its user out.
    static func hintOnOwner(_ owner: uid_t, path: String) -> String {
        let user = geteuid()
        guard user != 0 else { return "run as user \(owner), to whom it belongs" }
        return "as root: chown \(user) \(path.quotedForShell); or run as user \(owner)"
    }
}
