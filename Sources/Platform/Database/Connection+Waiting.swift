// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCSQLite
internal import ValetSystem

/// A copy of SQLite's `unix` VFS for one connection. Only sleeping differs: it ends at the
/// connection's deadline.
///
/// SQLite does not call the busy handler where it waits for a program that opens the log for the
/// first time: it sleeps by itself, up to ten seconds (docs/decisions/0048-sleeping-in-sqlite.md).
@safe struct ConnectionSystem: ~Copyable {
    /// SQLite sees the `sqlite3_vfs`; the connection is stored behind it.
    @unsafe private struct System {
        var methods: sqlite3_vfs
        var connection: Unmanaged<Connection>?
    }

    private let system: UnsafeMutablePointer<System>
    private let registeredName: UnsafeMutablePointer<CChar>

    /// - Returns: nil if SQLite has no `unix` VFS, or there is no memory.
    init?() {
        // By name: an application may have changed the default.
        guard let unix = unsafe sqlite3_vfs_find("unix") else { return nil }
        let place = UnsafeMutablePointer<System>.allocate(capacity: 1)
        // The address makes the name unique.
        guard let name = unsafe strdup("valet-\(UInt(bitPattern: place))") else {
            unsafe place.deallocate()
            return nil
        }
        var methods = unsafe unix.pointee
        unsafe methods.pNext = nil
        unsafe methods.zName = UnsafePointer(name)
        unsafe methods.xSleep = { system, microseconds in
            guard let system = unsafe system else { return 0 }
            let whole = unsafe UnsafeRawPointer(system).assumingMemoryBound(to: System.self)
            unsafe whole.pointee.connection?.takeUnretainedValue()
                .pause(atMost: Int64(microseconds) * 1000)
            return microseconds
        }
        unsafe place.initialize(to: System(methods: methods, connection: nil))
        unsafe system = place
        unsafe registeredName = name
    }

    /// Registers the VFS under its name until this is dropped.
    func register(for connection: Connection) -> Int32 {
        unsafe system.pointee.connection = .passUnretained(connection)
        return unsafe sqlite3_vfs_register(methods, 0)
    }

    /// The name to open the database with.
    var name: UnsafePointer<CChar> { unsafe UnsafePointer(registeredName) }

    private var methods: UnsafeMutablePointer<sqlite3_vfs> {
        unsafe UnsafeMutableRawPointer(system).assumingMemoryBound(to: sqlite3_vfs.self)
    }

    deinit {
        unsafe sqlite3_vfs_unregister(methods)
        unsafe system.deallocate()
        unsafe free(registeredName)
    }
}

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
        let trouble = lockTrouble.systemError(deadline)
        // The system may have free locks again in a moment. The other errors are permanent.
        guard trouble == 0 || trouble == ENOLCK else { return false }
        return deadline.sleep(atMost: nanoseconds)
    }

    /// The `errno` that keeps this call from locking; 0 if another process holds the lock.
    var lockError: Int32 { lockTrouble.systemError(deadline) }
}
