// SPDX-License-Identifier: Apache-2.0

internal import CLinux
internal import Glibc

extension FileIdentity {
    /// Which file or folder `path` leads to, through links, without opening it; nil if it cannot
    /// be told.
    package init?(of path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}
