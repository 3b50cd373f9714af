// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A file that is written piece by piece, and gets its name once it is complete and on disk.
///
/// It may be in any folder, and has mode 0600 or 0644 whatever the umask. Dropping it without
/// ``commit()`` leaves no file behind. A crash leaves none either, with two exceptions: on file
/// systems without unnamed files, and while one file replaces another, `.NAME.new-HEX` may remain.
package struct AtomicFile: ~Copyable {
    /// The path that it will have, as it was given.
    package let path: String
    package private(set) var byteCount = 0

    /// The descriptor that ``commit()`` sends the bytes to; nil if they stay in a file.
    private let output: Int32?
    private let isReplacing: Bool
    private let permissions: mode_t
    private let folder: FileDescriptor
    private let name: String
    private let file: FileDescriptor
    /// Its temporary name; nil for an unnamed file.
    private var temporary: String?
    private var failure: SystemError?

    /// Starts the file that will be at `path`.
    ///
    /// - Parameters:
    ///   - replacing: Whether it may replace an existing file.
    ///   - isPublic: Whether all users may read it.
    /// - Throws: ``SystemError``: `alreadyExists` unless `replacing`; `symbolicLink`,
    ///   `notARegularFile`, which are never replaced; `missing`, `notADirectory`, `cannotOpen`,
    ///   `readOnly`, `diskFull` of the folder; `misuse` for a path without a file's name.
    package init(
        at path: String, replacing: Bool, isPublic: Bool = false
    ) throws(SystemError) {
        try self.init(at: path, replacing: replacing, isPublic: isPublic, unnamedFirst: true)
    }

    /// `unnamedFirst` is for tests: some file systems have no unnamed files.
    init(
        at path: String, replacing: Bool, isPublic: Bool = false, unnamedFirst: Bool
    ) throws(SystemError) {
        let (folderPath, name) = try Self.split(path)
        let folder = try Self.openFolder(folderPath, for: path)
        try Self.checkPlace(name, in: folder, path: path, replacing: replacing)
        var file = FileDescriptor(owning: -1)
        if unnamedFirst, Self.canNameUnnamed(in: folder, for: name) {
            file = FileDescriptor(owning: valet_open_unnamed(folder.number, 0o600))
            let code = errno
            guard file.number >= 0 || FileDescriptor.hasNoUnnamedFiles(code) else {
                throw SystemError(errno: code, during: Self.operation, path: path)
            }
        }
        var temporary: String?
        if file.number < 0 {
            let unused = Self.temporaryName(for: name)
            file = FileDescriptor(
                owning: unsafe valet_openat(
                    folder.number, unused, O_WRONLY | O_CREAT | O_EXCL, 0o600))
            guard file.number >= 0 else {
                throw SystemError(errno: errno, during: Self.operation, path: path)
            }
            temporary = unused
        }
        self.path = path
        output = nil
        self.isReplacing = replacing
        permissions = isPublic ? 0o644 : 0o600
        self.name = name
        self.folder = folder
        self.file = file
        self.temporary = temporary
    }

    /// Collects bytes for a descriptor. ``commit()`` sends them once they are complete: a failure
    /// before that sends nothing.
    package init(sendingTo output: Int32) throws(SystemError) {
        path = "standard output"
        self.output = output
        (isReplacing, permissions, name) = (false, 0o600, "")
        folder = FileDescriptor(owning: -1)
        file = try FileDescriptor.unnamed(in: ["/var/tmp", "/tmp"], during: Self.operation)
    }

    /// Appends `bytes`.
    ///
    /// - Throws: ``SystemError``: `diskFull`, also at the limit for files, `inputOutput`. After
    ///   an error every call throws it again.
    package mutating func append(_ bytes: Span<UInt8>) throws(SystemError) {
        if let failure { throw failure }
        let code = file.writeAll(bytes, at: byteCount)
        guard code == 0 else { throw fail(code) }
        byteCount += bytes.count
    }

    /// Syncs the file and gives it its name.
    ///
    /// - Returns: Why the folder could not be synced; nil if it was. The file is there, and
    ///   complete, but a power cut may take its name away.
    /// - Throws: ``SystemError``, and then no file is left behind: `alreadyExists` unless
    ///   `replacing`; an error of ``append(_:)``; `diskFull`, `inputOutput`, `symbolicLink`,
    ///   `notARegularFile`.
    @discardableResult
    package consuming func commit() throws(SystemError) -> SystemError? {
        if let failure { throw failure }
        if let output {
            try send(to: output)
            return nil
        }
        // Under a umask of 0777 the file has no permission bits so far.
        guard fchmod(file.number, permissions) == 0, fsync(file.number) == 0 else {
            throw fail(errno)
        }
        try Self.checkPlace(name, in: folder, path: path, replacing: isReplacing)
        if temporary == nil, !isReplacing {
            guard link(as: name) == 0 else { throw fail(errno) }
        } else {
            try takeName()
        }
        // Some file systems cannot sync a folder.
        return fsync(folder.number) == 0 || errno == EINVAL ? nil : fail(errno)
    }

    deinit {
        if let temporary { unsafe _ = unlinkat(folder.number, temporary, 0) }
    }
}

