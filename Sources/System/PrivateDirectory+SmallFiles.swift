// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

extension PrivateDirectory {
    /// Lends the contents of a small file, then wipes the memory that held them.
    ///
    /// - Returns: What `body` returns; a `Result`, if it can fail.
    /// - Throws: ``SystemError``: `missing`, `tooLarge` above `maxByteCount`, what
    ///   ``check(file:)`` throws, `cannotOpen`, `inputOutput`.
    package func withContents<R: ~Copyable>(
        of name: String, maxByteCount: Int, _ body: (Span<UInt8>) -> R
    ) throws(SystemError) -> R {
        let operation = "read a file"
        let path = path(of: name)
        let file = try FileDescriptor(name, of: self, flags: O_RDONLY, during: operation)
        let status = file.status()
        try FileRules.checkFile(status, path: path, during: operation)
        return try file.withContents(
            maxByteCount: maxByteCount, path: path, during: operation, body)
    }

    /// Whether a file holds nothing but zeros: for a log that nobody can write to.
    ///
    /// SQLite locks the log's index and the database, never the log: closing it drops no lock.
    /// - Throws: As ``withContents(of:maxByteCount:_:)``.
    package func isBlank(_ name: String, byteCount: Int) throws(SystemError) -> Bool {
        try withContents(of: name, maxByteCount: byteCount) { bytes in
            bytes.indices.allSatisfy { bytes[$0] == 0 }
        }
    }

    /// Overwrites a file with zeros, puts that on disk, then removes it for good.
    ///
    /// On a journal or on flash the old bytes may survive elsewhere (spec/keys-and-states.md §4).
    ///
    /// - Throws: As ``withContents(of:maxByteCount:_:)``; `diskFull`, `readOnly`.
    package func overwriteAndRemove(_ name: String) throws(SystemError) {
        let operation = "erase a file"
        let path = path(of: name)
        let file = try FileDescriptor(name, of: self, flags: O_WRONLY, during: operation)
        let status = file.status()
        try FileRules.checkFile(status, path: path, during: operation)
        let zeros = [UInt8](repeating: 0, count: 4096)
        var offset = 0
        var code: Int32 = 0
        while code == 0, offset < status.st_size {
            let count = min(zeros.count, Int(status.st_size) - offset)
            code = file.writeAll(zeros.span.extracting(first: count), at: offset)
            offset += count
        }
        if code == 0, fsync(file.number) != 0 { code = errno }
        guard code == 0 else { throw SystemError(errno: code, during: operation, path: path) }
        try remove(name)
        try sync()
    }

    /// Gives a file another name. It is on disk when this returns.
    ///
    /// - Throws: ``SystemError``: `missing`; `alreadyExists` unless `replacing`; `readOnly`, …
    package func rename(
        _ name: String, to newName: String, replacing: Bool
    ) throws(SystemError) {
        try rename(name, to: newName, replacing: replacing, removingOnFailure: false)
    }

    /// Removes a name. It is on disk only after ``sync()``.
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
            // The end and a failure look the same but for this.
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

    func rename(
        _ name: String, to newName: String, replacing: Bool, removingOnFailure: Bool
    ) throws(SystemError) {
        let code = descriptor.lend { folder in
            replacing
                ? folder.rename(name, to: newName)
                : folder.rename(name, toUnused: newName, mayLink: false)
        }
        guard code == 0 else {
            // The first error is the one to report.
            if removingOnFailure { try? remove(name) }
            throw SystemError(errno: code, during: "rename a file", path: path(of: newName))
        }
        try sync()
    }
}
