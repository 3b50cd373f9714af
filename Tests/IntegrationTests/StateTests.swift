// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `Processes that share a keychain with a passcode` {
    @Test(arguments: User.allCases)
    func `do not take one keychain for the other`(_ user: User) async throws {
        try await Scenario.run("states.two_keychains", as: user)
    }

    @Test func `unlock for themselves when there is no room for keys`() async throws {
        try await Scenario.run("states.full_quota", as: .lonely)
    }

    @Test func `unlock again when there is no room for new keys`() async throws {
        try await Scenario.run("states.no_room_for_new_keys", as: .lonely)
    }

    @Test(arguments: User.allCases)
    func `are not read, forged or outlasted by a sandbox that sees only the kernel`(
        _ user: User
    ) async throws {
        try await Scenario.run("sandboxes.kernel_alone", as: user)
    }

    @Test(arguments: User.allCases)
    func `are locked by a lock from another user namespace`(_ user: User) async throws {
        try await Scenario.run("sandboxes.locked_from_a_namespace", as: user)
    }

    @Test(arguments: User.allCases)
    func `lose no item when one is stopped while the keys change`(_ user: User) async throws {
        try await Scenario.run("states.stopped_writer", as: user)
    }

    @Test(arguments: User.allCases)
    func `answer for one of the states while one locks and unlocks`(_ user: User) async throws {
        try await Scenario.run("states.racing_readers", as: user)
    }

    @Test(arguments: User.allCases)
    func `do not notice that the keys change`(_ user: User) async throws {
        try await Scenario.run("states.racing_changes", as: user)
    }
}
