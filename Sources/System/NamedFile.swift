// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Files and folders that a person names for reading, whatever their owner and kind: a pipe of the
/// shell, an export of a browser. `valet import` reads them.
package enum NamedFile {
    /// Opens a file for reading. A named pipe waits for its writer.
    ///
    /// - Throws: ``SystemError``, with the system's reason.
    package static func open(_ path: String) throws(SystemError) -> FileDescriptor {
        let file = FileDescriptor(
            owning: unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY))
        guard file.number >= 0 else {
            throw SystemError(errno: errno, during: "read a file", path: path)
        }
        return file
    }

    /// The names in a folder that are UTF-8, and whether each is a folder, and no link to one.
    ///
    /// - Returns: nil for a folder that cannot be read.
    package static func entries(of folder: String) -> [(name: String, isFolder: Bool)]? {
        guard let handle = unsafe opendir(folder) else { return nil }
        defer { unsafe closedir(handle) }
        var entries: [(String, Bool)] = []
        while let entry = unsafe readdir(handle) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let name, let status = FileStatus(at: "\(folder)/\(name)") else { continue }
            entries.append((name, status.type == S_IFDIR))
        }
        return entries
    }
}
