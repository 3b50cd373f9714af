// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A folder of this user alone whose files are in memory and on no disk: for programs, such as
/// editors, that need a file with a name and write others beside it.
///
/// ``remove()`` overwrites its files and removes it. Dropping it does the same, but does not report
/// what is left. A process that is killed by SIGKILL leaves its folder behind. The next call that
/// makes a folder for this user in the same place removes it, because its lock is free then.
package struct MemoryFolder: ~Copyable {
    /// An absolute path.
    package let path: String
    private let handle: FileDescriptor
    private var isThere = true

    private static let prefix = "valet-in-memory-"
    private static let operation = "make a folder in memory"
    /// How many times to make a folder when another process removes each before it is locked.
    private static let tryCount = 20
    /// Programs nest few folders. Deeper ones stay, and ``remove()`` reports that.
    private static let maximumDepth = 8

    /// The usual places in memory: the user's runtime folder, and the folder of shared memory.
    package static var places: [String] {
        ["/run/user/\(geteuid())", "/dev/shm"]
    }

    /// Makes a folder in the first of `places` whose files are in memory.
    ///
    /// - Throws: ``SystemError``: `unsupportedFileSystem` if none is in memory, `diskFull`,
    ///   `cannotOpen`.
    package init(in places: [String] = places) throws(SystemError) {
        var failure = SystemError(
            .unsupportedFileSystem, during: Self.operation,
            hint: "\(places.joined(separator: " or ")) must be a tmpfs")
        for place in places {
            Self.removeAbandoned(in: place)
            guard Self.isInMemory(place) else { continue }
            for _ in 0..<Self.tryCount {
                guard let path = Self.make("\(place)/\(Self.prefix)XXXXXX") else {
                    if ![ENOENT, EACCES, EROFS].contains(errno) {
                        failure = SystemError(errno: errno, during: Self.operation, path: place)
                    }
                    break
                }
                // Before it has its lock, another process may take it for abandoned.
                guard let handle = Self.lock(path) else {
                    _ = unsafe rmdir(path)
                    continue
                }
                self.path = path
                self.handle = handle
                return
            }
        }
        throw failure
    }

    /// Whether the files of a folder are in memory; false if that cannot be told.
    package static func isInMemory(_ path: String) -> Bool {
        let handle = FileDescriptor(owning: unsafe valet_open(path, O_RDONLY | O_DIRECTORY))
        guard handle.number >= 0 else { return false }
        return (try? FileSystem.kernel(handle.number, path))?.isInMemory == true
    }

    deinit {
        if isThere { _ = wipe() }
    }

    /// Opens a folder and takes its lock, which shows that its owner runs. Returns nil if another
    /// process has the lock, or has removed the folder.
    private static func lock(_ path: String) -> FileDescriptor? {
        let handle = FileDescriptor(
            owning: unsafe valet_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
        guard handle.number >= 0, flock(handle.number, LOCK_EX | LOCK_NB) == 0,
            let status = FileStatus(open: handle.number), status.owner == geteuid(),
            FileIdentity(of: path) == status.identity
        else { return nil }
        return handle
    }

    private static func make(_ template: String) -> String? {
        var name = Array(template.utf8CString)
        guard unsafe mkdtemp(&name) != nil else { return nil }
        // The umask may have removed bits that the owner needs.
        _ = unsafe chmod(name, 0o700)
        return String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Writes a file that only this user can read.
    ///
    /// - Throws: ``SystemError``: `diskFull`, …
    package func write(_ bytes: Span<UInt8>, to name: String) throws(SystemError) {
        let file = FileDescriptor(
            owning: unsafe valet_openat(handle.number, name, O_WRONLY | O_CREAT | O_TRUNC, 0o600))
        if file.number >= 0 { fchmod(file.number, 0o600) }
        let code = file.number < 0 ? errno : file.writeAll(bytes)
        guard code == 0 else {
            throw SystemError(errno: code, during: "write a file in memory", path: nil)
        }
    }

    /// Calls `body` with a descriptor to read a file from.
    ///
    /// - Throws: ``SystemError``: `missing`, `notARegularFile`, …
    package func reading<R: ~Copyable>(
        _ name: String, _ body: (Int32) throws(SystemError) -> R
    ) throws(SystemError) -> R {
        let operation = "read a file in memory"
        let file = FileDescriptor(
            owning: unsafe valet_openat(handle.number, name, O_RDONLY | O_NONBLOCK, 0))
        guard file.number >= 0 else {
            throw SystemError(errno: errno, during: operation, path: nil)
        }
        guard try file.status(path: nil, during: operation).type == S_IFREG else {
            throw SystemError(.notARegularFile, during: operation)
        }
        return try body(file.number)
    }

    /// Overwrites the files in the folder, and removes it. Files that a program has deleted itself
    /// were in memory that the kernel clears before another process gets it.
    ///
    /// - Returns: Whether nothing is left.
    package consuming func remove() -> Bool {
        let isRemoved = wipe()
        isThere = false
        return isRemoved
    }

    private func wipe() -> Bool {
        Self.wipe(handle.number, at: path)
    }

    private static func wipe(_ folder: Int32, at path: String) -> Bool {
        // A program that has not quite ended may add a file.
        for _ in 0..<3 {
            empty(folder, depth: 0)
            if unsafe rmdir(path) == 0 || errno == ENOENT { return true }
        }
        return false
    }

    /// Removes folders whose owners were killed.
    private static func removeAbandoned(in place: String) {
        let handle = FileDescriptor(owning: unsafe valet_open(place, O_RDONLY | O_DIRECTORY))
        guard handle.number >= 0,
            let names = try? PrivateDirectory.names(in: handle.number, path: place)
        else { return }
        for name in names where name.hasPrefix(prefix) {
            let path = "\(place)/\(name)"
            guard let folder = lock(path) else { continue }
            _ = wipe(folder.number, at: path)
        }
    }

    private static func empty(_ folder: Int32, depth: Int) {
        let names = (try? PrivateDirectory.names(in: folder, path: "")) ?? []
        for name in names {
            var status = valet_file_status()
            let isRead =
                unsafe valet_read_file_status(folder, name, AT_SYMLINK_NOFOLLOW, &status) == 0
            let type = isRead ? status.mode & S_IFMT : S_IFLNK
            if type == S_IFDIR, depth < maximumDepth {
                let inner = FileDescriptor(
                    owning: unsafe valet_openat(folder, name, O_RDONLY | O_DIRECTORY, 0))
                if inner.number >= 0 { empty(inner.number, depth: depth + 1) }
            } else if type == S_IFREG {
                overwrite(name, in: folder, byteCount: status.byte_count)
            }
            _ = unsafe unlinkat(folder, name, type == S_IFDIR ? AT_REMOVEDIR : 0)
        }
    }

    private static func overwrite(_ name: String, in folder: Int32, byteCount: Int64) {
        // The program may have removed the write permission.
        _ = unsafe fchmodat(folder, name, 0o600, 0)
        let file = FileDescriptor(owning: unsafe valet_openat(folder, name, O_WRONLY, 0))
        guard file.number >= 0 else { return }
        let zeros = [UInt8](repeating: 0, count: 64 << 10)
        var position = 0
        while position < byteCount {
            let count = min(zeros.count, Int(byteCount) - position)
            guard file.writeAll(zeros.span.extracting(first: count), at: position) == 0 else {
                return
            }
            position += count
        }
    }
}
