// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Opens the folder at a path, makes it if it is missing, and closes it to other users.
/// ``PrivateDirectory`` keeps the handle.
enum FolderOpening {
    static let operation = "open the keychain's folder"

    /// Opens a handle of the folder at `path`. The last component must not be a symbolic link.
    static func open(
        _ path: String, creating: Bool
    ) throws(SystemError) -> FileDescriptor {
        let number = unsafe valet_open_folder_handle(AT_FDCWD, path, 0)
        if number >= 0 { return FileDescriptor(owning: number) }
        let code = errno
        if code == ENOENT {
            if creating { return try createFolder(path) }
            try FilePath.checkAbsence(of: path, during: operation)
        }
        throw openingError(code, path: path)
    }

    /// Opens a handle of the folder `name` in the open folder `parent`. `path` is for messages.
    static func open(
        _ name: String, in parent: Int32, path: String, creating: Bool
    ) throws(SystemError) -> FileDescriptor {
        let number = unsafe valet_open_folder_handle(parent, name, 0)
        if number >= 0 { return FileDescriptor(owning: number) }
        let code = errno
        guard code == ENOENT, creating else { throw openingError(code, path: path) }
        return try createFolder(name, in: parent, path: path)
    }

    /// The folder's status, if the folder belongs to this user and is closed to others.
    ///
    /// - Parameter isClosing: Whether to close an empty folder to others.
    static func status(
        of handle: borrowing FileDescriptor, path: String, closing isClosing: Bool
    ) throws(SystemError) -> FileStatus {
        let status = try handle.status(path: path, during: operation)
        do {
            try FileRules.checkFolder(status, path: path, during: operation)
            return status
        } catch {
            guard error.code == .wrongMode, isEmpty(handle) else { throw error }
            guard isClosing else {
                throw SystemError(.missing, during: operation, path: path)
            }
            // If this fails, the first error has the remedy. The second look finds a file that was
            // put in before the folder was closed.
            guard unsafe fchmodat(handle.number, ".", 0o700, 0) == 0, isEmpty(handle) else {
                throw error
            }
        }
        let closed = try handle.status(path: path, during: operation)
        try FileRules.checkFolder(closed, path: path, during: operation)
        return closed
    }

    /// Whether the folder is empty; false if it cannot be read.
    private static func isEmpty(_ handle: borrowing FileDescriptor) -> Bool {
        do {
            return try PrivateDirectory.names(in: handle.number, path: "").isEmpty
        } catch {
            return false
        }
    }

    private static func createFolder(_ path: String) throws(SystemError) -> FileDescriptor {
        let (parentPath, name) = split(path)
        let parent = try openParent(parentPath)
        try checkOwner(of: parent, path: parentPath)
        return try createFolder(name, in: parent.number, path: path)
    }

    private static func createFolder(
        _ name: String, in parent: Int32, path: String
    ) throws(SystemError) -> FileDescriptor {
        if unsafe mkdirat(parent, name, 0o700) == 0 {
            // The umask may have removed bits that the owner needs.
            guard unsafe fchmodat(parent, name, 0o700, 0) == 0 else {
                throw SystemError(errno: errno, during: "create a folder", path: path)
            }
            try syncParent(parent, path: split(path).parent)
        } else if errno != EEXIST {
            let code = errno
            throw SystemError(
                errno: code, during: "create a folder", path: path, hint: hint(on: code))
        }
        let number = unsafe valet_open_folder_handle(parent, name, 0)
        guard number >= 0 else { throw openingError(errno, path: path) }
        return FileDescriptor(owning: number)
    }

    /// The owner that the kernel shows in a user namespace for files of users outside of it, such
    /// as root's /tmp.
    private static let unknownOwner: uid_t = 65534

    /// Refuses to make a folder in another user's folder, except in one of root's, such as /tmp:
    /// `sudo` may keep the caller's HOME, and the caller cannot use what root makes there.
    private static func checkOwner(
        of parent: borrowing FileDescriptor, path: String
    ) throws(SystemError) {
        let user = geteuid()
        let owner = try parent.status(path: path, during: "create a folder").owner
        guard owner != user, owner != 0, owner != Self.unknownOwner else { return }
        throw SystemError(
            .wrongOwner, during: "create a folder", path: path,
            hint: "run as user \(owner), or set HOME or VALET_HOME to a folder of user \(user)")
    }

    /// Folders above may be symbolic links: an administrator has made them on purpose.
    private static func openParent(_ path: String) throws(SystemError) -> FileDescriptor {
        let number = unsafe valet_open_folder_handle(AT_FDCWD, path, 1)
        if number >= 0 { return FileDescriptor(owning: number) }
        guard errno == ENOENT, path != "/" else { throw openingError(errno, path: path) }
        return try createFolder(path)
    }

    private static func syncParent(_ parent: Int32, path: String) throws(SystemError) {
        let number = unsafe valet_openat(parent, ".", O_RDONLY | O_DIRECTORY, 0)
        // A folder that this user may enter but not read, such as /home on some machines, belongs
        // to someone else.
        if number < 0, errno == EACCES { return }
        let readable = FileDescriptor(owning: number)
        guard readable.number >= 0, fsync(readable.number) == 0 || errno == EINVAL else {
            throw SystemError(errno: errno, during: "sync the folder", path: path)
        }
    }

    private static func split(_ path: String) -> (parent: String, name: String) {
        // By bytes: a slash and a mark beside it are one character.
        let bytes = path.utf8
        let slash = bytes.lastIndex(of: UInt8(ascii: "/")) ?? bytes.startIndex
        let parent = path[..<slash]
        return (parent.isEmpty ? "/" : String(parent), String(path[bytes.index(after: slash)...]))
    }

    private static func openingError(_ code: Int32, path: String) -> SystemError {
        // With O_DIRECTORY the kernel says "not a folder" for a symbolic link, too.
        if code == ENOTDIR, FileStatus(at: path)?.type == S_IFLNK {
            return SystemError(
                .symbolicLink, during: operation, path: path,
                hint: "set VALET_HOME to the folder that \(path.quotedForShell) points to")
        }
        return SystemError(errno: code, during: operation, path: path, hint: hint(on: code))
    }

    /// The remedy where a folder cannot be opened or made.
    private static func hint(on code: Int32) -> String? {
        let elsewhere = "set VALET_HOME to a folder of yours"
        return switch code {
        case EACCES: "let user \(geteuid()) enter the folders on the way, or \(elsewhere)"
        case EPERM, ENOENT, ENOTDIR: elsewhere
        default: nil
        }
    }
}
