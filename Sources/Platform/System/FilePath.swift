// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Questions to the file system about a path. `KeychainServices` uses them for programs, and for
/// the files that name programs.
package enum FilePath {
    /// The target of a symbolic link, as stored in the link; nil if `path` is not a link.
    package static func target(ofLink path: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe buffer.withUnsafeMutableBytes { buffer in
            unsafe buffer.baseAddress.map { unsafe readlink(path, $0, buffer.count) } ?? -1
        }
        guard count > 0, count < buffer.count else { return nil }
        return String(validating: buffer[..<count], as: UTF8.self)
    }

    /// The absolute path without symbolic links; nil for a path that leads nowhere, or that is not
    /// UTF-8.
    package static func resolved(_ path: String) -> String? {
        guard let found = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(found) }
        return unsafe String(validatingCString: found)
    }

    /// Whether there is a regular file at `path`, or a link to one.
    package static func isRegularFile(_ path: String) -> Bool {
        FileStatus(at: path, followingLink: true)?.type == S_IFREG
    }

    /// Throws if the kernel finds nothing at `path` only because a symbolic link leads nowhere: the
    /// file may be on a disk that is away.
    ///
    /// - Parameter isFollowed: Whether the kernel would have followed a link at `path` itself.
    /// - Throws: ``SystemError``: `cannotOpen` for such a link; what the kernel refuses with.
    static func checkAbsence(
        of path: String, following isFollowed: Bool = true, during operation: String
    ) throws(SystemError) {
        var way = path.utf8[...]
        if !isFollowed { way = way[..<(way.lastIndex(of: UInt8(ascii: "/")) ?? way.startIndex)] }
        while !way.isEmpty {
            let place = String(Substring(way))
            if let found = FileStatus(at: place) {
                guard found.type == S_IFLNK, FileStatus(at: place, followingLink: true) == nil
                else { return }
                throw SystemError(
                    .cannotOpen, during: operation, path: path,
                    hint: "the link \(place.quotedForShell) leads nowhere: put back what it leads "
                        + "to, or remove it")
            }
            guard errno == ENOENT || errno == ENOTDIR else {
                throw SystemError(errno: errno, during: operation, path: place)
            }
            way = way[..<(way.lastIndex(of: UInt8(ascii: "/")) ?? way.startIndex)]
        }
    }

    /// When the file at `path` was made, in seconds since 1970; nil for no file, and where the file
    /// system does not know.
    package static func birth(of path: String) -> Int64? {
        var seconds: Int64 = 0
        return unsafe valet_read_birth(path, &seconds) == 0 ? seconds : nil
    }

    /// Makes a folder, and the folders around it that do not exist, as ``makePublicFolder(at:)``
    /// does.
    package static func makePublicFolders(to path: String) throws(SystemError) {
        var folder = ""
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            folder += "/" + String(Substring(part))
            if FileStatus(at: folder, followingLink: true)?.type == S_IFDIR { continue }
            try makePublicFolder(at: folder)
        }
    }

    /// Deletes a file.
    ///
    /// - Returns: false if there is none.
    package static func remove(_ path: String) throws(SystemError) -> Bool {
        if unsafe unlink(path) == 0 { return true }
        if errno == ENOENT { return false }
        throw SystemError(errno: errno, during: "delete a file", path: path)
    }

    /// Makes a folder that everybody may read, whatever the umask; does nothing if there is one.
    ///
    /// - Throws: ``SystemError``: `missing` without the folder around it, `cannotOpen`,
    ///   `readOnly`, `diskFull`; `notADirectory` for a file.
    package static func makePublicFolder(at path: String) throws(SystemError) {
        let operation = "make a folder"
        if unsafe mkdir(path, 0o755) == 0 {
            guard unsafe chmod(path, 0o755) == 0 else {
                throw SystemError(errno: errno, during: operation, path: path)
            }
            return
        }
        let code = errno
        guard code == EEXIST else {
            throw SystemError(errno: code, during: operation, path: path)
        }
        guard FileStatus(at: path, followingLink: true)?.type == S_IFDIR else {
            throw SystemError(.notADirectory, during: operation, path: path)
        }
    }
}
