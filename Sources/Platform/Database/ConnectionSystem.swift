// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCSQLite

/// A copy of SQLite's `unix` VFS for one connection. Sleeping differs: it ends at the connection's
/// deadline. And pages have checksums: ``CheckedFile``.
///
/// SQLite does not call the busy handler where it waits for a program that opens the log for the
/// first time: it sleeps by itself, up to ten seconds (docs/decisions/0048-sleeping-in-sqlite.md).
@safe struct ConnectionSystem: ~Copyable {
    /// SQLite sees the `sqlite3_vfs`; the rest is stored behind it.
    @unsafe struct System {
        fileprivate var methods: sqlite3_vfs
        fileprivate let unix: UnsafeMutablePointer<sqlite3_vfs>
        fileprivate var connection: Unmanaged<Connection>?
        /// Whether pages whose checksums do not fit are read all the same.
        let acceptsDamage: Bool
        /// How often such a page was read that could not be mended.
        var damagedPageCount = 0
    }

    private let system: UnsafeMutablePointer<System>
    private let registeredName: UnsafeMutablePointer<CChar>

    /// - Parameter acceptsDamage: Whether to read pages whose checksums do not fit.
    /// - Returns: nil if SQLite has no `unix` VFS, or there is no memory.
    init?(acceptsDamage: Bool) {
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
        unsafe methods.szOsFile = Self.ownByteCount(unix) + CheckedFile.byteCount
        unsafe methods.xOpen = { system, name, file, flags, result in
            unsafe ConnectionSystem.open(system, name, file, flags, result)
        }
        unsafe methods.xSleep = { system, microseconds in
            unsafe ConnectionSystem.whole(system)?.pointee.connection?.takeUnretainedValue()
                .pause(atMost: Int64(microseconds) * 1000)
            return microseconds
        }
        unsafe place.initialize(
            to: System(
                methods: methods, unix: unix, connection: nil, acceptsDamage: acceptsDamage))
        unsafe system = place
        unsafe registeredName = name
    }

    private static func whole(
        _ system: UnsafeMutablePointer<sqlite3_vfs>?
    ) -> UnsafeMutablePointer<System>? {
        guard let system = unsafe system else { return nil }
        return unsafe UnsafeMutableRawPointer(system).assumingMemoryBound(to: System.self)
    }

    /// How long SQLite's own data of a file is, rounded up to where anything may follow it.
    private static func ownByteCount(_ unix: UnsafeMutablePointer<sqlite3_vfs>) -> Int32 {
        unsafe (unix.pointee.szOsFile + 15) & ~15
    }

    private static func open(
        _ system: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?,
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32,
        _ result: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let whole = unsafe whole(system), let file = unsafe file,
            let unixOpen = unsafe whole.pointee.unix.pointee.xOpen
        else { return SQLITE_MISUSE }
        let code = unsafe unixOpen(system, name, file, flags, result)
        guard code == SQLITE_OK, flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL) != 0 else {
            return code
        }
        let place = unsafe UnsafeMutableRawPointer(file) + Int(ownByteCount(whole.pointee.unix))
        _ = unsafe CheckedFile(file, at: place, isLog: flags & SQLITE_OPEN_WAL != 0, whole)
        return code
    }

    /// Registers the VFS under its name until this is dropped.
    func register(for connection: Connection) -> Int32 {
        unsafe system.pointee.connection = .passUnretained(connection)
        return unsafe sqlite3_vfs_register(methods, 0)
    }

    var damagedPageCount: Int { unsafe system.pointee.damagedPageCount }

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
