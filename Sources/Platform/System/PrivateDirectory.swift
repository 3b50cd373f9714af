// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization
internal import ValetCLinux

/// A folder that only this user can use, such as a keychain's, held by a handle: no other folder
/// can take its place unnoticed.
///
/// Callers name its files and never give their paths. Only SQLite opens `keychain.db`, its `-wal`
/// and its `-shm`; ``check(file:)`` examines them without opening them.
package final class PrivateDirectory: Sendable {
    /// The absolute path, without symbolic links.
    package let path: String

    /// Whether the file system is read-only.
    package let isReadOnly: Bool

    /// Whether the file system allocates blocks smaller than a page of memory.
    package let hasSmallBlocks: Bool

    /// A handle (`O_PATH`): it finds files, and cannot read the folder.
    let descriptor: HeldDescriptor

    /// The path that it was opened by. It may lead through symbolic links.
    let givenPath: String
    let identity: FileIdentity
    /// The owner of the folder when it was opened: this process's user.
    private let owner: uid_t

    private init(
        path: String, givenPath: String, status: FileStatus, facts: FileSystem,
        descriptor: consuming HeldDescriptor
    ) {
        self.path = path
        self.givenPath = givenPath
        identity = status.identity
        owner = status.owner
        isReadOnly = facts.isReadOnly
        hasSmallBlocks = facts.blockByteCount < 4096
        self.descriptor = descriptor
    }

    /// Opens the folder at the absolute `path`.
    ///
    /// `mkdir` makes folders that others can enter. If such a folder belongs to this user and is
    /// empty, it is closed to others if `creating`, and counts as `missing` otherwise.
    ///
    /// - Parameters:
    ///   - creating: Whether to make the folder and those above it, with mode 0700 whatever the
    ///     umask. They are on disk when this returns.
    ///   - fileSystem: Asks about the file system.
    /// - Throws: ``SystemError``, with the remedy as its hint: `missing`, `symbolicLink` (last
    ///   component only), `notADirectory`, `wrongOwner`, `wrongMode`, `unsupportedFileSystem`,
    ///   `cannotOpen`, `readOnly`, `diskFull`, `misuse` for a relative path.
    package static func open(
        _ path: String, creating: Bool, fileSystem: FileSystem.Probe = FileSystem.kernel
    ) throws(SystemError) -> PrivateDirectory {
        let path = try withoutTrailingSlashes(path)
        let handle = try FolderOpening.open(path, creating: creating)
        let status = try FolderOpening.status(of: handle, path: path, closing: creating)
        let facts = try fileSystem(handle.number, path)
        try facts.check(path: path)
        return PrivateDirectory(
            path: try realPath(path, of: handle, status.identity), givenPath: path,
            status: status, facts: facts,
            descriptor: HeldDescriptor(holding: handle, as: status.identity))
    }

    /// Opens the folder `name` inside this one: by the handle, so that a folder that has taken the
    /// place of this one is left alone.
    ///
    /// - Throws: The codes of ``open(_:creating:fileSystem:)``.
    package func folder(
        _ name: String, creating: Bool
    ) throws(SystemError) -> PrivateDirectory {
        let path = path(of: name)
        let handle = try FolderOpening.open(
            name, in: descriptor.number, path: path, creating: creating)
        let status = try FolderOpening.status(of: handle, path: path, closing: creating)
        let facts = try FileSystem.kernel(handle.number, path)
        try facts.check(path: path)
        return PrivateDirectory(
            path: path, givenPath: givenPath + "/" + name, status: status, facts: facts,
            descriptor: HeldDescriptor(holding: handle, as: status.identity))
    }

    package func path(of name: String) -> String {
        precondition(
            !name.isEmpty && !name.utf8.contains(UInt8(ascii: "/")), "a file is given by its name")
        return path + "/" + name
    }

    /// Checks a file without opening it.
    ///
    /// - Returns: The file's identity, or `nil` if the file does not exist.
    /// - Throws: ``SystemError``, with the remedy as its hint: `symbolicLink`, `notARegularFile`
    ///   (also for a file with a second name), `wrongOwner`, `wrongMode`.
    package func check(file name: String) throws(SystemError) -> FileIdentity? {
        guard let status = FileStatus(of: name, in: descriptor.number) else {
            if errno == ENOENT { return nil }
            throw SystemError(errno: errno, during: "check a file", path: path(of: name))
        }
        try FileRules.checkFile(
            status, of: owner, path: path(of: name), during: "check a file")
        return status.identity
    }

    /// The identity of the file or link of this name, whatever its owner and mode; nil if there is
    /// none. One system call.
    ///
    /// - Throws: ``SystemError`` if the kernel refuses to say.
    package func identity(of name: String) throws(SystemError) -> FileIdentity? {
        if let status = FileStatus(of: name, in: descriptor.number) { return status.identity }
        let code = errno
        try checkHandle()
        if code == ENOENT { return nil }
        throw SystemError(errno: code, during: "look for a file", path: path(of: name))
    }

    /// The remedy if the mode of some of these files forbids their owner to write; nil otherwise.
    package static func hintOnWriting(_ paths: [String]) -> String? {
        let locked = paths.filter { path in
            FileStatus(at: path).map { $0.mode & 0o200 == 0 } ?? false
        }
        guard !locked.isEmpty else { return nil }
        return "chmod 600 " + locked.map(\.quotedForShell).joined(separator: " ")
    }

    /// All refusals of ``open(_:creating:fileSystem:)`` for the folder at `path`, and of
    /// ``check(file:)`` for those files in it that `isMeant` picks. The folder comes first.
    ///
    /// Changes nothing. A missing folder has no refusals.
    package static func refusals(
        at path: String, ofFiles isMeant: (String) -> Bool
    ) -> [SystemError] {
        var refusals: [SystemError] = []
        do {
            let handle = try FolderOpening.open(try withoutTrailingSlashes(path), creating: false)
            let status = try handle.status(path: path, during: FolderOpening.operation)
            do {
                try FileRules.checkFolder(status, path: path, during: FolderOpening.operation)
            } catch {
                refusals.append(error)
            }
            let real = (try? realPath(path, of: handle, status.identity)) ?? path
            for name in try names(in: handle.number, path: real) where isMeant(name) {
                guard let status = FileStatus(of: name, in: handle.number) else { continue }
                do {
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

    /// Waits until the names in the folder are on disk.
    ///
    /// - Throws: ``SystemError``: `inputOutput`, `diskFull`, `cannotOpen`.
    package func sync() throws(SystemError) {
        let readable = FileDescriptor(
            owning: unsafe valet_openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY, 0))
        guard readable.number >= 0, fsync(readable.number) == 0 else {
            throw SystemError(errno: errno, during: "sync the folder", path: path)
        }
    }

    /// The bytes that this user can still store on the file system.
    ///
    /// - Throws: ``SystemError/Code/inputOutput`` if the file system does not say.
    package func availableByteCount() throws(SystemError) -> Int {
        var facts = statvfs()
        guard unsafe fstatvfs(descriptor.number, &facts) == 0 else {
            throw SystemError(errno: errno, during: "examine the file system", path: path)
        }
        let (bytes, isTooMany) = Int(clamping: facts.f_bavail).multipliedReportingOverflow(
            by: Int(clamping: facts.f_frsize))
        return isTooMany ? .max : bytes
    }

    private static func withoutTrailingSlashes(_ path: String) throws(SystemError) -> String {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw SystemError(
                .misuse, during: FolderOpening.operation, path: path,
                hint: "use an absolute path")
        }
        // `link/` would follow the link. By bytes: a slash and a mark beside it are one character.
        var bytes = path.utf8[...]
        while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        return String(Substring(bytes))
    }

    /// The path as the kernel knows it; nil if it is too long or not UTF-8, or if there is no
    /// `/proc`.
    private static func knownPath(of handle: borrowing FileDescriptor) -> String? {
        let link = "/proc/self/fd/\(handle.number)"
        return unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { room in
            guard let start = room.baseAddress else { return nil }
            let count = unsafe readlink(link, start, room.count)
            guard (1..<room.count).contains(count) else { return nil }
            return unsafe String(validating: room.prefix(count), as: UTF8.self)
        }
    }

    /// SQLite refuses a symbolic link anywhere in a path, so it gets this path.
    private static func realPath(
        _ path: String, of handle: borrowing FileDescriptor, _ folder: FileIdentity
    ) throws(SystemError) -> String {
        // The kernel knows the path; `realpath` asks about each folder on the way.
        if let known = knownPath(of: handle),
            FileStatus(at: known)?.identity.isSameFile(as: folder) == true
        {
            return known
        }
        guard let resolved = unsafe realpath(path, nil) else {
            throw SystemError(errno: errno, during: FolderOpening.operation, path: path)
        }
        defer { unsafe free(resolved) }
        guard let resolvedPath = unsafe String(validatingCString: resolved) else {
            throw SystemError(
                .misuse, during: FolderOpening.operation, path: path,
                hint: "a link on the way leads to a name that is not UTF-8: use another folder")
        }
        guard FileStatus(at: resolvedPath)?.identity.isSameFile(as: folder) == true else {
            throw SystemError(
                .replaced, during: FolderOpening.operation, path: path, hint: "try again")
        }
        return resolvedPath
    }
}

/// Checks that paths and the handle still lead to the open folder. The handle follows the folder:
/// it alone does not show that another folder has taken its place.
extension PrivateDirectory {
    /// Whether the path that the folder was opened by still leads to it. False if the folder was
    /// moved or removed, if a symbolic link on the way now leads elsewhere, or if other code has
    /// closed the handle. Two system calls.
    ///
    /// - Throws: ``SystemError``: `descriptorsClosed`; what the kernel refuses with, such as
    ///   `cannotOpen`.
    package func isInPlace() throws(SystemError) -> Bool {
        try checkHandle()
        return try Self.thing(at: givenPath)?.isSameFile(as: identity) ?? false
    }

    /// Throws if other code has closed the handle. One system call.
    ///
    /// - Throws: ``SystemError``: `descriptorsClosed`; `inputOutput` and others if the system does
    ///   not tell.
    package func checkHandle() throws(SystemError) {
        if let fault = descriptor.fault {
            throw ClosedDescriptors.error(fault, at: givenPath)
        }
    }

    /// Whether the path that the folder was opened by leads to `file`, by this name. One system
    /// call, which does not look at the handle. A file of this library has no other name, so its
    /// folder is the one that it was opened in.
    ///
    /// - Throws: The codes of ``isInPlace()`` and ``check(file:)``.
    package func leads(to name: String, as file: FileIdentity) throws(SystemError) -> Bool {
        let path = givenPath + "/" + name
        guard let status = FileStatus(at: path) else {
            if errno == ENOENT || errno == ENOTDIR { return false }
            throw SystemError(errno: errno, during: "look for a file", path: path)
        }
        guard status.identity.isSameFile(as: file) else { return false }
        try FileRules.checkFile(status, of: owner, path: path, during: "check a file")
        return true
    }

    /// Whether the handle leads to a folder with `file` under this name. One system call. The file
    /// has no other name, so the folder is the one that `file` was opened in.
    ///
    /// - Throws: The codes of ``check(file:)``.
    package func contains(_ name: String, as file: FileIdentity) throws(SystemError) -> Bool {
        do {
            if let found = try check(file: name) { return found.isSameFile(as: file) }
            try checkHandle()
            return false
        } catch {
            try checkHandle()
            throw error
        }
    }

    /// Throws if the folder is not where it was opened.
    ///
    /// - Throws: ``SystemError``: `replaced`; the codes of ``isInPlace()``.
    package func checkPlace() throws(SystemError) {
        guard try isInPlace() else { throw replacement }
    }

    /// Throws if the path as it was given, or ``path``, leads to another file than `file`: another
    /// program with the same path would not find this one.
    ///
    /// - Throws: The codes of ``checkPlace()``.
    package func checkPlace(of name: String, as file: FileIdentity) throws(SystemError) {
        guard try leads(to: name, as: file),
            try Self.thing(at: path(of: name))?.isSameFile(as: file) == true
        else { throw replacement }
    }

    /// The error for a folder that is no longer where it was opened.
    package var replacement: SystemError {
        SystemError(.replaced, during: "find the folder", path: givenPath, hint: "try again")
    }

    /// Identifies the file at `path`, or the link itself; nil if the path does not exist.
    private static func thing(at path: String) throws(SystemError) -> FileIdentity? {
        if let status = FileStatus(at: path) { return status.identity }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw SystemError(errno: errno, during: "look for a file", path: path)
    }
}

/// Other code in this process has closed descriptors that are the keychain's: a daemon closes
/// everything from 3 on, or a bug closes a number twice. The numbers may belong to other files by
/// now, so that this process uses no keychain any more, and SQLite closes nothing
/// (docs/decisions/0047-replaced-folders.md).
package enum ClosedDescriptors {
    private static let wereFoundOnce = Atomic<Bool>(false)

    /// Whether this process, or the one that it was forked from, has found such descriptors.
    package static var wereFound: Bool { wereFoundOnce.load(ordering: .relaxed) }

    /// The error for a descriptor that may lead to another file. `EBADF` proves that other code has
    /// closed it: then every later call fails as well. Other faults fail this call only.
    static func error(_ fault: Int32, at path: String) -> SystemError {
        fault == EBADF
            ? found(at: path)
            : SystemError(errno: fault, during: "examine an open file", path: path)
    }

    /// The error of all calls from now on.
    package static func found(at path: String) -> SystemError {
        wereFoundOnce.store(true, ordering: .relaxed)
        return error(at: path)
    }

    /// The error of a call.
    package static func error(at path: String) -> SystemError {
        SystemError(
            .descriptorsClosed, during: "use the keychain", path: path,
            hint: "open the keychain after becoming a daemon, and start this program anew")
    }
}
