// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// An open descriptor. Dropping it closes it.
///
/// Never open one of SQLite's files with it: closing any descriptor of those drops this process's
/// locks.
package struct FileDescriptor: ~Copyable {
    /// The number; negative if nothing is open.
    package let number: Int32

    package init(owning number: Int32) {
        self.number = number
    }

    /// Opens the file `name` of `folder`. Refuses symbolic links; sets close-on-exec.
    init(
        _ name: String, of folder: PrivateDirectory, flags: Int32, during operation: String
    ) throws(SystemError) {
        // O_NONBLOCK: opening a FIFO in place of the file must not block; callers check `status`.
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

    /// - Throws: ``SystemError``, with the system's reason.
    static func status(
        of number: Int32, path: String?, during operation: String
    ) throws(SystemError) -> FileStatus {
        guard let status = FileStatus(open: number) else {
            throw SystemError(errno: errno, during: operation, path: path)
        }
        return status
    }

    /// - Throws: ``SystemError``, with the system's reason.
    func status(path: String?, during operation: String) throws(SystemError) -> FileStatus {
        try Self.status(of: number, path: path, during: operation)
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

    /// Renames a file in this folder, and replaces a file that has the new name.
    ///
    /// - Returns: `errno`, or 0.
    func rename(_ name: String, to newName: String) -> Int32 {
        unsafe renameat(number, name, number, newName) == 0 ? 0 : errno
    }

    /// Renames a file in this folder; fails if the new name exists.
    ///
    /// Some file systems and sandboxes refuse the system call for that. Then this makes a link and
    /// removes the old name, or makes an empty file and renames over it. A crash in between leaves
    /// both names, or the empty file. A folder that lets no name go, as one with the attribute
    /// "append only", keeps both names: the file has the new one, so that is a success.
    /// - Parameter mayLink: Whether the file may have two names for a moment.
    /// - Returns: `errno`, or 0; `EEXIST` if the name exists.
    func rename(_ name: String, toUnused newName: String, mayLink: Bool) -> Int32 {
        if unsafe valet_rename_without_replacing(number, name, newName) == 0 { return 0 }
        guard Self.isRefusal(errno) else { return errno }
        if mayLink {
            if unsafe linkat(number, name, number, newName, 0) == 0 {
                unsafe _ = unlinkat(number, name, 0)
                return 0
            }
            guard Self.isRefusal(errno) else { return errno }
        }
        // Of concurrent callers, only the one that makes the file renames over it.
        let place = FileDescriptor(
            owning: unsafe valet_openat(number, newName, O_WRONLY | O_CREAT | O_EXCL, 0o600))
        guard place.number >= 0 else { return errno }
        let code = rename(name, to: newName)
        if code != 0 { unsafe _ = unlinkat(number, newName, 0) }
        return code
    }

    /// Whether `code` means that the kernel does not know or does not allow the call, so that
    /// another call may work.
    static func isRefusal(_ code: Int32) -> Bool {
        [EINVAL, ENOSYS, EPERM, EOPNOTSUPP, EXDEV, EMLINK].contains(code)
    }

    /// Whether `code` means that the file system does not support unnamed files (O_TMPFILE).
    static func hasNoUnnamedFiles(_ code: Int32) -> Bool {
        [EOPNOTSUPP, EISDIR, EINVAL, ENOENT].contains(code)
    }

    deinit {
        // A caller that is about to report a failure reads `errno` after this.
        let reported = errno
        if number >= 0 { close(number) }
        errno = reported
    }
}

extension FileDescriptor {
    /// Lends all bytes of the file, then wipes them from memory.
    ///
    /// - Throws: ``SystemError``: `tooLarge` above `maxByteCount`, `inputOutput`.
    func withContents<R: ~Copyable>(
        maxByteCount: Int, path: String, during operation: String, _ body: (Span<UInt8>) -> R
    ) throws(SystemError) -> R {
        // One byte more than allowed: if it is filled, the file is too large.
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

/// A descriptor that stays open while a program runs.
///
/// A program may close descriptors that it does not own: a daemon closes everything from 3 on, or a
/// bug closes a number twice. The number may then belong to another file. So it is used and closed
/// only while it still leads to the file that was opened. Descriptors without a file, such as those
/// of inotify(7), cannot be told from one another: their users look at how reading fails.
package struct HeldDescriptor: ~Copyable {
    let number: Int32
    private let identity: FileIdentity

    /// - Parameter identity: The file that was opened.
    init(holding descriptor: consuming FileDescriptor, as identity: FileIdentity) {
        self.identity = identity
        number = descriptor.release()
    }

    /// If the descriptor is not open, or if the system does not tell what it leads to, the number
    /// is negative, and `errno` says why.
    init(holding descriptor: consuming FileDescriptor) {
        guard descriptor.number >= 0, let status = FileStatus(open: descriptor.number) else {
            let reported = errno
            self.init(
                holding: FileDescriptor(owning: -1),
                as: FileIdentity(device: 0, inode: 0, byteCount: 0))
            errno = reported
            return
        }
        self.init(holding: descriptor, as: status.identity)
    }

    /// A new eventfd(2), which never blocks. If the process can open no more files, its number is
    /// negative, and `errno` says why.
    static func bell() -> HeldDescriptor {
        HeldDescriptor(
            holding: FileDescriptor(
                owning: valet_above_streams(eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)))))
    }

    /// Whether it still leads to the file that was opened. One system call.
    var isSound: Bool { Self.leads(number, to: identity) }

    /// Why it does not lead to the file that was opened: ``Self/fault(of:as:)``.
    var fault: Int32? { Self.fault(of: number, as: identity) }

    /// Leaves the number to the code that has it now.
    consuming func abandon() { discard self }

    /// Lends it as a ``FileDescriptor``.
    func lend<R>(_ body: (borrowing FileDescriptor) -> R) -> R {
        let lent = FileDescriptor(owning: number)
        let result = body(lent)
        _ = lent.release()
        return result
    }

    /// Whether descriptor `number` leads to the file `identity`.
    package static func leads(_ number: Int32, to identity: FileIdentity) -> Bool {
        fault(of: number, as: identity) == nil
    }

    /// Why descriptor `number` does not lead to the file `identity`: `EBADF` if other code has
    /// closed it, another `errno` if the system does not tell; nil if it leads there.
    static func fault(of number: Int32, as identity: FileIdentity) -> Int32? {
        guard let status = FileStatus(open: number) else { return errno }
        return status.identity.isSameFile(as: identity) ? nil : EBADF
    }

    deinit {
        let reported = errno
        if isSound { close(number) }
        errno = reported
    }
}

extension FileDescriptor {
    package consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }
}

/// Calls on descriptors that this module does not own: standard streams, a terminal, an inherited
/// descriptor.
extension FileDescriptor {
    /// Any pipe or terminal that is ready for writing takes this many bytes.
    private static let pieceByteCount = 256

    /// Whether to repeat a call that failed with `code`, after a wait.
    package static func mayTryAgain(after code: Int) -> Bool {
        code == EINTR || code == EAGAIN
    }

    /// Reads once, into a part of `span`. Returns how many bytes there were, 0 at the end, or
    /// −`errno`.
    package static func read(
        from descriptor: Int32, into span: inout MutableSpan<UInt8>, at range: Range<Int>
    ) -> Int {
        let count = unsafe span.withUnsafeMutableBytes { memory in
            let part = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[range])
            return unsafe Glibc.read(descriptor, part.baseAddress, part.count)
        }
        return count < 0 ? -Int(errno) : count
    }

    /// Writes all of `bytes`; waits for room, also if the descriptor does not block. Returns 0 or
    /// `errno`.
    package static func write(_ bytes: Span<UInt8>, to descriptor: Int32) -> Int32 {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 {
                rest = rest.extracting(droppingFirst: count)
            } else if errno == EAGAIN {
                _ = WaitLimit(until: .never).wait(for: descriptor, POLLOUT)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// Writes all of `bytes` into a pipe or a socket, without waiting. Returns false if there is no
    /// room for them, for other kinds of files, and if nobody reads.
    package static func writeNow(_ bytes: Span<UInt8>, to descriptor: Int32) -> Bool {
        unsafe bytes.withUnsafeBytes {
            unsafe valet_write_now(descriptor, $0.baseAddress, $0.count) == 1
        }
    }

    /// Writes `bytes` as the receiver takes them, and drops the rest when the wait ends.
    ///
    /// Only a non-blocking descriptor guarantees that this ends at `limit`. For a blocking one,
    /// small pieces make a longer wait unlikely.
    package static func write(
        _ bytes: Span<UInt8>, to descriptor: Int32, within limit: WaitLimit
    ) {
        var rest = bytes
        while !rest.isEmpty, limit.wait(for: descriptor, POLLOUT) == .ready {
            let piece = rest.extracting(first: pieceByteCount)
            let count = unsafe piece.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 {
                rest = rest.extracting(droppingFirst: count)
            } else if errno == EAGAIN {
                // Ready, but without room for one character.
                let pause = Deadline(after: .milliseconds(10))
                _ = limit.ending(at: min(limit.deadline, pause)).wait(for: -1)
            } else if errno != EINTR {
                return
            }
        }
    }

    /// Whether descriptors of this process lead to all of `files`. Makes a system call for each
    /// number up to the largest of these descriptors.
    package static func areOpen(_ files: [FileIdentity]) -> Bool {
        var missing = files
        let end = Int32(clamping: min(sysconf(Int32(_SC_OPEN_MAX)), largestNumber))
        var number: Int32 = 3
        while !missing.isEmpty, number < end {
            if let identity = FileStatus(open: number)?.identity {
                missing.removeAll { $0.isSameFile(as: identity) }
            }
            number += 1
        }
        return missing.isEmpty
    }

    /// More descriptors than any program uses.
    private static let largestNumber = 1 << 20

    /// Whether this process inherited `number`: all that it opens itself is closed on `exec`.
    package static func isInherited(_ number: Int32) -> Bool {
        let flags = fcntl(number, F_GETFD)
        return flags != -1 && flags & FD_CLOEXEC == 0
    }

    /// Closes an inherited descriptor on `exec`. Standard input becomes `/dev/null` at once
    /// instead; standard output and standard error stay open.
    package static func keepFromPrograms(_ number: Int32) {
        if number > 2 { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        guard number == 0 else { return }
        let null = FileDescriptor(owning: unsafe valet_open("/dev/null", O_RDONLY))
        if null.number > 0 { _ = dup2(null.number, 0) }
    }

    package static func isTerminal(_ number: Int32) -> Bool {
        isatty(number) == 1
    }
}

/// A pipe. Its ends are closed on exec, and are never 0, 1 or 2.
struct Pipe: ~Copyable {
    let reading: FileDescriptor
    let writing: FileDescriptor

    /// - Throws: ``SystemError/Code/cannotOpen`` if the process can open nothing more.
    init() throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        guard unsafe valet_make_pipe(&ends) == 0 else {
            throw SystemError(errno: errno, during: "make a pipe", path: nil)
        }
        reading = FileDescriptor(owning: ends[0])
        writing = FileDescriptor(owning: ends[1])
    }

    /// Makes both ends non-blocking.
    func makeImpatient() {
        _ = fcntl(reading.number, F_SETFL, O_NONBLOCK)
        _ = fcntl(writing.number, F_SETFL, O_NONBLOCK)
    }
}