extension AtomicFile {
    private static let operation = "write a file"

    private mutating func fail(_ code: Int32) -> SystemError {
        let error = SystemError(errno: code, during: Self.operation, path: path)
        failure = error
        return error
    }

    private mutating func send(to output: Int32) throws(SystemError) {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var offset = 0
        while offset < byteCount {
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe file.readAll(into: $0, at: offset)
            }
            guard count > 0 else { throw fail(count < 0 ? Int32(-count) : EIO) }
            let code = FileDescriptor.write(buffer.span.extracting(first: count), to: output)
            guard code == 0 else { throw fail(code) }
            offset += count
        }
    }

    private mutating func takeName() throws(SystemError) {
        if temporary == nil {
            let unused = Self.temporaryName(for: name)
            guard link(as: unused) == 0 else { throw fail(errno) }
            temporary = unused
        }
        guard let temporary else { return }
        let code =
            isReplacing
            ? folder.rename(temporary, to: name)
            : folder.rename(temporary, toUnused: name, mayLink: true)
        guard code == 0 else { throw fail(code) }
        self.temporary = nil
    }

    private func link(as name: String) -> Int32 {
        unsafe valet_link_unnamed(file.number, folder.number, name)
    }

    /// Whether an unnamed file in the folder can get a name. Tries it with an empty file, because
    /// the contents of a file that cannot get a name are lost.
    private static func canNameUnnamed(
        in folder: borrowing FileDescriptor, for name: String
    ) -> Bool {
        let probe = FileDescriptor(owning: valet_open_unnamed(folder.number, 0o600))
        let unused = temporaryName(for: name)
        guard probe.number >= 0,
            unsafe valet_link_unnamed(probe.number, folder.number, unused) == 0
        else { return false }
        return unsafe unlinkat(folder.number, unused, 0) == 0
    }

    /// Random only to avoid collisions: `O_EXCL` keeps writers apart.
    private static func temporaryName(for name: String) -> String {
        // A name has at most 255 bytes; the temporary one must fit, too.
        let scalars = name.unicodeScalars.prefix(50)  // of at most four bytes each
        return "." + PrivateDirectory.temporaryName(String(String.UnicodeScalarView(scalars)))
    }

    private static func split(
        _ path: String
    ) throws(SystemError) -> (folder: String, name: String) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let name = String(slash.map { path[path.utf8.index(after: $0)...] } ?? path[...])
        guard !["", ".", ".."].contains(name), !path.utf8.contains(0) else {
            throw SystemError(
                .misuse, during: operation, path: path, hint: "give the name of a file")
        }
        guard let slash else { return (".", name) }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), name)
    }

    /// Opens the folder for reading: a folder that is open as `O_PATH` cannot be synced.
    private static func openFolder(
        _ folder: String, for path: String
    ) throws(SystemError) -> FileDescriptor {
        let handle = FileDescriptor(
            owning: unsafe valet_open(folder, O_RDONLY | O_DIRECTORY))
        guard handle.number >= 0 else {
            throw SystemError(errno: errno, during: "open the folder of a file", path: path)
        }
        return handle
    }

    private static func checkPlace(
        _ name: String, in folder: borrowing FileDescriptor, path: String, replacing: Bool
    ) throws(SystemError) {
        guard let status = FileStatus(of: name, in: folder.number) else {
            if errno == ENOENT { return }
            throw SystemError(errno: errno, during: operation, path: path)
        }
        let code: SystemError.Code? =
            switch status.type {
            case S_IFLNK: .symbolicLink
            case S_IFREG: replacing ? nil : .alreadyExists
            default: .notARegularFile
            }
        if let code { throw SystemError(code, during: operation, path: path) }
    }
}
