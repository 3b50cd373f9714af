// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// A folder for one test, of mode 0700, removed with everything in it.
package final class TestFolder {
    /// Where it is.
    package let path: String

    /// Makes an empty one.
    package init() throws {
        let template = FileManager.default.temporaryDirectory.path + "/valet-test-XXXXXX"
        var bytes = Array(template.utf8CString)
        guard let name = unsafe mkdtemp(&bytes) else { throw POSIXError(.EIO) }
        path = unsafe String(cString: name)
    }

    /// Where the file of that name is.
    package func path(_ name: String) -> String { path + "/" + name }

    /// All names, hidden ones too, sorted.
    package func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    /// The bytes of a file.
    package func read(_ name: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(fileURLWithPath: path(name))))
    }

    /// Writes a file.
    package func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o600) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
        setMode(mode, of: name)
    }

    /// Changes the permission bits.
    package func setMode(_ mode: mode_t, of name: String) {
        unsafe _ = chmod(path(name), mode)
    }

    /// Makes a symbolic link.
    package func link(_ name: String, to target: String) {
        unsafe _ = symlink(target, path(name))
    }

    /// Makes a folder in it, of mode 0700.
    package func makeFolder(_ name: String) { unsafe _ = mkdir(path(name), 0o700) }

    /// Makes a named pipe in it.
    package func makePipe(_ name: String) { unsafe _ = mkfifo(path(name), 0o600) }

    /// The permission bits, or `nil` if there is no such file.
    package func mode(_ name: String) -> mode_t? {
        var status = stat()
        guard unsafe lstat(path(name), &status) == 0 else { return nil }
        return status.st_mode & 0o7777
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
