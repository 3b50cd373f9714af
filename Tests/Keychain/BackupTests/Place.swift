// SPDX-License-Identifier: Apache-2.0

import Foundation
import ValetTestValues

/// A small disk in memory, which takes root and a kernel that lets root mount. With `REQUIRE_ALL=1`
/// it may not be missing.
final class Place {
    static let hasMemory: Bool = {
        if ProcessInfo.processInfo.environment["REQUIRE_ALL"] == "1" { return true }
        guard geteuid() == 0, let place = try? Place.memory(byteCount: 64 << 10) else {
            return false
        }
        place.end()
        return true
    }()

    private let folder: TestFolder
    private var hasEnded = false
    var path: String { folder.path }

    private init(_ folder: TestFolder) { self.folder = folder }

    static func memory(byteCount: Int) throws -> Place {
        let folder = try TestFolder()
        let result = unsafe mount(
            "tmpfs", folder.path, "tmpfs", 0, "size=\(byteCount),mode=0700")
        guard result == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        return Place(folder)
    }

    func end() {
        guard !hasEnded else { return }
        hasEnded = true
        unsafe umount2(path, Int32(MNT_DETACH))
    }

    deinit { end() }
}
