// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A small file of the user that stays open, to be read and changed in place. Processes share
/// opened keys through such files.
///
/// It is a regular file with one name and mode 0600, not a symbolic link. Never open one of
/// SQLite's files: closing any descriptor of those drops this process's locks.
package final class OpenFile: Sendable {
    package enum Access: Sendable {
        case reading
        /// Reads and changes it; it must exist.
        case changing
        /// Reads and changes it; makes it if it does not exist.
        case making
        /// Makes it; it must not exist.
        case makingAnew
    }

    package let path: String
    /// Identifies the file; with its size at opening.
    package let identity: FileIdentity
    private let number: Int32

    private init(_ number: Int32, path: String, identity: FileIdentity) {
        self.number = number
        self.path = path
        self.identity = identity
    }

    /// Opens the file `name` of `folder`.
    ///
    /// - Returns: nil if the file does not exist.
    /// - Throws: ``SystemError``, with the remedy as its hint: `symbolicLink`, `notARegularFile`,
    ///   `wrongOwner`, `wrongMode`, `cannotOpen`, `readOnly`, `diskFull`, `alreadyExists`.
    package static func open(
        _ name: String, in folder: PrivateDirectory, for access: Access
    ) throws(SystemError) -> OpenFile? {
        let operation = "open a file"
        let path = folder.path(of: name)
        var number: Int32 = -1
        var isNew = false
        if access == .making || access == .makingAnew {
            number = descriptor(of: name, in: folder, O_RDWR | O_CREAT | O_EXCL)
            isNew = number >= 0
        }
        if number < 0, access != .makingAnew {
            number = descriptor(of: name, in: folder, access == .reading ? O_RDONLY : O_RDWR)
        }
        guard number >= 0 else {
            if errno == ENOENT { return nil }
            throw SystemError(errno: errno, during: operation, path: path)
        }
        if isNew {
            // Under a umask of 0777, a new file has no permission bits.
            fchmod(number, 0o600)
            valet_disable_copy_on_write(number)
        }
        do {
            let status = try FileDescriptor.status(of: number, path: path, during: operation)
            try FileRules.checkFile(status, path: path, during: operation)
            return OpenFile(number, path: path, identity: status.identity)
        } catch {
            close(number)
            throw error
        }
    }

    /// O_NONBLOCK: opening a FIFO in place of the file must not block; the check refuses it.
    private static func descriptor(
        of name: String, in folder: PrivateDirectory, _ flags: Int32
    ) -> Int32 {
        unsafe valet_openat(folder.descriptor.number, name, flags | O_NONBLOCK, 0o600)
    }

    /// Fills `target` with the bytes from `offset` on. One system call.
    ///
    /// - Returns: How many bytes were read.
    /// - Throws: ``SystemError``: `inputOutput`, `misuse` if other code has closed the
    ///   descriptor.
    package func read(
        into target: inout MutableSpan<UInt8>, at offset: Int = 0
    ) throws(SystemError) -> Int {
        let count = unsafe target.withUnsafeMutableBytes { buffer in
            retrying { unsafe pread(number, buffer.baseAddress, buffer.count, offset) }
        }
        guard count >= 0 else { throw failure("read a file") }
        return count
    }

    /// Overwrites the bytes from `offset` on. They are on disk only after ``sync()``.
    ///
    /// - Throws: ``SystemError``: `inputOutput`, `diskFull`, `misuse`.
    package func write(_ bytes: Span<UInt8>, at offset: Int = 0) throws(SystemError) {
        let count = unsafe bytes.withUnsafeBytes { buffer in
            retrying { unsafe pwrite(number, buffer.baseAddress, buffer.count, offset) }
        }
        guard count >= 0 else { throw failure("write a file") }
        guard count == bytes.count else {
            throw SystemError(.diskFull, during: "write a file", path: path)
        }
    }

    /// Overwrites `byteCount` bytes from `offset` on with zeros.
    ///
    /// - Throws: The codes of ``write(_:at:)``.
    package func writeZeros(byteCount: Int, at offset: Int = 0) throws(SystemError) {
        try write([UInt8](repeating: 0, count: byteCount).span, at: offset)
    }

    /// Waits until all written bytes are on disk.
    ///
    /// - Throws: ``SystemError/Code/inputOutput``.
    package func sync() throws(SystemError) {
        guard fdatasync(number) == 0 else { throw failure("sync a file") }
    }

    /// Sets the sticky bit: programs that clean up temporary folders then spare the file
    /// (tmpfiles.d(5)).
    package func keepFromCleaners() { fchmod(number, 0o1600) }

    /// Whether both `path` and the descriptor still lead to this file.
    package func isInPlace(at path: String) -> Bool {
        FileStatus(at: path)?.identity.isSameFile(as: identity) == true && isSound
    }

    /// Whether the descriptor still leads to this file: other code may have closed it.
    package var isSound: Bool { HeldDescriptor.leads(number, to: identity) }

    private func failure(_ operation: String) -> SystemError {
        SystemError(errno: errno, during: operation, path: path)
    }

    private func retrying(_ body: () -> Int) -> Int {
        while true {
            let count = body()
            guard count < 0, errno == EINTR else { return count }
        }
    }

    deinit {
        // Other code may have closed it, and the number may belong to another file.
        if isSound { close(number) }
    }
}
