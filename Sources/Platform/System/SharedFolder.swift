// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A folder that other users and programs may write into, such as one that a tool copies between
/// machines. The folder store of sync keeps its files in such folders.
///
/// Everything in it is opened from the folder's handle and by one name. Links are never followed,
/// so that nothing outside is read or written, whatever others put in.
package struct SharedFolder: ~Copyable {
    package enum Contents: Hashable, Sendable {
        /// A regular file within the limit.
        case bytes([UInt8])
        /// Nothing.
        case missing
        /// A link, a folder, a device, a file that may not be read, or one with too many bytes.
        case unfit
    }

    /// The path that it was opened by, for messages.
    package let path: String
    private let handle: FileDescriptor

    private init(_ path: String, _ handle: consuming FileDescriptor) {
        self.path = path
        self.handle = handle
    }

    /// Opens the folder at the absolute `path`, which may lead through links: a person gave it.
    ///
    /// - Throws: ``SystemError``: `missing`, `notADirectory`, `cannotOpen`, `inputOutput`, `misuse`
    ///   for a relative path.
    package static func open(_ path: String) throws(SystemError) -> SharedFolder {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw SystemError(
                .misuse, during: operation, path: path, hint: "use an absolute path")
        }
        let handle = FileDescriptor(
            owning: unsafe valet_open(path, O_RDONLY | O_DIRECTORY))
        guard handle.number >= 0 else {
            throw SystemError(errno: errno, during: operation, path: path)
        }
        return SharedFolder(path, handle)
    }

    /// Opens a folder in this one.
    ///
    /// - Throws: ``SystemError``: `missing`; `notADirectory`, also for a link; `cannotOpen`, …
    package func folder(_ name: String) throws(SystemError) -> SharedFolder {
        let path = path(of: name)
        let inner = FileDescriptor(
            owning: unsafe valet_openat(handle.number, name, O_RDONLY | O_DIRECTORY, 0))
        guard inner.number >= 0 else {
            throw SystemError(errno: errno, during: Self.operation, path: path)
        }
        return SharedFolder(path, inner)
    }

    /// Opens a folder in this one, and makes it first if it is missing. A new one has mode 0700 and
    /// the group's permissions on this folder, and its name is on disk when this returns.
    ///
    /// - Throws: The codes of ``folder(_:)``, `readOnly`, `diskFull`.
    package func makeFolder(_ name: String) throws(SystemError) -> SharedFolder {
        guard unsafe mkdirat(handle.number, name, 0o700) == 0 else {
            let code = errno
            guard code == EEXIST else {
                throw SystemError(errno: code, during: "make a folder", path: path(of: name))
            }
            return try folder(name)
        }
        let made = try folder(name)
        let inherited = try made.mode() & 0o2000
        // `inherited` is S_ISGID. File systems without modes refuse this call, and do not need it.
        _ = fchmod(made.handle.number, try 0o700 | mode() & 0o070 | inherited)
        try sync()
        return made
    }

    /// Lends each name in the folder, in no particular order, until `body` returns false.
    ///
    /// - Throws: ``SystemError``: `inputOutput`, `cannotOpen`.
    package func forEachName(_ body: (Span<UInt8>) -> Bool) throws(SystemError) {
        let number = unsafe valet_openat(handle.number, ".", O_RDONLY | O_DIRECTORY, 0)
        guard number >= 0, let stream = unsafe fdopendir(number) else {
            throw SystemError(errno: errno, during: "list the folder", path: path)
        }
        defer { unsafe closedir(stream) }
        while true {
            // `readdir` returns null at the end and for an error; only `errno` tells them apart.
            errno = 0
            guard let entry = unsafe readdir(stream) else { break }
            let goesOn = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                let end = unsafe bytes.firstIndex(of: 0) ?? bytes.count
                guard unsafe end > 2 || bytes[..<end].contains(where: { $0 != 0x2e }) else {
                    return true  // "." or ".."
                }
                let name = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<end])
                return unsafe body(Span(_unsafeBytes: name))
            }
            if !goesOn { return }
        }
        guard errno == 0 else {
            throw SystemError(errno: errno, during: "list the folder", path: path)
        }
    }

    /// Reads a regular file of at most `maxByteCount` bytes.
    ///
    /// Opening does not wait: not for the writer of a FIFO, nor for the holder of a lease.
    /// - Throws: ``SystemError``: `inputOutput`, `outOfMemory`, `cannotOpen` without descriptors.
    package func read(_ name: String, maxByteCount: Int) throws(SystemError) -> Contents {
        let file = FileDescriptor(
            owning: unsafe valet_openat(handle.number, name, O_RDONLY | O_NONBLOCK, 0))
        guard file.number >= 0 else {
            switch errno {
            case ENOENT: return .missing
            case ELOOP, ENXIO, ENODEV, EISDIR, EACCES, EPERM, EAGAIN: return .unfit
            case let code:
                throw SystemError(errno: code, during: Self.reading, path: path(of: name))
            }
        }
        let status = try file.status(path: path(of: name), during: Self.reading)
        guard status.type == S_IFREG, status.identity.byteCount <= maxByteCount else {
            return .unfit
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.identity.byteCount))
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe file.readAll(into: $0) }
        guard count >= 0 else {
            throw SystemError(errno: Int32(-count), during: Self.reading, path: path(of: name))
        }
        bytes.removeLast(bytes.count - count)
        return .bytes(bytes)
    }

    /// Writes a file under the name `temporary`, and renames it to `name`, which replaces a file or
    /// a link. The bytes are on disk when this returns, and the name once ``sync()`` returns.
    ///
    /// A new file has mode 0600 and the group's permissions on this folder.
    /// - Throws: ``SystemError``: `diskFull`, `readOnly`, `cannotOpen`, `inputOutput`;
    ///   `notARegularFile` if a folder has the name.
    package func write(
        _ bytes: Span<UInt8>, as name: String, temporary: String
    ) throws(SystemError) {
        let rights = try mode() & 0o060
        let file = FileDescriptor(
            owning: unsafe valet_openat(
                handle.number, temporary, O_WRONLY | O_CREAT | O_EXCL, 0o600))
        guard file.number >= 0 else {
            throw SystemError(errno: errno, during: Self.writing, path: path(of: name))
        }
        var code = file.writeAll(bytes)
        if rights != 0 { _ = fchmod(file.number, 0o600 | rights) }
        if code == 0, fsync(file.number) != 0 { code = errno }
        if code == 0 { code = handle.rename(temporary, to: name) }
        guard code == 0 else {
            unsafe _ = unlinkat(handle.number, temporary, 0)
            throw SystemError(errno: code, during: Self.writing, path: path(of: name))
        }
    }

    /// Waits until the names in the folder are on disk, where the file system can say so.
    ///
    /// - Throws: ``SystemError``: `inputOutput`, `diskFull`.
    package func sync() throws(SystemError) {
        guard fsync(handle.number) == 0 || errno == EINVAL || errno == EBADF else {
            throw SystemError(errno: errno, during: "sync the folder", path: path)
        }
    }

    /// Whether there is a regular file of that name with that many bytes.
    package func hasFile(_ name: String, byteCount: Int) -> Bool {
        guard let status = FileStatus(of: name, in: handle.number) else { return false }
        return status.type == S_IFREG && status.identity.byteCount == byteCount
    }

    /// How long ago a regular file was written, by the clock of the machine that wrote it: negative
    /// if that clock is ahead. Nil for anything but a regular file.
    package func age(of name: String) -> Duration? {
        var status = stat()
        guard unsafe fstatat(handle.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        let now = WallClock.nanoseconds / 1_000_000_000
        // Some file systems keep any time that a program or a server gives.
        let (age, overflows) = now.subtractingReportingOverflow(Int64(status.st_mtim.tv_sec))
        return .seconds(overflows ? .max : age)
    }

    /// Removes a file or a link. Does nothing if it is missing.
    ///
    /// - Throws: ``SystemError``: `readOnly`, `cannotOpen`, `notARegularFile` for a folder.
    package func remove(_ name: String) throws(SystemError) {
        guard unsafe unlinkat(handle.number, name, 0) == 0 || errno == ENOENT else {
            throw SystemError(errno: errno, during: "remove a file", path: path(of: name))
        }
    }

    /// Removes a folder if it is empty, and says nothing if it is not.
    package func removeFolderIfEmpty(_ name: String) {
        unsafe _ = unlinkat(handle.number, name, AT_REMOVEDIR)
    }

    private func path(of name: String) -> String { path + "/" + name }

    private func mode() throws(SystemError) -> mode_t {
        guard let status = FileStatus(open: handle.number) else {
            throw SystemError(errno: errno, during: Self.operation, path: path)
        }
        return status.mode
    }

    private static let operation = "open a shared folder"
    private static let reading = "read a shared file"
    private static let writing = "write a shared file"
}
