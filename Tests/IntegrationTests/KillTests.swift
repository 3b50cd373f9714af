// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `A process killed at a system call` {
    @Test func `leaves the old value or the new one`() async throws {
        try await Scenario.run("kills.existing")
    }

    @Test(arguments: User.allCases)
    func `leaves a creation that the next write completes`(_ user: User) async throws {
        try await Scenario.run("kills.creation", as: user)
    }

    @Test func `leaves items that another call deletes, in the middle of many`() async throws {
        try await Scenario.run("repairs.killed_deletion")
    }

    @Test func `leaves everything in place while it takes over the log`() async throws {
        try await Scenario.run("kills.checkpoint")
    }
}

@Suite struct `A change of accessibility` {
    @Test func `leaves each item with the old accessibility, or each with the new one`()
        async throws
    {
        try await Scenario.run("moves.killed")
    }

    @Test func `refuses a source that has a damaged item`() async throws {
        try await Scenario.run("moves.damaged")
    }
}

/// spec/keys-and-states.md §8, case 6.
@Suite struct `A change of keys` {
    static let changes = [
        "setting", "changing", "removing", "rotating", "rotating_with_passcode",
        "creating_recovery_key", "recovering", "recovering_in_between", "recovering_a_lost_key",
        "revoking", "binding", "unbinding", "binding_to_tpm", "binding_passcode_to_tpm",
        "changing_passcode_in_tpm", "rotating_in_tpm", "unbinding_from_tpm",
    ]

    @Test(arguments: changes)
    func `leaves the old keys or the new ones, wherever it was killed`(_ change: String)
        async throws
    {
        try await Scenario.run("epochs.\(change)")
    }

    /// Keys of an ordinary user lie in another keyring, under another quota.
    @Test(arguments: ["setting", "changing"])
    func `leaves them to an ordinary user, too`(_ change: String) async throws {
        try await Scenario.run("epochs.\(change)", as: .ordinary)
    }

    @Test(
        arguments: [
            "setting", "changing", "removing", "rotating", "creating_recovery_key", "recovering",
            "recovering_in_between",
        ])
    func `leaves a keychain that can be used, whatever it was refused`(_ change: String)
        async throws
    {
        try await Scenario.run("refusals.\(change)")
    }

    @Test(arguments: ["rotation", "tidying", "changing", "recovering", "unbinding"])
    func `loses nothing, whichever file cannot be read for a moment`(_ change: String) async throws
    {
        try await Scenario.run("misreads.\(change)")
    }

    @Test func `is not begun without the room that it takes`() async throws {
        try await Scenario.run("refusals.full_disk")
    }

    @Test func `goes on when there is room again`() async throws {
        try await Scenario.run("refusals.full_disk_meanwhile")
    }
}

/// spec/keys-and-states.md §8, cases 3 and 4.
@Suite struct `Keys that were changed` {
    @Test func `leave nothing on the disk that opens a key in use`() async throws {
        try await Scenario.run("remnants.on_disk")
    }

    @Test func `are erased when the last who reads what was before has gone`() async throws {
        try await Scenario.run("remnants.idle_reader")
    }

    @Test func `are erased beside a program that does nothing`() async throws {
        try await Scenario.run("remnants.idle_program")
    }

    @Test func `open nothing that needed the passcode once it is removed`() async throws {
        try await Scenario.run("remnants.removed_passcode")
    }
}
