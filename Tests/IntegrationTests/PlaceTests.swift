// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `The place of a keychain` {
    @Test func `may be read-only, for reading`() throws {
        try Scenario.run("places.read_only")
    }

    @Test func `may fill up, and nothing is lost`() throws {
        try Scenario.run("places.full_disk")
    }

    @Test func `may fill up at each write`() throws {
        try Scenario.run("places.full_disk_at_each_write")
    }

    @Test func `may fill up at each step of creation`() throws {
        try Scenario.run("places.full_disk_at_creation")
    }

    @Test func `must be known from a variable`() throws {
        try Scenario.run("places.no_home")
    }

    @Test func `is not a relative path`() throws {
        try Scenario.run("places.relative_home")
    }

    @Test(arguments: User.allCases)
    func `must be one where folders can be made`(_ user: User) throws {
        try Scenario.run("places.read_only_home", as: user)
    }

    @Test(arguments: User.allCases)
    func `is refused when others have permissions`(_ user: User) throws {
        try Scenario.run("places.wrong_mode", as: user)
    }

    @Test func `is refused when another user owns it`() throws {
        try Scenario.run("places.wrong_owner")
    }

    @Test(arguments: User.allCases)
    func `is refused when a link stands in it`(_ user: User) throws {
        try Scenario.run("places.links", as: user)
    }

    @Test(arguments: User.allCases)
    func `is refused when something that is no file stands in it`(_ user: User) throws {
        try Scenario.run("places.other_kinds", as: user)
    }
}
