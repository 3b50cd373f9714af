// SPDX-License-Identifier: Apache-2.0

import Foundation
package import Testing
import ValetTestValues

/// What a test may miss on a developer's machine. With `REQUIRE_ALL=1` nothing may be missing.
package enum Requirement {
    /// Whether nothing may be missing.
    package static let isStrict = ProcessInfo.processInfo.environment["REQUIRE_ALL"] == "1"

    /// Mounting takes root, and a kernel or container that lets root mount.
    package static let canMount: Bool = {
        guard geteuid() == 0, let folder = try? TestFolder() else { return isStrict }
        guard let mount = try? Mount.memory(at: folder.path, byteCount: 1 << 20) else {
            return isStrict
        }
        mount.end()
        return true
    }()
}

extension Trait where Self == ConditionTrait {
    /// Skips a test where nothing can be mounted.
    package static var needsMounts: Self {
        .enabled(if: Requirement.canMount, "needs root, to mount")
    }
}

/// Something mounted on a folder, for as long as it lives.
package final class Mount {
    private let path: String
    private var hasEnded = false

    private init(path: String) { self.path = path }

    /// Mounts an empty file system of that size.
    package static func memory(at path: String, byteCount: Int) throws -> Mount {
        try call(unsafe mount("tmpfs", path, "tmpfs", 0, "size=\(byteCount),mode=0700"))
        return Mount(path: path)
    }

    /// Shows the folder at `path` once more at `place`, for reading only.
    package static func readOnly(_ path: String, at place: String) throws -> Mount {
        let bind = UInt(MS_BIND)
        try call(unsafe mount(path, place, nil, bind, nil))
        let mounted = Mount(path: place)
        try call(
            unsafe mount(nil, place, nil, bind | UInt(MS_REMOUNT | MS_RDONLY), nil))
        return mounted
    }

    /// Takes the mount away.
    package func end() {
        guard !hasEnded else { return }
        hasEnded = true
        unsafe umount2(path, Int32(MNT_DETACH))
    }

    private static func call(_ result: Int32) throws {
        guard result == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    deinit { end() }
}
