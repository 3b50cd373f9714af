// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCSQLite
internal import ValetSystem

/// SQLite's way to the files, as one connection has it: SQLite's own, but for sleeping.
///
/// SQLite does not ask the busy handler where it waits for a program that opens the log for the
/// first time: it sleeps by itself, for ten seconds all in all. Here it sleeps as its connection
/// does, and not beyond the deadline.
@safe struct ConnectionSystem: ~Copyable {
    /// What SQLite knows as `sqlite3_vfs`, with what it does not know behind it.
    @unsafe private struct System {
        var methods: sqlite3_vfs
        var connection: Unmanaged<Connection>?
    }

    private let system: UnsafeMutablePointer<System>
    private let registeredName: UnsafeMutablePointer<CChar>

    /// - Returns: nil where SQLite has no `unix` file system, or no memory.
    init?() {
        // By name: an application may have made another one the usual one.
        guard let unix = unsafe sqlite3_vfs_find("unix") else { return nil }
        let place = UnsafeMutablePointer<System>.allocate(capacity: 1)
        // The address tells it from those of all other connections.
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

    /// Has SQLite know the way by its name, from now until this is dropped.
    func register(for connection: Connection) -> Int32 {
        unsafe system.pointee.connection = .passUnretained(connection)
        return unsafe sqlite3_vfs_register(methods, 0)
    }

    /// What `sqlite3_open_v2` is told.
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

/// What keeps a connection from locking, other than somebody else's lock.
struct LockTrouble {
    /// Errors that SQLite calls *busy* when a lock fails with them.
    private static let errors = [ENOLCK, EIO, EBADF, EINVAL, ENOSYS]

    static let hint = "the file system does not give locks: look at the disk and at its mount"

    /// The call in which it was looked for, by its deadline.
    private var deadline: Deadline?
    private var code: Int32 = 0

    /// Notes why SQLite is about to wait, from the second time on that it does so in one call:
    /// only then is `errno` of this wait. To be called before anything else changes that.
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

    /// What was found in the call that has this deadline; 0 for nothing.
    func systemError(_ deadline: Deadline) -> Int32 {
        self.deadline == deadline ? code : 0
    }
}

extension Connection {
    /// Lets at most `nanoseconds` pass, for SQLite.
    ///
    /// - Returns: false, at once, if there is nothing to wait for: at the deadline, and where locks
    ///   cannot be had at all.
    @discardableResult
    func pause(atMost nanoseconds: Int64) -> Bool {
        lockTrouble.look(deadline)
        defer { errno = 0 }
        let trouble = lockTrouble.systemError(deadline)
        // The system may have locks again in a moment; what else there is stays so.
        guard trouble == 0 || trouble == ENOLCK else { return false }
        return deadline.sleep(atMost: nanoseconds)
    }

    /// What keeps this call from locking; 0 if only other holders of the lock do.
    var lockError: Int32 { lockTrouble.systemError(deadline) }
}
