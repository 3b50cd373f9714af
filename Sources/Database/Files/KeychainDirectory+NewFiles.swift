// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc

extension KeychainDirectory {
    /// Creates a small file with all its contents: after a crash it is whole or not there.
    ///
    /// Of any number that try at once, one succeeds. It has mode 0600 whatever the umask, and is
    /// on disk when this returns. `contents` are not kept anywhere else.
    ///
    /// - Throws: ``DatabaseError``: `alreadyExists`, `diskFull`, `readOnly`, `inputOutput`, …
    package func createFile(
        _ name: String, contents: Span<UInt8>
    ) throws(DatabaseError) {
        try createFile(name, contents: contents, unnamedFirst: true)
    }

    /// Creates a file of no bytes and mode 0600 without ever opening it: for SQLite to fill.
    ///
    /// - Throws: ``DatabaseError``: `alreadyExists`, `diskFull`, `readOnly`, …
    func createEmptyFile(_ name: String) throws(DatabaseError) {
        let path = path(of: name)
        guard unsafe mknodat(descriptor.number, name, S_IFREG | 0o600, 0) == 0,
            unsafe fchmodat(descriptor.number, name, 0o600, 0) == 0
        else { throw DatabaseError(errno: errno, during: "create a file", path: path) }
        try sync()
    }

    /// `unnamedFirst` is for tests: some file systems know no unnamed files.
    func createFile(
        _ name: String, contents: Span<UInt8>, unnamedFirst: Bool
    ) throws(DatabaseError) {
        let path = path(of: name)
        if unnamedFirst {
            let file = FileDescriptor(
                owning: valet_open_unnamed(descriptor.number, 0o600))
            let code = errno
            if file.number >= 0 {
                try fill(file, contents, path: path)
                let linking = link(file, as: name)
                if linking == 0 { return try sync() }
                guard ![ENOENT, EPERM].contains(linking) else {
                    return try createFromNamedFile(name, contents)
                }
                throw DatabaseError(errno: linking, during: "create a file", path: path)
            }
            guard [EOPNOTSUPP, EISDIR, EINVAL, ENOENT].contains(code) else {
                throw DatabaseError(errno: code, during: "create a file", path: path)
            }
        }
        try createFromNamedFile(name, contents)
    }

    /// What the last part of such names begins with.
    package static let temporaryMark = "new-"

    /// A name that nothing has, for what is to be called `name`.
    package static func temporaryName(_ name: String) -> String {
        // Only to be unlike other names: O_EXCL is what keeps writers apart.
        "\(name).\(temporaryMark)" + String(UInt64.random(in: .min ... .max), radix: 16)
    }

    private func link(_ file: borrowing FileDescriptor, as name: String) -> Int32 {
        unsafe valet_link_unnamed(file.number, descriptor.number, name) == 0 ? 0 : errno
    }

    private func createFromNamedFile(
        _ name: String, _ contents: Span<UInt8>
    ) throws(DatabaseError) {
        let temporary = try writeTemporaryFile(contents, for: name)
        try rename(temporary, to: name, replacing: false, removingOnFailure: true)
    }

    /// Leaves a complete file beside `name`; after a crash `doctor` finds it by its name.
    private func writeTemporaryFile(
        _ contents: Span<UInt8>, for name: String
    ) throws(DatabaseError) -> String {
        let temporary = Self.temporaryName(name)
        let file = try FileDescriptor(
            temporary, of: self, flags: O_WRONLY | O_CREAT | O_EXCL, during: "create a file")
        do throws(DatabaseError) {
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
    ) throws(DatabaseError) {
        var code = file.writeAll(contents)
        // Zero permission bits are left under a umask of 0777.
        if code == 0, fchmod(file.number, 0o600) != 0 || fsync(file.number) != 0 { code = errno }
        guard code == 0 else {
            throw DatabaseError(errno: code, during: "write a file", path: path)
        }
    }
}
