// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `The library` {
    @Test func `prints and asks nothing, whatever fails`() async throws {
        try await Scenario.run("silence.through_errors")
    }

    @Test(arguments: User.allCases)
    func `asks nobody to store what needs a person`(_ user: User) async throws {
        try await Scenario.run("presence.nobody_needed", as: user)
    }

    @Test func `asks nobody below the level that a program requires`() async throws {
        try await Scenario.run("presence.software_refused")
    }

    @Test(arguments: User.allCases)
    func `opens what is under a password for that password alone`(_ user: User) async throws {
        try await Scenario.run("presence.application_password", as: user)
    }

    @Test func `maps no memory when it reads again`() async throws {
        try await Scenario.run("silence.warm_reading")
    }

    @Test func `finds by an index what it is asked for`() async throws {
        try await Scenario.run("plans.of_statements")
    }

    @Test func `The files of a keychain keep neither names nor values in the clear`() async throws {
        try await Scenario.run("silence.in_no_file")
    }

    @Test func `takes values of all sizes and contents`() async throws {
        try await Scenario.run("silence.sizes")
    }

    @Test func `leaves no secret in memory`() async throws {
        try await Scenario.run("leaks.after_use")
    }

    @Test(arguments: User.allCases)
    func `keeps no key in a locked process, and none in the files`(_ user: User) async throws {
        try await Scenario.run("canaries.after_locking", as: user)
    }

    @Test(arguments: User.allCases)
    func `keeps no key of an epoch that is over`(_ user: User) async throws {
        try await Scenario.run("canaries.after_changing", as: user)
    }

    @Test func `leaves no passcode in memory`() async throws {
        try await Scenario.run("leaks.after_unlocking")
    }

    @Test func `leaves no passcode in the memory of the command`() async throws {
        try await Scenario.run("leaks.of_the_command")
    }

    @Test func `works where memory cannot be locked, and says what that means`() async throws {
        try await Scenario.run("leaks.into_the_swap", as: .ordinary)
    }
}
