// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

/// Whether paths, and the handle, still lead to what is open. The handle of a folder goes with the
/// folder: a look through it alone does not show that the folder was moved away and
/// another put in its place, and goes on where nobody looks any more.
extension PrivateDirectory {
    /// Whether the path that the folder was opened by still leads to it: not if it was moved away
    /// or removed, or if a symbolic link on the way leads elsewhere now; nor if somebody has closed
    /// the handle. Two system calls.
    ///
    /// - Throws: ``SystemError`` if it cannot be told, such as `cannotOpen`.
    package func isInPlace() throws(SystemError) -> Bool {
        guard descriptor.isSound else { return false }
        return try Self.thing(at: givenPath)?.isSameFile(as: identity) == true
    }

    /// Whether that path, with `name` behind it, leads to `file`, which was found or opened there
    /// before. Three system calls: for a holder of an open file, before it relies on that.
    ///
    /// - Throws: As ``isInPlace()`` and ``check(file:)``.
    package func isInPlace(
        _ name: String, as file: FileIdentity
    ) throws(SystemError) -> Bool {
        guard try isInPlace() else { return false }
        return try check(file: name)?.isSameFile(as: file) == true
    }

    /// Refuses a folder that is not where it was opened.
    ///
    /// - Throws: ``SystemError``: `replaced`; as ``isInPlace()``.
    package func checkPlace(during operation: String) throws(SystemError) {
        guard try isInPlace() else { throw replaced(operation) }
    }

    /// Refuses a file that another program with the same ``path`` may not have found: when the
    /// path as it was given, or the one without symbolic links, leads to another.
    ///
    /// - Throws: As ``checkPlace(during:)``.
    package func checkPlace(
        of name: String, as file: FileIdentity, during operation: String
    ) throws(SystemError) {
        guard try isInPlace(name, as: file),
            try Self.thing(at: path(of: name))?.isSameFile(as: file) == true
        else { throw replaced(operation) }
    }

    /// The error for a folder that is no longer where it was opened.
    package func replaced(_ operation: String) -> SystemError {
        SystemError(.replaced, during: operation, path: givenPath, hint: "try again")
    }

    /// What is at `path`, be it a symbolic link; nil if nothing is.
    private static func thing(at path: String) throws(SystemError) -> FileIdentity? {
        var status = stat()
        guard unsafe lstat(path, &status) != 0 else { return FileIdentity(status) }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw SystemError(errno: errno, during: "look for a file", path: path)
    }
}
