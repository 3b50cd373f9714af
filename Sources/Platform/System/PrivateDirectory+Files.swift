// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

// The files of a private folder: reading, creating, renaming, erasing. Callers give names, never
// paths.

extension PrivateDirectory {
    /// Lends the contents of a small file, then wipes them from memory.
    ///
    /// - Returns: The result of `body`. A `body` that can fail returns a `Result`.
    /// - Throws: ``SystemError``: `missing`, `tooLarge` above `maxByteCount`, the codes of
    ///   ``check(file:)``, `cannotOpen`, `inputOutput`.
    package func withContents<R: ~Copyable>(
        of name: String, maxByteCount: Int, _ body: (Span<UInt8>) -> R
    ) throws(SystemError) -> R {
        let operation = "read a file"
        let path = path(of: name)
        let file = try FileDescriptor(name, of: self, flags: O_RDONLY, during: operation)
        let status = try file.status(path: path, during: operation)
        try FileRules.checkFile(status, path: path, during: operation)
        return try file.withContents(
            maxByteCount: maxByteCount, path: path, during: operation, body)
    }

    /// Whether a file holds only zeros: for a write-ahead log on a read-only file system.
    ///
    /// SQLite locks the log's index and the database, never the log: closing the log drops no lock.
    /// - Throws: The codes of ``withContents(of:maxByteCount:_:)``.
    package func isBlank(_ name: String, byteCount: Int) throws(SystemError) -> Bool {
        try withContents(of: name, maxByteCount: byteCount) { bytes in
            bytes.indices.allSatisfy { bytes[$0] == 0 }
        }
    }

    /// Overwrites a file with zeros, waits until they are on disk, then removes the file.
    ///
    /// On a journal or on flash the old bytes may survive elsewhere (spec/keys-and-states.md §4).
    ///
    /// - Throws: The codes of ``withContents(of:maxByteCount:_:)``; `diskFull`, `readOnly`.
    package func overwriteAndRemove(_ name: String) throws(SystemError) {
        let operation = "erase a file"
        let path = path(of: name)
        let file = try FileDescriptor(name, of: self, flags: O_WRONLY, during: operation)
        let status = try file.status(path: path, during: operation)
        try FileRules.checkFile(status, path: path, during: operation)
        let zeros = [UInt8](repeating: 0, count: 4096)
        let byteCount = Int(status.identity.byteCount)
        var offset = 0
        var code: Int32 = 0
        while code == 0, offset < byteCount {
            let count = min(zeros.count, byteCount - offset)
            code = file.writeAll(zeros.span.extracting(first: count), at: offset)
            offset += count
        }
        if code == 0, fsync(file.number) != 0 { code = errno }
        guard code == 0 else { throw SystemError(errno: code, during: operation, path: path) }
        try remove(name)
        try sync()
    }

    /// Renames a file: in one step for all readers, unless the file system has no rename to an
    /// unused name (``FileDescriptor/rename(_:toUnused:mayLink:)``). With `syncing`, the new name
    /// is on disk when this returns.
    ///
    /// - Throws: ``SystemError``: `missing`; `alreadyExists` unless `replacing`; `readOnly`, …
    package func rename(
        _ name: String, to newName: String, replacing: Bool, syncing: Bool = true
    ) throws(SystemError) {
        let code = descriptor.lend { folder in
            replacing
                ? folder.rename(name, to: newName)
                : folder.rename(name, toUnused: newName, mayLink: false)
        }
        guard code == 0 else {
            throw SystemError(errno: code, during: "rename a file", path: path(of: newName))
        }
        if syncing { try sync() }
    }

    /// Removes a file. The removal is on disk only after ``sync()``.
    ///
    /// - Throws: ``SystemError``: `missing`, `readOnly`, `cannotOpen`.
    package func remove(_ name: String) throws(SystemError) {
        guard unsafe unlinkat(descriptor.number, name, 0) == 0 else {
            throw SystemError(errno: errno, during: "remove a file", path: path(of: name))
        }
    }

    /// The names in the folder, sorted, without `.` and `..`.
    ///
    /// - Throws: ``SystemError``: `cannotOpen`, `inputOutput`.
    package func names() throws(SystemError) -> [String] {
        try Self.names(in: descriptor.number, path: path)
    }

