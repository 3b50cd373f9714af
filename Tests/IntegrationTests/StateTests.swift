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

    @Test(arguments: User.allCases)
    func `are answered in an order of all that was locked and unlocked`(_ user: User) async throws {
        try await Scenario.run("histories.raced", as: user)
    }

    @Test func `are locked while the page of locks is damaged, and opened by the next unlock`()
        async throws
    {
        try await Scenario.run("histories.accidents")
    }
}

/// docs/FORMAT.md §10.6.
@Suite struct `Opened keys` {
    @Test(arguments: ["unlocking", "unlocking_first", "unlocking_again", "locking", "locking_all"])
    func `are those of before or after a call that was killed`(_ call: String) async throws {
        try await Scenario.run("opened.\(call)", as: .ordinary)
    }

    @Test func `have the old time or the new one when a renewal was killed`() async throws {
        try await Scenario.run("opened.renewing")
    }

    @Test(arguments: ["rotating", "rotating_alone", "changing_alone", "recovering_alone"])
    func `stay locked by a lock in the middle of a change of keys`(_ change: String) async throws {
        try await Scenario.run("inside.\(change)")
    }

    @Test func `stay locked by a lock in the middle of a change that has no room for keys`()
        async throws
    {
        try await Scenario.run("inside.rotating_without_room", as: .lonely)
    }

    @Test func `stay locked by a lock in the middle of a renewal`() async throws {
        try await Scenario.run("inside.renewing")
    }

    @Test func `are open after an unlock that succeeds, though the page cannot be read`()
        async throws
    {
        try await Scenario.run("opened.unread_page")
    }

    @Test func `are locked, and watchers are told, though the database cannot be read`()
        async throws
    {
        try await Scenario.run("opened.told_though_unreadable")
    }
}
