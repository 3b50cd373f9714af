// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Bytes that are written once and then read once in the same order. They are in memory up to a
/// limit, and beyond it in a file without a name, which disappears with the process.
///
/// Only for bytes that are not secret: neither memory nor file is wiped.
package struct Spool: ~Copyable {
    private static let operation = "spool rows"

    private let memoryByteCount: Int
    private let folders: [String]
    private var buffer: [UInt8] = []
    private var file: FileDescriptor?
    /// The size of the file.
    private var fileByteCount = 0
    private var readByteCount = 0

    /// Starts with no bytes. The file is made when it is needed.
    ///
    /// - Parameters:
    ///   - memoryByteCount: The limit of bytes in memory.
    ///   - folders: Where the file may be, in order of preference.
    package init(memoryByteCount: Int, folders: [String]) {
        self.memoryByteCount = memoryByteCount
        self.folders = folders
    }

    /// Appends `bytes`. Must not be called after ``read(_:)``.
    ///
    /// - Throws: ``SystemError``: `diskFull`, `inputOutput`, `cannotOpen`.
    package mutating func append(_ bytes: [UInt8]) throws(SystemError) {
        buffer += bytes
        if buffer.count >= memoryByteCount { try flush() }
    }

    /// Reads the next `count` bytes; fewer at the end.
    ///
    /// - Throws: ``SystemError/Code/inputOutput``, and the codes of ``append(_:)``.
    package mutating func read(_ count: Int) throws(SystemError) -> [UInt8] {
        if file == nil {
            let end = min(buffer.count, readByteCount + count)
            defer { readByteCount = end }
            return Array(buffer[readByteCount..<end])
        }
        if !buffer.isEmpty { try flush() }
        var bytes = [UInt8](repeating: 0, count: min(count, fileByteCount - readByteCount))
        let offset = readByteCount
        var done = -Int(EBADF)
        switch file {
        case .some(let file):
            done = unsafe bytes.withUnsafeMutableBytes { unsafe file.readAll(into: $0, at: offset) }
        case .none: break
        }
        guard done == bytes.count else {
            throw SystemError(
                errno: done < 0 ? Int32(-done) : EIO, during: Self.operation, path: nil)
        }
        readByteCount += done
        return bytes
    }

    private mutating func flush() throws(SystemError) {
        if file == nil {
            file = try FileDescriptor.unnamed(in: folders, during: Self.operation)
        }
        var code: Int32 = EBADF
        switch file {
        case .some(let file): code = file.writeAll(buffer.span, at: fileByteCount)
        case .none: break
        }
        guard code == 0 else {
            throw SystemError(errno: code, during: Self.operation, path: nil)
        }
        fileByteCount += buffer.count
        buffer.removeAll(keepingCapacity: true)
    }
}

extension FileDescriptor {
    /// Makes a file without a name, which disappears with the process, in the first of `folders`
    /// where that is possible.
    static func unnamed(
        in folders: [String], during operation: String
    ) throws(SystemError) -> FileDescriptor {
        var failure = SystemError(.cannotOpen, during: operation)
        for path in folders {
            let folder = FileDescriptor(owning: unsafe valet_open_folder_handle(AT_FDCWD, path, 1))
            guard folder.number >= 0 else {
                failure = SystemError(errno: errno, during: operation, path: path)
                continue
            }
            let unnamed = FileDescriptor(owning: valet_open_unnamed(folder.number, 0o600))
            if unnamed.number >= 0 { return unnamed }
            // The file system may have no unnamed files: the file gets a name and loses it at once.
            let name = PrivateDirectory.temporaryName(".valet-spool")
            let named = FileDescriptor(
                owning: unsafe valet_openat(
                    folder.number, name, O_RDWR | O_CREAT | O_EXCL, 0o600))
            if named.number >= 0, unsafe unlinkat(folder.number, name, 0) == 0 { return named }
            failure = SystemError(errno: errno, during: operation, path: path)
        }
        throw failure
    }
}
