// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// An open file. Dropping it closes it.
///
/// Never one of SQLite's files: closing any descriptor of those drops the process's locks.
struct FileDescriptor: ~Copyable {
    let number: Int32

    /// Takes over an open descriptor.
    init(owning number: Int32) {
        self.number = number
    }

    /// Opens the file `name` of `folder`; symbolic links are refused, descriptors die on `exec`.
    init(
        _ name: String, of folder: PrivateDirectory, flags: Int32, during operation: String
    ) throws(SystemError) {
        // O_NONBLOCK: a FIFO in place of the file must not hang us; `status` refuses it.
        let number = unsafe valet_openat(
            folder.descriptor.number, name, flags | O_NONBLOCK, 0o600)
        guard number >= 0 else {
            let code = errno
            let quoted = folder.path(of: name).quotedForShell
            let hint: String? =
                switch code {
                case EACCES: "chmod 600 \(quoted)"
                case ELOOP: "put the file itself at \(quoted)"
                case EISDIR, ENXIO: "move \(quoted) away"
                default: nil
                }
            throw SystemError(
                errno: code, during: operation, path: folder.path(of: name), hint: hint)
        }
        self.number = number
    }

    func status() -> stat {
        var status = stat()
        // Cannot fail for a descriptor of our own; zeros are refused by every check.
        unsafe fstat(number, &status)
        return status
    }

    /// Writes all bytes from `offset` on.
    ///
    /// - Returns: `errno`, or 0.
    func writeAll(_ bytes: Span<UInt8>, at offset: Int = 0) -> Int32 {
        unsafe bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[done...])
                let count = unsafe pwrite(number, rest.baseAddress, rest.count, offset + done)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return count < 0 ? errno : EIO }
                done += count
            }
            return 0
        }
    }

    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// - Returns: How many bytes there were, or −`errno`.
    func readAll(into buffer: UnsafeMutableRawBufferPointer, at offset: Int = 0) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = unsafe pread(number, rest.baseAddress, rest.count, offset + done)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return -Int(errno) }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Gives a file in this folder another name, in place of the file that has it.
    ///
    /// - Returns: `errno`, or 0.
    func rename(_ name: String, to newName: String) -> Int32 {
        unsafe renameat(number, name, number, newName) == 0 ? 0 : errno
    }

    /// Gives a file in this folder another name, which nothing may have.
    ///
    /// Some file systems and sandboxes refuse the call for that. Then a link gives the name, or an
    /// empty file takes it and makes way; a crash in between leaves that file or both names.
    /// - Parameter mayLink: Whether the file may have two names for a moment.
    /// - Returns: `errno`, or 0; `EEXIST` if something has the name.
    func rename(_ name: String, toUnused newName: String, mayLink: Bool) -> Int32 {
        if unsafe valet_rename_without_replacing(number, name, newName) == 0 { return 0 }
        guard Self.isRefusal(errno) else { return errno }
        if mayLink {
            if unsafe linkat(number, name, number, newName, 0) == 0 {
                return unsafe unlinkat(number, name, 0) == 0 ? 0 : errno
            }
            guard Self.isRefusal(errno) else { return errno }
        }
        // Of all that try, one makes the file; only that one renames over it.
        let place = FileDescriptor(
            owning: unsafe valet_openat(number, newName, O_WRONLY | O_CREAT | O_EXCL, 0o600))
        guard place.number >= 0 else { return errno }
        let code = rename(name, to: newName)
        if code != 0 { unsafe _ = unlinkat(number, newName, 0) }
        return code
    }

    /// Whether a call is not known or not allowed here, so that another may do the same.
    static func isRefusal(_ code: Int32) -> Bool {
        [EINVAL, ENOSYS, EPERM, EOPNOTSUPP, EXDEV, EMLINK].contains(code)
    }

    deinit {
        // A caller that is about to report a failure reads `errno` after this.
        let reported = errno
        if number >= 0 { close(number) }
        errno = reported
    }
}

extension FileDescriptor {
    /// Lends all bytes of the file, then wipes the memory that held them.
    ///
    /// - Throws: ``SystemError``: `tooLarge` above `maxByteCount`, `inputOutput`.
    func withContents<R: ~Copyable>(
        maxByteCount: Int, path: String, during operation: String, _ body: (Span<UInt8>) -> R
    ) throws(SystemError) -> R {
        // One byte more than allowed: that it is filled tells that the file is too large.
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: maxByteCount + 1, alignment: 16)
        defer {
            if let start = memory.baseAddress { unsafe explicit_bzero(start, memory.count) }
            unsafe memory.deallocate()
        }
        let count = unsafe readAll(into: memory)
        guard count >= 0 else {
            throw SystemError(errno: Int32(-count), during: operation, path: path)
        }
        guard count <= maxByteCount else {
            throw SystemError(.tooLarge, during: operation, path: path)
        }
        return unsafe body(Span(_unsafeBytes: UnsafeRawBufferPointer(rebasing: memory[..<count])))
    }
}
