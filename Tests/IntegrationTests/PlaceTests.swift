// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `The place of a keychain` {
    @Test func `may be read-only, for reading`() async throws {
        try await Scenario.run("places.read_only")
    }

    @Test func `may fill up, and nothing is lost`() async throws {
        try await Scenario.run("places.full_disk")
    }

    @Test func `may fill up at each write`() async throws {
        try await Scenario.run("places.full_disk_at_each_write")
    }

    @Test func `may fill up at each step of creation`() async throws {
        try await Scenario.run("places.full_disk_at_creation")
    }

    @Test func `must be known from a variable`() async throws {
        try await Scenario.run("places.no_home")
    }

    @Test func `is not a relative path`() async throws {
        try await Scenario.run("places.relative_home")
    }

    @Test func `is not a path that is not UTF-8`() async throws {
        try await Scenario.run("places.home_that_is_no_text")
    }

    @Test(arguments: User.allCases)
    func `must be one where folders can be made`(_ user: User) async throws {
        try await Scenario.run("places.read_only_home", as: user)
    }

    @Test func `is refused when the system denies access to it`() async throws {
        try await Scenario.run("places.denied", as: .ordinary)
    }

    @Test func `is refused with a device key that is named by a relative path`() async throws {
        try await Scenario.run("places.relative_device_key")
    }

    @Test(arguments: User.allCases)
    func `is refused when others have permissions`(_ user: User) async throws {
        try await Scenario.run("places.wrong_mode", as: user)
    }

    @Test func `is refused when another user owns it`() async throws {
        try await Scenario.run("places.wrong_owner")
    }

    @Test(arguments: User.allCases)
    func `is refused when a link stands in it`(_ user: User) async throws {
        try await Scenario.run("places.links", as: user)
    }

    @Test(arguments: User.allCases)
    func `is refused when something that is no file stands in it`(_ user: User) async throws {
        try await Scenario.run("places.other_kinds", as: user)
    }
}
