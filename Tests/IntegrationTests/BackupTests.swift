// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `A backup, end to end` {
    @Test(arguments: User.allCases)
    func `brings items back after everything else was lost`(_ user: User) async throws {
        try await Scenario.run("backups.story", as: user)
    }

    @Test func `takes its passphrase from nowhere but where it was told`() async throws {
        try await Scenario.run("backups.passphrases")
    }

    @Test(arguments: User.allCases)
    func `asks for the passcode where each process unlocks for itself`(_ user: User) async throws {
        try await Scenario.run("backups.locked", as: user)
    }

    @Test func `is whole or absent after a kill`() async throws {
        try await Scenario.run("backups.killed_creation")
    }

    @Test func `is restored as a whole or not at all after a kill`() async throws {
        try await Scenario.run("backups.killed_restore")
    }

    @Test func `makes a keychain with all of it or none of it after a kill`() async throws {
        try await Scenario.run("backups.killed_first_restore")
    }

    @Test func `changes nothing where there is no room`() async throws {
        try await Scenario.run("backups.full_disk")
    }

    @Test func `that is stopped does not make the log grow`() async throws {
        try await Scenario.run("backups.stopped")
    }

    @Test func `of more than memory is to hold is made from a file without a name`() async throws {
        try await Scenario.run("backups.spooled")
    }

    @Test func `and what else reads for long is named by doctor`() async throws {
        try await Scenario.run("backups.named_reader")
    }

    @Test func `lets others read while it is restored, and loses no write`() async throws {
        try await Scenario.run("backups.readers_and_writers")
    }
}
