// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// The lock file: held by every writer, every checkpointer, and every closer of a writing
/// connection.
///
/// It is an open-file-description lock: closing another descriptor of the file does not drop it,
/// and the kernel drops it when its holder dies. Threads of this process queue first, in order of
/// arrival. A child made by `fork` shares the description, hence the lock: it must make a
/// `LockFile` of its own, and may drop the inherited one at any time.
// Sendable because only the thread that holds `queue` uses `file` and `identity`.
package final class LockFile: @unchecked Sendable {
    private let directory: PrivateDirectory
    private let name: String
    private let queue = FairLock()
    private var file: Int32 = -1
    private var identity: FileIdentity?

    private static let operation = "lock"
    /// About a tenth of a second of waiting.
    private static let attemptsBetweenLooks = 50

    /// Remembers the file; the first ``acquire(before:inPlace:)`` opens it.
    package init(_ name: String, in directory: PrivateDirectory) {
        self.directory = directory
        self.name = name
    }

    /// Waits for the lock; costs about 1 µs when it is free.
    ///
    /// - Parameter inPlace: Whether the folder must still be where it was opened; false for closing
    ///   files in it.
    /// - Returns: The lock. Dropping it releases it.
    /// - Throws: ``SystemError``: `busy` at the deadline; `replaced`, `readOnly`, `diskFull`,
    ///   what ``PrivateDirectory/check(file:)`` throws.
    package func acquire(
        before deadline: Deadline, inPlace: Bool = true
    ) throws(SystemError) -> HeldLock {
        guard queue.acquire(before: deadline) else { throw busy() }
        do throws(SystemError) {
            try lockFile(before: deadline, inPlace: inPlace)
        } catch {
            unlock()
            queue.release()
            throw error
        }
        return HeldLock(of: self, process: getpid())
    }

    fileprivate func release(by process: pid_t) {
        // A child shares the description: unlocking would take the lock from the parent.
        guard process == getpid() else { return }
        unlock()
        queue.release()
    }

    /// Whether the file is open: other code may have closed the descriptor.
    private var isSound: Bool {
        guard file >= 0, let identity else { return false }
        return HeldDescriptor.leads(file, to: identity)
    }

    private func unlock() {
        if isSound { _ = valet_set_description_lock(file, 0) }
    }

    private func lockFile(
        before deadline: Deadline, inPlace: Bool
    ) throws(SystemError) {
        while true {
            if !isSound {
                // Make no file in a folder that was moved away.
                if inPlace { try directory.checkPlace() }
                guard directory.descriptor.isSound else {
                    throw directory.replacement
                }
                try open()
            }
            guard try lockDescription(before: deadline, inPlace: inPlace) else { continue }
            if inPlace, try !directory.isAtPath() { throw directory.replacement }
            if let identity, try directory.contains(name, as: identity) { return }
            // Removed or replaced: a lock on the old file excludes no one.
            if isSound { close(file) }
            file = -1
        }
    }

    /// - Returns: false if other code has closed the descriptor during the wait.
    private func lockDescription(
        before deadline: Deadline, inPlace: Bool
    ) throws(SystemError) -> Bool {
        var attempt = 0
        while valet_set_description_lock(file, 1) != 0 {
            guard [EAGAIN, EACCES, EINTR].contains(errno) else {
                throw SystemError(
                    errno: errno, during: Self.operation, path: directory.path(of: name))
            }
            // Do not wait for the lock of a folder that was moved away.
            if inPlace, attempt % Self.attemptsBetweenLooks == 1 {
                try directory.checkPlace()
            }
            guard deadline.sleep(atMost: Backoff.pause(first: 20_000, attempt: attempt)) else {
                throw busy()
            }
            guard isSound else { return false }
            attempt += 1
        }
        return true
    }

    private func open() throws(SystemError) {
        let folder = directory.descriptor.number
        let path = directory.path(of: name)
        var number = unsafe valet_openat(folder, name, O_RDWR | O_CREAT | O_EXCL, 0o600)
        if number >= 0 {
            // Zero permission bits are left under a umask of 0777.
            fchmod(number, 0o600)
        } else if errno == EEXIST {
            // It may be anything: check it before opening it.
            _ = try directory.check(file: name)
            number = unsafe valet_openat(folder, name, O_RDWR | O_NONBLOCK, 0)
        }
        guard number >= 0 else {
            throw SystemError(
                errno: errno, during: "open the lock file", path: path,
                hint: errno == EACCES ? "chmod 600 \(path.quotedForShell)" : nil)
        }
        identity = FileStatus(of: number).identity
        file = number
    }

    /// What a wait for the lock that was in vain throws.
    package func busy() -> SystemError {
        SystemError(.busy, during: Self.operation, path: directory.path(of: name))
    }

    deinit {
        if isSound { close(file) }
    }
}

/// The lock of a ``LockFile``. Dropping it releases the lock.
package struct HeldLock: ~Copyable, Sendable {
    private let lock: LockFile
    private let process: pid_t

    fileprivate init(of lock: LockFile, process: pid_t) {
        self.lock = lock
        self.process = process
    }

    deinit {
        lock.release(by: process)
    }
}
