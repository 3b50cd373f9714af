// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

extension PrivateDirectory {
    /// Creates a small file with all its contents: after a crash it is whole or not there.
    ///
    /// Of any number that try at once, one succeeds. It has mode 0600 whatever the umask, and is
    /// on disk when this returns. `contents` are not kept anywhere else.
    ///
    /// - Throws: ``SystemError``: `alreadyExists`, `diskFull`, `readOnly`, `inputOutput`, …
    package func createFile(
        _ name: String, contents: Span<UInt8>
    ) throws(SystemError) {
        try createFile(name, contents: contents, unnamedFirst: true)
    }

    /// Creates a file of no bytes and mode 0600, where that is possible without opening it: for
    /// SQLite to fill.
    ///
    /// - Throws: ``SystemError``: `alreadyExists`, `diskFull`, `readOnly`, …
    package func createEmptyFile(_ name: String) throws(SystemError) {
        let path = path(of: name)
        if unsafe mknodat(descriptor.number, name, S_IFREG | 0o600, 0) != 0 {
            let code = errno
            guard FileDescriptor.isRefusal(code) else {
                throw SystemError(errno: code, during: "create a file", path: path)
            }
            // Nobody has a lock yet that closing it would drop.
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

    /// `unnamedFirst` is for tests: some file systems know no unnamed files.
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
            guard [EOPNOTSUPP, EISDIR, EINVAL, ENOENT].contains(code) else {
                throw SystemError(errno: code, during: "create a file", path: path)
            }
        }
        try createFromNamedFile(name, contents)
    }

    /// Why no file can be made beside the one at `path`, as `errno`; nil if one can.
    package static func reasonNoFileIsMade(beside path: String) -> Int32? {
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? "."
        let handle = FileDescriptor(
            owning: unsafe valet_open_folder_handle(AT_FDCWD, folder.isEmpty ? "/" : folder, 1))
        guard handle.number >= 0 else { return errno }
        let probe = FileDescriptor(owning: valet_open_unnamed(handle.number, 0o600))
        let code = errno
        guard probe.number < 0 else { return nil }
        var facts = statvfs()
        // Some file systems know no unnamed files, and some do not count files.
        if [EOPNOTSUPP, EISDIR, EINVAL, ENOENT].contains(code) {
            guard unsafe fstatvfs(handle.number, &facts) == 0, facts.f_files > 0,
                facts.f_favail == 0
            else { return nil }
            return ENOSPC
        }
        return code
    }

    /// What the last part of such names begins with.
    package static let temporaryMark = "new-"

    /// What temporary names of what is to be called `name` begin with.
    package static func temporaryPrefix(_ name: String) -> String { "\(name).\(temporaryMark)" }

    /// A name that nothing has, for what is to be called `name`.
    package static func temporaryName(_ name: String) -> String {
        // Only to be unlike other names: O_EXCL is what keeps writers apart.
        temporaryPrefix(name) + String(UInt64.random(in: .min ... .max), radix: 16)
    }

    private func link(_ file: borrowing FileDescriptor, as name: String) -> Int32 {
        unsafe valet_link_unnamed(file.number, descriptor.number, name) == 0 ? 0 : errno
    }

    private func createFromNamedFile(
        _ name: String, _ contents: Span<UInt8>
    ) throws(SystemError) {
        let temporary = try writeTemporaryFile(contents, for: name)
        try rename(temporary, to: name, replacing: false, removingOnFailure: true)
    }

    /// Leaves a complete file beside `name`; after a crash `doctor` finds it by its name.
    private func writeTemporaryFile(
        _ contents: Span<UInt8>, for name: String
    ) throws(SystemError) -> String {
        let temporary = Self.temporaryName(name)
        let file = try FileDescriptor(
            temporary, of: self, flags: O_WRONLY | O_CREAT | O_EXCL, during: "create a file")
        do throws(SystemError) {
            try fill(file, contents, path: path(of: temporary))
        } catch {
            // The first error is the one to report.
            try? remove(temporary)
            throw error
        }
        return temporary
    }

    private func fill(
        _ file: borrowing FileDescriptor, _ contents: Span<UInt8>, path: String
    ) throws(SystemError) {
        var code = file.writeAll(contents)
        // Zero permission bits are left under a umask of 0777.
        if code == 0, fchmod(file.number, 0o600) != 0 || fsync(file.number) != 0 { code = errno }
        guard code == 0 else {
            throw SystemError(errno: code, during: "write a file", path: path)
        }
    }
}
