// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// The folder of a keychain, held by a handle that cannot be exchanged behind our back.
///
/// Files in it are named, never given by path. Only SQLite opens `keychain.db`, its `-wal` and its
/// `-shm`; ``check(file:)`` looks at them without opening them.
package final class PrivateDirectory: Sendable {
    /// The absolute path, without symbolic links.
    package let path: String

    /// Whether the file system can only be read.
    package let isReadOnly: Bool

    /// A handle (`O_PATH`) that can be looked through, not read.
    let descriptor: HeldDescriptor

    /// The path that it was opened by, which may lead through symbolic links.
    let givenPath: String
    let identity: FileIdentity

    private init(
        path: String, givenPath: String, identity: FileIdentity, isReadOnly: Bool,
        descriptor: consuming HeldDescriptor
    ) {
        self.path = path
        self.givenPath = givenPath
        self.identity = identity
        self.isReadOnly = isReadOnly
        self.descriptor = descriptor
    }

    /// Opens the folder at the absolute `path`.
    ///
    /// An empty folder of the user's own that others can enter, as `mkdir` makes them, counts as
    /// none: it is closed to others if `creating`, and `missing` otherwise.
    ///
    /// - Parameters:
    ///   - creating: Whether to make it, and the folders on the way to it, with mode 0700 whatever
    ///     the umask. They are on disk when this returns.
    ///   - fileSystem: How to ask about the file system.
    /// - Throws: ``SystemError``, with the remedy as its hint: `missing`, `symbolicLink` (last
    ///   component only), `notADirectory`, `wrongOwner`, `wrongMode`, `unsupportedFileSystem`,
    ///   `cannotOpen`, `readOnly`, `diskFull`, `misuse` for a relative path.
    package static func open(
        _ path: String, creating: Bool, fileSystem: FileSystem.Probe = FileSystem.kernel
    ) throws(SystemError) -> PrivateDirectory {
        let path = try withoutTrailingSlashes(path)
        let handle = try openHandle(path, creating: creating)
        let status = try status(of: handle, path: path, closing: creating)
        let facts = try fileSystem(handle.number, path)
        try facts.check(path: path)
        let identity = FileIdentity(status)
        return PrivateDirectory(
            path: try realPath(path, of: identity), givenPath: path, identity: identity,
            isReadOnly: facts.isReadOnly, descriptor: HeldDescriptor(holding: handle))
    }

    /// The path of the file `name`.
    package func path(of name: String) -> String {
        precondition(
            !name.isEmpty && !name.utf8.contains(UInt8(ascii: "/")), "a file is given by its name")
        return path + "/" + name
    }

    /// Checks a file without opening it.
    ///
    /// - Returns: Which file it is, or `nil` if there is none.
    /// - Throws: ``SystemError``, with the remedy as its hint: `symbolicLink`, `notARegularFile`
    ///   (also for a file with a second name), `wrongOwner`, `wrongMode`.
    package func check(file name: String) throws(SystemError) -> FileIdentity? {
        var status = stat()
        guard unsafe fstatat(descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            if errno == ENOENT { return nil }
            throw SystemError(errno: errno, during: "check a file", path: path(of: name))
        }
        try FileRules.checkFile(status, path: path(of: name), during: "check a file")
        return FileIdentity(status)
    }

    /// Everything that ``open(_:creating:fileSystem:)`` and ``check(file:)`` refuse of the folder
    /// at `path` and of the files in it that `isMeant` picks: the folder first.
    ///
    /// Changes nothing. A folder that is missing has no refusals.
    package static func refusals(
        at path: String, ofFiles isMeant: (String) -> Bool
    ) -> [SystemError] {
        var refusals: [SystemError] = []
        do throws(SystemError) {
            let handle = try openHandle(try withoutTrailingSlashes(path), creating: false)
            let status = handle.status()
            do throws(SystemError) {
                try FileRules.checkFolder(status, path: path, during: operation)
            } catch {
                refusals.append(error)
            }
            let real = (try? realPath(path, of: FileIdentity(status))) ?? path
            for name in try names(in: handle.number, path: real) where isMeant(name) {
                var status = stat()
                guard unsafe fstatat(handle.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
                    continue
                }
                do throws(SystemError) {
                    try FileRules.checkFile(
                        status, path: real + "/" + name, during: "check a file")
                } catch {
                    refusals.append(error)
                }
            }
        } catch {
            if error.code != .missing { refusals.append(error) }
        }
        return refusals
    }

    /// Puts the names in the folder on disk.
    ///
    /// - Throws: ``SystemError``: `inputOutput`, `diskFull`, `cannotOpen`.
    package func sync() throws(SystemError) {
        let readable = FileDescriptor(
            owning: unsafe valet_openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY, 0))
        guard readable.number >= 0, fsync(readable.number) == 0 else {
            throw SystemError(errno: errno, during: "sync the folder", path: path)
        }
    }

    /// The bytes that the file system still has for this user.
    ///
    /// - Throws: ``SystemError/Code/inputOutput`` if it does not say.
    package func availableByteCount() throws(SystemError) -> Int {
        var facts = statvfs()
        guard unsafe fstatvfs(descriptor.number, &facts) == 0 else {
            throw SystemError(errno: errno, during: "examine the file system", path: path)
        }
        let (bytes, isTooMany) = Int(clamping: facts.f_bavail).multipliedReportingOverflow(
            by: Int(clamping: facts.f_frsize))
        return isTooMany ? .max : bytes
    }

    static let operation = "open the keychain's folder"

    private static func withoutTrailingSlashes(_ path: String) throws(SystemError) -> String {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw SystemError(
                .misuse, during: operation, path: path, hint: "use an absolute path")
        }
        var path = path[...]
        // `link/` would follow the link.
        while path.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        return String(path)
    }

    /// SQLite refuses a symbolic link anywhere in a path, so it gets one without.
    private static func realPath(
        _ path: String, of folder: FileIdentity
    ) throws(SystemError) -> String {
        guard let resolved = unsafe realpath(path, nil) else {
            throw SystemError(errno: errno, during: operation, path: path)
        }
        defer { unsafe free(resolved) }
        var status = stat()
        guard unsafe lstat(resolved, &status) == 0, FileIdentity(status).isSameFile(as: folder)
        else {
            throw SystemError(.replaced, during: operation, path: path, hint: "try again")
        }
        return unsafe String(cString: resolved)
    }
}
