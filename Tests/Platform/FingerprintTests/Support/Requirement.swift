// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// What a test may miss on a developer's machine. With `REQUIRE_ALL=1` nothing may be missing that
/// the user who runs it could have.
enum Requirement {
    private static let isStrict = ProcessInfo.processInfo.environment["REQUIRE_ALL"] == "1"

    private static func isPossible(_ programs: [String]) -> Bool {
        isStrict || programs.allSatisfy { unsafe access($0, X_OK) == 0 }
    }

    static let hasBus = isPossible([PrivateBus.program])

    /// polkitd starts as root, and fprintd believes no other.
    static let hasReader =
        geteuid() == 0
        && isPossible([
            PrivateBus.program, ReaderFixture.authority, ReaderFixture.service,
            "/usr/bin/dbus-send", "/usr/bin/setpriv",
        ])

    /// A bus at the system's own path takes a view of the files of one's own.
    static let canHide = hasReader && (isStrict || isAllowed)

    private static var isAllowed: Bool {
        let child = try? Child("/usr/bin/unshare", ["--mount", "--propagation", "private", "true"])
        return child?.exitCode() == 0
    }
}

extension Trait where Self == ConditionTrait {
    static var needsBus: Self {
        .enabled(if: Requirement.hasBus, "needs the Debian package dbus")
    }

    static var needsMounts: Self {
        .enabled(if: Requirement.canHide, "needs root, to mount, and what the reader needs")
    }

    static var needsReader: Self {
        .enabled(
            if: Requirement.hasReader,
            "needs root, and the Debian packages dbus, polkitd and fprintd")
    }
}
