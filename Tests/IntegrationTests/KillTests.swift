// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `A process killed at a system call` {
    @Test func `leaves the old value or the new one`() throws {
        try Scenario.run("kills.existing")
    }

    @Test(arguments: User.allCases)
    func `leaves a creation that the next write completes`(_ user: User) throws {
        try Scenario.run("kills.creation", as: user)
    }

    @Test func `leaves everything in place while it takes over the log`() throws {
        try Scenario.run("kills.checkpoint")
    }
}

/// keys-and-states §3, test 6.
@Suite struct `A change of keys` {
    static let changes = [
        "setting", "changing", "removing", "rotating", "rotating_with_passcode",
        "creating_recovery_key", "recovering", "revoking", "binding", "unbinding",
    ]

    @Test(arguments: changes)
    func `leaves the old keys or the new ones, wherever it was killed`(_ change: String) throws {
        try Scenario.run("epochs.\(change)")
    }

    @Test(
        arguments: [
            "setting", "changing", "removing", "rotating", "creating_recovery_key", "recovering",
        ])
    func `leaves a keychain that can be used, whatever it was refused`(_ change: String) throws {
        try Scenario.run("refusals.\(change)")
    }

    @Test func `is not begun without the room that it takes`() throws {
        try Scenario.run("refusals.full_disk")
    }

    @Test func `goes on when there is room again`() throws {
        try Scenario.run("refusals.full_disk_meanwhile")
    }
}