    static func names(
        in folder: Int32, path: String
    ) throws(SystemError) -> [String] {
        let number = unsafe valet_openat(folder, ".", O_RDONLY | O_DIRECTORY, 0)
        guard number >= 0, let stream = unsafe fdopendir(number) else {
            throw SystemError(errno: errno, during: "list the folder", path: path)
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while true {
            // `readdir` returns null at the end and for an error; only `errno` tells them apart.
            errno = 0
            guard let entry = unsafe readdir(stream) else { break }
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        guard errno == 0 else {
            throw SystemError(errno: errno, during: "list the folder", path: path)
        }
        return names.sorted()
    }
}

extension PrivateDirectory {
    /// Creates a small file with all its contents. After a crash the file is complete or missing.
    ///
    /// Of several concurrent callers, one succeeds. The file has mode 0600 whatever the umask, and
    /// is on disk when this returns. `contents` are not copied anywhere else.
    ///
    /// - Throws: ``SystemError``: `alreadyExists`, `diskFull`, `readOnly`, `inputOutput`, …
    package func createFile(
        _ name: String, contents: Span<UInt8>
    ) throws(SystemError) {
        try createFile(name, contents: contents, unnamedFirst: true)
    }

    /// Creates an empty file of mode 0600 for SQLite, if possible without opening it.
    ///
    /// - Throws: ``SystemError``: `alreadyExists`, `diskFull`, `readOnly`, …
    package func createEmptyFile(_ name: String) throws(SystemError) {
        let path = path(of: name)
        if unsafe mknodat(descriptor.number, name, S_IFREG | 0o600, 0) != 0 {
            let code = errno
            guard FileDescriptor.isRefusal(code) else {
                throw SystemError(errno: code, during: "create a file", path: path)
            }
            // The file is new: there is no lock yet that closing it could drop.
            let file = FileDescriptor(
                owning: unsafe valet_openat(
                    descriptor.number, name, O_WRONLY | O_CREAT | O_EXCL, 0o600))
            guard file.number >= 0 else {
                throw SystemError(errno: errno, during: "create a file", path: path)
            }
        }
        guard unsafe fchmodat(descriptor.number, name, 0o600, 0) == 0 else {
            throw SystemError(errno: errno, during: "create a file", path: path)
        }
        try sync()
    }

    /// `unnamedFirst` is for tests: some file systems have no unnamed files.
    func createFile(
        _ name: String, contents: Span<UInt8>, unnamedFirst: Bool
    ) throws(SystemError) {
        let path = path(of: name)
        if unnamedFirst {
            let file = FileDescriptor(
                owning: valet_open_unnamed(descriptor.number, 0o600))
            let code = errno
            if file.number >= 0 {
                try fill(file, contents, path: path)
                let linking = link(file, as: name)
                if linking == 0 { return try sync() }
                guard linking != ENOENT, !FileDescriptor.isRefusal(linking) else {
                    return try createFromNamedFile(name, contents)
                }
                throw SystemError(errno: linking, during: "create a file", path: path)
            }
            guard FileDescriptor.hasNoUnnamedFiles(code) else {
                throw SystemError(errno: code, during: "create a file", path: path)
            }
        }
        try createFromNamedFile(name, contents)
    }

    /// The `errno` with which making a file in the folder of `path` fails; nil if a file can be
    /// made there.
    package static func reasonNoFileIsMade(beside path: String) -> Int32? {
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? "."
        let handle = FileDescriptor(
            owning: unsafe valet_open_folder_handle(AT_FDCWD, folder.isEmpty ? "/" : folder, 1))
        guard handle.number >= 0 else { return errno }
        let probe = FileDescriptor(owning: valet_open_unnamed(handle.number, 0o600))
        let code = errno
        guard probe.number < 0 else { return nil }
        var facts = statvfs()
        // Some file systems have no unnamed files, and some do not count files.
        if FileDescriptor.hasNoUnnamedFiles(code) {
            guard unsafe fstatvfs(handle.number, &facts) == 0, facts.f_files > 0,
                facts.f_favail == 0
            else { return nil }
            return ENOSPC
        }
        return code
    }

    /// Why this process may not write a file: `errno`; nil if nothing forbids it. Opens nothing.
    package static func reasonAgainstWriting(_ path: String) -> Int32? {
        unsafe faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? nil : errno
    }

    /// The mark in the names of temporary files.
    package static let temporaryMark = "new-"

    /// The prefix of temporary names for the file `name`.
    package static func temporaryPrefix(_ name: String) -> String { "\(name).\(temporaryMark)" }

    /// An unused temporary name for the file `name`.
    package static func temporaryName(_ name: String) -> String {
        // Random only to avoid collisions: O_EXCL keeps writers apart.
        temporaryPrefix(name) + String(UInt64.random(in: .min ... .max), radix: 16)
    }

    private func link(_ file: borrowing FileDescriptor, as name: String) -> Int32 {
        unsafe valet_link_unnamed(file.number, descriptor.number, name) == 0 ? 0 : errno
    }

    /// Makes a complete file under a temporary name, then renames it to `name`. After a crash,
    /// `doctor` finds it by its temporary name.
    private func createFromNamedFile(
        _ name: String, _ contents: Span<UInt8>
    ) throws(SystemError) {
        let temporary = Self.temporaryName(name)
        let file = try FileDescriptor(
            temporary, of: self, flags: O_WRONLY | O_CREAT | O_EXCL, during: "create a file")
        do {
            try fill(file, contents, path: path(of: temporary))
            try rename(temporary, to: name, replacing: false)
        } catch {
            // Report the first error.
            try? remove(temporary)
            throw error
        }
    }

    private func fill(
        _ file: borrowing FileDescriptor, _ contents: Span<UInt8>, path: String
    ) throws(SystemError) {
        var code = file.writeAll(contents)
        // Under a umask of 0777, the file was made without any permission bits.
        if code == 0, fchmod(file.number, 0o600) != 0 || fsync(file.number) != 0 { code = errno }
        guard code == 0 else {
            throw SystemError(errno: code, during: "write a file", path: path)
        }
    }
}

extension PrivateDirectory {
    /// Sets the times of the file `name`, and makes it if it does not exist. This notifies every
    /// ``FolderWatch`` of the folder.
    ///
    /// The file is never opened, and its contents do not matter.
    /// - Throws: ``SystemError``: `readOnly`, `diskFull`, `inputOutput`, the codes of
    ///   ``check(file:)``.
    package func touch(_ name: String) throws(SystemError) {
        if try check(file: name) == nil {
            do {
                return try createEmptyFile(name)
            } catch {
                // Another process made the file, perhaps before the event that this call reports:
                // its times must still be set.
                guard error.code == .alreadyExists else { throw error }
            }
        }
        guard unsafe utimensat(descriptor.number, name, nil, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw SystemError(errno: errno, during: "touch a file", path: path(of: name))
        }
    }
}
