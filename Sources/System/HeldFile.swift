// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// A small file of the user's own that stays open, to be read and changed in place. Opened keys are
/// shared through such files.
///
/// It is a regular file with one name, mode 0600, and no symbolic link. Never one of SQLite's
/// files: closing any descriptor of those drops the locks of this process.
package final class HeldFile: Sendable {
    /// What may be done with the file.
    package enum Access: Sendable {
        /// It is read.
        case reading
        /// It is read and changed; there must be one.
        case changing
        /// It is read and changed, and made if there is none.
        case making
        /// It is made; there must be none.
        case makingAnew
    }

    /// The path, for messages.
    package let path: String
    /// Which file it is, and the size that it had when it was opened.
    package let identity: FileIdentity
    private let number: Int32

    private init(_ number: Int32, path: String, identity: FileIdentity) {
        self.number = number
        self.path = path
        self.identity = identity
    }

    /// Opens the file `name` of `folder`.
    ///
    /// - Returns: nil if there is no such file.
    /// - Throws: ``SystemError``, with the remedy as its hint: `symbolicLink`, `notARegularFile`,
    ///   `wrongOwner`, `wrongMode`, `cannotOpen`, `readOnly`, `diskFull`, `alreadyExists`.
    package static func open(
        _ name: String, in folder: PrivateDirectory, for access: Access
    ) throws(SystemError) -> HeldFile? {
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
            // Zero permission bits are left under a umask of 0777.
            fchmod(number, 0o600)
            valet_disable_copy_on_write(number)
        }
        var status = stat()
        unsafe fstat(number, &status)
        do throws(SystemError) {
            try FileRules.checkFile(status, path: path, during: operation)
        } catch {
            close(number)
            throw error
        }
        return HeldFile(number, path: path, identity: FileIdentity(status))
    }

    /// O_NONBLOCK: a FIFO in place of the file must not hang us; the check refuses it.
    private static func descriptor(
        of name: String, in folder: PrivateDirectory, _ flags: Int32
    ) -> Int32 {
        unsafe valet_openat(folder.descriptor.number, name, flags | O_NONBLOCK, 0o600)
    }

    /// Fills `target` with the bytes from `offset` on. One system call.
    ///
    /// - Returns: How many bytes there were.
    /// - Throws: ``SystemError``: `inputOutput`, `misuse` if the descriptor was closed by
    ///   somebody else.
    package func read(
        into target: inout MutableSpan<UInt8>, at offset: Int = 0
    ) throws(SystemError) -> Int {
        let count = unsafe target.withUnsafeMutableBytes { buffer in
            retrying { unsafe pread(number, buffer.baseAddress, buffer.count, offset) }
        }
        guard count >= 0 else { throw failure("read a file") }
        return count
    }

    /// Overwrites the bytes from `offset` on. Not on disk before ``sync()``.
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
    /// - Throws: As ``write(_:at:)``.
    package func writeZeros(byteCount: Int, at offset: Int = 0) throws(SystemError) {
        try write([UInt8](repeating: 0, count: byteCount).span, at: offset)
    }

    /// Puts what was written on disk.
    ///
    /// - Throws: ``SystemError/Code/inputOutput``.
    package func sync() throws(SystemError) {
        guard fdatasync(number) == 0 else { throw failure("sync a file") }
    }

    /// Sets the sticky bit, which keeps programs that clean up temporary folders from removing the
    /// file (tmpfiles.d(5)).
    package func keepFromCleaners() { fchmod(number, 0o1600) }

    /// Whether `path` leads to this file, looked up anew through links, and so does the descriptor.
    package func isInPlace(at path: String) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, FileIdentity(status).isSameFile(as: identity)
        else { return false }
        return isSound
    }

    /// Whether the descriptor still is what was opened: a program may have closed it.
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
        // A program that closes all descriptors may have given the number to another file.
        if isSound { close(number) }
    }
}

extension PrivateDirectory {
    /// Gives `temporary` the name `name`, in place of the file of that name, at once for all
    /// readers. The folder is not synchronised.
    ///
    /// - Throws: ``SystemError``: `missing`, `readOnly`, `diskFull`.
    package func replaceUnsynced(_ name: String, by temporary: String) throws(SystemError) {
        let folder = descriptor.number
        guard unsafe renameat(folder, temporary, folder, name) == 0 else {
            throw SystemError(errno: errno, during: "rename a file", path: path(of: name))
        }
    }
}
