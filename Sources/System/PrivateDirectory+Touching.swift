// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension PrivateDirectory {
    /// Sets the times of the empty file `name`, which is made if there is none: watchers of the
    /// folder is told (``FolderWatch``).
    ///
    /// The file is never opened, and what it holds does not matter.
    /// - Throws: ``SystemError``: `readOnly`, `diskFull`, `inputOutput`, what
    ///   ``check(file:)`` throws.
    package func touch(_ name: String) throws(SystemError) {
        if try check(file: name) == nil {
            do throws(SystemError) {
                return try createEmptyFile(name)
            } catch {
                // Somebody else made it: its times may be from before what is to be told.
                guard error.code == .alreadyExists else { throw error }
            }
        }
        guard unsafe utimensat(descriptor.number, name, nil, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw SystemError(errno: errno, during: "touch a file", path: path(of: name))
        }
    }
}
