// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Files and folders that a person names for reading, whatever their owner and kind: a pipe of the
/// shell, an export of a browser. `valet import` reads them.
package enum PathAndFile {
    /// Opens a file for reading. A named pipe waits for its writer.
    ///
    /// - Throws: ``SystemError``, with the system's reason.
    package static func open(_ path: String) throws(SystemError) -> FileDescriptor {
        let file = FileDescriptor(
            owning: unsafe valet_open(path, O_RDONLY | O_NOCTTY))
        guard file.number >= 0 else {
            throw SystemError(errno: errno, during: "read a file", path: path)
        }
        return file
    }

    /// Whether an open descriptor is a regular file that other users may read.
    package static func isReadableByOthers(_ descriptor: Int32) -> Bool {
        let status = FileStatus(of: descriptor)
        return status.type == S_IFREG && status.mode & 0o044 != 0
    }

    /// The entries of a folder, in the order of the names; nil for a folder that cannot be read.
    package static func entries(of folder: String) -> [FolderEntry]? {
        guard let handle = unsafe opendir(folder) else { return nil }
        defer { unsafe closedir(handle) }
        var names: [[UInt8]] = []
        errno = 0
        while let entry = unsafe readdir(handle) {
            names.append(
                unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    unsafe Array(bytes.prefix { $0 != 0 })
                })
            errno = 0
        }
        guard errno == 0 else { return nil }
        return names.sorted { $0.lexicographicallyPrecedes($1) }
            .filter { $0 != Array(".".utf8) && $0 != Array("..".utf8) }
            .map { FolderEntry($0, in: folder) }
    }
}

/// A name in a folder, and what it leads to.
package struct FolderEntry: Sendable {
    /// The kind of file to which a name leads, through symbolic links.
    package enum Kind: Hashable, Sendable {
        case file, folder
        /// A pipe, a socket or a device.
        case special
        /// A link that leads nowhere, or an entry that was removed.
        case nothing
    }

    /// The name; for a name that is not UTF-8, text that shows it.
    package let name: String
    package let isText: Bool
    package let isLink: Bool
    /// What it leads to. A name that is not UTF-8 leads to nothing.
    package let kind: Kind

    fileprivate init(_ bytes: [UInt8], in folder: String) {
        guard let name = String(validating: bytes, as: UTF8.self) else {
            self.init(String(decoding: bytes, as: UTF8.self), isText: false, .nothing)
            return
        }
        let path = "\(folder)/\(name)"
        let kind: Kind =
            switch FileStatus(at: path, followingLink: true)?.type {
            case S_IFDIR: .folder
            case S_IFREG: .file
            case nil: .nothing
            default: .special
            }
        self.init(name, isLink: FileStatus(at: path)?.type == S_IFLNK, kind)
    }

    package init(_ name: String, isText: Bool = true, isLink: Bool = false, _ kind: Kind) {
        (self.name, self.isText, self.isLink, self.kind) = (name, isText, isLink, kind)
    }
}
