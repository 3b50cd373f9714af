// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A folder for one test, of mode 0700, removed with everything in it.
final class TestFolder {
    let path: String

    init() throws {
        let template = FileManager.default.temporaryDirectory.path + "/valet-backup-XXXXXX"
        var bytes = Array(template.utf8CString)
        guard let name = unsafe mkdtemp(&bytes) else { throw POSIXError(.EIO) }
        path = unsafe String(cString: name)
    }

    /// Where a test puts its backup.
    var backup: String { path("keys.backup") }

    func path(_ name: String) -> String { path + "/" + name }

    func read(_ name: String = "keys.backup") throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    func write(_ bytes: [UInt8], to name: String = "keys.backup") throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    }

    /// All names, hidden ones too, sorted.
    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    func link(_ name: String, to target: String) { unsafe _ = symlink(target, path(name)) }

    func makeFolder(_ name: String) { unsafe _ = mkdir(path(name), 0o700) }

    func makePipe(_ name: String) { unsafe _ = mkfifo(path(name), 0o600) }

    /// The permission bits, or `nil` if there is no such file.
    func mode(_ name: String = "keys.backup") -> mode_t? {
        var status = stat()
        guard unsafe lstat(path(name), &status) == 0 else { return nil }
        return status.st_mode & 0o7777
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
