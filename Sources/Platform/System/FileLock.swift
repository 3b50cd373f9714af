// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// The lock file: held by every writer, every checkpointer, and every closer of a writing
/// connection.
///
/// It is an open-file-description lock: closing another descriptor of the file does not drop it,
/// and the kernel drops it when its holder dies. Threads of this process queue first, in order of
/// arrival. A child of `fork` inherits the descriptor, and with it the lock: if its parent was
/// killed, the lock would stay. So a child closes the descriptor as soon as it begins. To lock the
/// file, a child makes another `FileLock`. Dropping the inherited one does not release the parent's
/// lock.
// Sendable because only the thread that holds `queue` uses what changes.
package final class FileLock: @unchecked Sendable {
    private let directory: PrivateDirectory
    private let name: String
    private let queue = FairLock()
    private var file: Int32 = -1
    private var identity: FileIdentity?
    /// When to check the descriptor again.
    private var nextCheck = Deadline(after: .zero)

    private static let operation = "lock"
    private static let checkInterval = Duration.milliseconds(100)
    /// About a tenth of a second of waiting.
    private static let attemptsBetweenLooks = 50

    /// Remembers the file; the first ``acquire(before:)`` opens it.
    package init(_ name: String, in directory: PrivateDirectory) {
        self.directory = directory
        self.name = name
    }

    /// Waits for the lock; costs about 1 µs when it is free.
    ///
    /// The caller then checks that the folder is still where it was opened. This function checks
    /// ten times a second that the file is still in the folder.
    ///
    /// - Returns: The lock. Dropping it releases it.
    /// - Throws: ``SystemError``: `busy` at the deadline; `replaced`, `descriptorsClosed`,
    ///   `readOnly`, `diskFull`, what ``PrivateDirectory/check(file:)`` throws.
    package func acquire(before deadline: Deadline) throws(SystemError) -> HeldLock {
        guard queue.acquire(before: deadline) else { throw busy() }
        do {
            try lockFile(before: deadline)
            return HeldLock(of: self)
        } catch {
            unlock()
            queue.release()
            throw error
        }
    }

    fileprivate func release(by process: UInt64) {
        // A child shares the description: unlocking would take the lock from the parent.
        guard process == ProcessGeneration.current else { return }
        unlock()
        queue.release()
    }

    private func unlock() {
        if file >= 0 { _ = valet_set_description_lock(file, 0) }
    }

    /// Throws if other code has closed the descriptor. Its number may belong to another file by
    /// now.
    private func checkHandle() throws(SystemError) {
        guard let identity, let fault = HeldDescriptor.fault(of: file, as: identity) else {
            return
        }
        guard fault == EBADF else { throw ClosedDescriptors.error(fault, at: directory.path) }
        _ = forgetFile()
        throw ClosedDescriptors.found(at: directory.path)
    }

    private func lockFile(before deadline: Deadline) throws(SystemError) {
        while true {
            let isKnown = file >= 0
            if !isKnown {
                // Make no file in a folder that was moved away.
                try directory.checkPlace()
                try open()
            }
            try lockDescription(before: deadline)
            guard !isKnown || nextCheck.hasPassed else { return }
            try checkHandle()
            nextCheck = Deadline(after: Self.checkInterval)
            if let identity, try directory.contains(name, as: identity) { return }
            // Removed or replaced: a lock on the old file excludes no one.
            close(forgetFile())
        }
    }

    private func lockDescription(before deadline: Deadline) throws(SystemError) {
        var attempt = 0
        while valet_set_description_lock(file, 1) != 0 {
            guard [EAGAIN, EACCES, EINTR].contains(errno) else {
                if errno == EBADF { throw ClosedDescriptors.found(at: directory.path) }
                throw SystemError(
                    errno: errno, during: Self.operation, path: directory.path(of: name))
            }
            // Do not wait for the lock of a folder that was moved away.
            if attempt % Self.attemptsBetweenLooks == 1 { try directory.checkPlace() }
            guard deadline.sleep(atMost: Backoff.pause(first: 20_000, attempt: attempt)) else {
                throw busy()
            }
            try checkHandle()
            attempt += 1
        }
    }

    private func open() throws(SystemError) {
        let folder = directory.descriptor.number
        let path = directory.path(of: name)
        var number = unsafe valet_openat(folder, name, O_RDWR | O_CREAT | O_EXCL, 0o600)
        if number >= 0 {
            // Zero permission bits are left under a umask of 0777.
            fchmod(number, 0o600)
        } else if errno == EEXIST {
            // The existing file may be of any kind: check it before opening it.
            _ = try directory.check(file: name)
            number = unsafe valet_openat(folder, name, O_RDWR | O_NONBLOCK, 0)
        }
        guard number >= 0 else {
            throw SystemError(
                errno: errno, during: "open the lock file", path: path,
                hint: errno == EACCES ? "chmod 600 \(path.quotedForShell)" : nil)
        }
        guard let opened = FileStatus(open: number)?.identity else {
            let code = errno
            close(number)
            throw SystemError(errno: code, during: "open the lock file", path: path)
        }
        ForkLock.closeInChildren(number, opened)
        identity = opened
        file = number
    }

    /// - Returns: The number of the descriptor, which may be that of another file by now.
    private func forgetFile() -> Int32 {
        let number = file
        file = -1
        if number >= 0 { ForkLock.forget(number) }
        return number
    }

    private func closeFile() {
        let number = forgetFile()
        if let identity, HeldDescriptor.leads(number, to: identity) { close(number) }
    }

    /// In a child of `fork`: forgets the descriptor. A child of a raw clone(2) has not closed it.
    package func closeInherited() { closeFile() }

    /// The error if the wait for the lock has timed out.
    package func busy() -> SystemError {
        SystemError(.busy, during: Self.operation, path: directory.path(of: name))
    }

    deinit { closeFile() }
}

/// The lock of a ``FileLock``. Dropping it releases the lock.
package struct HeldLock: ~Copyable, Sendable {
    private let lock: FileLock
    private let process = ProcessGeneration.current

    fileprivate init(of lock: FileLock) { self.lock = lock }

    deinit {
        lock.release(by: process)
    }
}
