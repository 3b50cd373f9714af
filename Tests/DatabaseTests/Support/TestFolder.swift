// SPDX-License-Identifier: Apache-2.0

import Database
import Foundation

/// A folder for one test, of mode 0700, removed with everything in it.
final class TestFolder {
    let path: String

    init() throws {
        let template = FileManager.default.temporaryDirectory.path + "/valet-database-XXXXXX"
        var bytes = Array(template.utf8CString)
        guard let name = unsafe mkdtemp(&bytes) else { throw POSIXError(.EIO) }
        path = unsafe String(cString: name)
    }

    /// The folder as the module sees it.
    func directory() throws -> KeychainDirectory {
        try KeychainDirectory.open(path, creating: false)
    }

    func path(_ name: String) -> String { path + "/" + name }

    /// Writes a file that the module would accept.
    func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o600) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
        setMode(mode, of: name)
    }

    func setMode(_ mode: mode_t, of name: String) { unsafe _ = chmod(path(name), mode) }

    func link(_ name: String, to target: String) { unsafe _ = symlink(target, path(name)) }

    func linkHard(_ name: String, to old: String) {
        unsafe _ = Foundation.link(path(old), path(name))
    }

    func makeFolder(_ name: String) { unsafe _ = mkdir(path(name), 0o700) }

    func makePipe(_ name: String) { unsafe _ = mkfifo(path(name), 0o600) }

    func remove(_ name: String) { unsafe _ = unlink(path(name)) }

    func rename(_ name: String, to new: String) {
        unsafe _ = Foundation.rename(path(name), path(new))
    }

    /// Makes the file that of `nobody`; takes root.
    func giveAway(_ name: String) { unsafe _ = chown(path(name), 65_534, 65_534) }

    func read(_ name: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    /// The permission bits, or `nil` if there is no such file.
    func mode(_ name: String) -> mode_t? {
        var status = stat()
        guard unsafe lstat(path(name), &status) == 0 else { return nil }
        return status.st_mode & 0o7777
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

extension KeychainDirectory {
    /// A new database with the table `t (k BLOB PRIMARY KEY, v BLOB)`.
    func makeDatabase(_ name: String = "keychain.db") throws -> Connection {
        let connection = try Connection(
            to: name, in: self, for: .create, deadline: Deadline(after: .seconds(5)))
        try Statement(
            "CREATE TABLE t (k BLOB PRIMARY KEY, v BLOB) STRICT, WITHOUT ROWID", on: connection
        ).execute()
        return connection
    }

    func open(
        _ access: Connection.Access = .readWrite, within limit: Duration = .seconds(5)
    ) throws -> Connection {
        try Connection(to: "keychain.db", in: self, for: access, deadline: Deadline(after: limit))
    }
}

extension Connection {
    func insert(_ key: [UInt8], _ value: [UInt8] = []) throws {
        let run = try Statement("INSERT INTO t VALUES (?1, ?2)", on: self).start()
        try run.bind(key, at: 1)
        try run.bind(value, at: 2)
        try run.finish()
    }

    func countRows() throws -> Int64 {
        let run = try Statement("SELECT count(*) FROM t", on: self).start()
        return try run.step() ? run.int64(0) : -1
    }
}
