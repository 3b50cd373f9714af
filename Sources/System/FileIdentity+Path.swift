// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ValetCLinux

extension PrivateDirectory {
    /// `path` without symbolic links and detours; as it is, if nothing is there.
    package static func resolvedPath(_ path: String) -> String {
        guard let resolved = unsafe realpath(path, nil) else { return path }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }
}

extension FileIdentity {
    /// Which file or folder `path` leads to, through links, without opening it; nil if it cannot
    /// be told.
    package init?(of path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}
