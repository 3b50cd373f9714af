// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCSQLite
internal import ValetSystem

/// Why a connection cannot lock, if the reason is not another holder of the lock.
struct LockTrouble {
    /// Errors of locking that SQLite reports as *busy*.
    private static let errors = [ENOLCK, EIO, EBADF, EINVAL, ENOSYS]

    static let hint = "the file system refuses locks: check the disk and its mount"

    /// The deadline of the call in which `code` was found; it identifies the call.
    private var deadline: Deadline?
    private var code: Int32 = 0

    /// Records why SQLite is about to wait. The first wait of a call is ignored: `errno` may be
    /// older than the call. Must be called before anything else changes `errno`.
    mutating func look(_ deadline: Deadline) {
        let reported = errno
        if self.deadline != deadline {
            (self.deadline, code) = (deadline, 0)
        } else if Self.errors.contains(reported) {
            code = reported
        } else if reported == EAGAIN || reported == EACCES {
            code = 0
        }
        errno = 0
    }

    /// The `errno` that was found in the call with this deadline, or 0.
    func systemError(_ deadline: Deadline) -> Int32 {
        self.deadline == deadline ? code : 0
    }
}

extension Connection {
    /// Sleeps at most `nanoseconds`, for SQLite.
    ///
    /// - Returns: false, without sleeping, if waiting is useless: at the deadline, and if the file
    ///   system refuses locks.
    @discardableResult
    func pause(atMost nanoseconds: Int64) -> Bool {
        lockTrouble.look(deadline)
        defer { errno = 0 }
        guard lockTrouble.systemError(deadline) == 0 else { return false }
        return deadline.sleep(atMost: nanoseconds)
    }

    /// The `errno` that keeps this call from locking; 0 if another process holds the lock.
    var lockError: Int32 { lockTrouble.systemError(deadline) }
}
