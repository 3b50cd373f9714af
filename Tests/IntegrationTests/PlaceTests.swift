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

    @Test func `may be full, and items are removed`() async throws {
        try await Scenario.run("places.removing_on_full_disk")
    }

    @Test func `may have no room for another file`() async throws {
        try await Scenario.run("places.no_inode_left")
    }

    @Test func `may be read-only, with a blank log and no index of it`() async throws {
        try await Scenario.run("places.blank_log_on_read_only")
    }

    @Test func `may know neither links nor renaming that replaces nothing`() async throws {
        try await Scenario.run("places.refused_calls")
    }

    @Test func `may have any clock`() async throws {
        try await Scenario.run("places.any_clock")
    }

    @Test func `may have little memory for large values`() async throws {
        try await Scenario.run("places.little_memory")
    }

    @Test func `must be known from a variable`() async throws {
        try await Scenario.run("places.no_home")
    }

    @Test func `is not a relative path`() async throws {
        try await Scenario.run("places.relative_home")
    }

    @Test func `is not at a relative path of XDG's, which is ignored`() async throws {
        try await Scenario.run("places.relative_base")
    }

    @Test(arguments: User.allCases)
    func `may be a new folder, which is closed to others`(_ user: User) async throws {
        try await Scenario.run("places.new_folder", as: user)
    }

    @Test(arguments: User.allCases)
    func `is described whole when several permissions are wrong`(_ user: User) async throws {
        try await Scenario.run("places.several_wrong_modes", as: user)
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
    func `A symbolic link in place of a keychain is refused`(_ user: User) async throws {
        try await Scenario.run("places.links", as: user)
    }

    @Test(arguments: User.allCases)
    func `is refused when something that is no file stands in it`(_ user: User) async throws {
        try await Scenario.run("places.other_kinds", as: user)
    }
}

@Suite struct `A keychain's folder that is replaced under running programs` {
    @Test(arguments: User.allCases)
    func `has what they write from then on, and nothing is written where it was`(
        _ user: User
    ) async throws {
        try await Scenario.run("replacements.writers", as: user)
    }

    @Test func `is what they read a tenth of a second later`() async throws {
        try await Scenario.run("replacements.readers")
    }

    @Test func `keeps out who does not hold its own lock`() async throws {
        try await Scenario.run("replacements.other_lock")
    }

    @Test(arguments: User.allCases)
    func `may be another keychain's, and no process mixes the two`(_ user: User) async throws {
        try await Scenario.run("replacements.other_keychain", as: user)
    }

    @Test func `is noticed when a link on the way leads elsewhere`() async throws {
        try await Scenario.run("replacements.link_above")
    }

    @Test func `may be gone, and is made anew by the next write`() async throws {
        try await Scenario.run("replacements.vanished")
    }

    @Test func `has every write that was acknowledged after that`() async throws {
        try await Scenario.run("replacements.under_load")
    }

    @Test func `is never opened with the log of another`() async throws {
        try await Scenario.run("replacements.while_opening")
    }

    @Test func `may come before that of its device key`() async throws {
        try await Scenario.run("replacements.device_folder")
    }
}
