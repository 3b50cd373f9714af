// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `A keychain with a passcode` {
    @Test(arguments: User.allCases)
    func `is locked and unlocked for all processes at once`(_ user: User) async throws {
        try await Scenario.run("passcodes.shared_state", as: user)
    }

    @Test(arguments: User.allCases)
    func `is locked at once, and waits for who writes when asked to`(_ user: User) async throws {
        try await Scenario.run("passcodes.lock_waits", as: user)
    }

    @Test func `has a passcode that takes what the machine can spare`() async throws {
        try await Scenario.run("passcodes.calibrated")
    }

    @Test func `is made with its passcode or without it when that is killed`() async throws {
        try await Scenario.run("passcodes.killed_first_setting")
    }

    @Test(arguments: User.allCases)
    func `is unlocked by each process where the kernel keeps no keys`(_ user: User) async throws {
        try await Scenario.run("passcodes.refused_keyrings", as: user)
    }

    @Test(arguments: User.allCases)
    func `locks itself when its time is over`(_ user: User) async throws {
        try await Scenario.run("passcodes.deadline", as: user)
    }

    @Test(arguments: User.allCases)
    func `locks itself when it is not used`(_ user: User) async throws {
        try await Scenario.run("passcodes.auto_lock", as: user)
    }

    @Test(arguments: User.allCases)
    func `never waits for an answer where nobody can be asked`(_ user: User) async throws {
        try await Scenario.run("passcodes.without_asking", as: user)
    }

    @Test func `is not asked for as a variable says that is not understood`() async throws {
        try await Scenario.run("passcodes.settings")
    }

    @Test(arguments: User.allCases)
    func `is unlocked for one command where each process has its own keys`(_ user: User)
        async throws
    {
        try await Scenario.run("passcodes.own_state", as: user)
    }

    @Test(arguments: User.allCases)
    func `stays locked when it is given new keys`(_ user: User) async throws {
        try await Scenario.run("passcodes.new_keys_while_locked", as: user)
    }

    @Test(arguments: User.allCases)
    func `is locked though its files cannot be read`(_ user: User) async throws {
        try await Scenario.run("passcodes.unreadable", as: user)
    }

    @Test func `is locked with all others where nothing says which it is`() async throws {
        try await Scenario.run("passcodes.unreadable_and_unknown", as: .lonely)
    }

    @Test func `takes no file of its own for a descriptor that gives the passcode`() async throws {
        try await Scenario.run("passcodes.descriptors_not_given")
    }

    @Test(arguments: User.allCases)
    func `is not unlocked for a moment by a recovery key or new keys`(_ user: User) async throws {
        try await Scenario.run("epochs.changes_while_locked", as: user)
    }

    @Test func `gets one recovery key where two programs make one at once`() async throws {
        try await Scenario.run("passcodes.recovery_keys_at_once")
    }

    @Test(arguments: User.allCases)
    func `comes back with the recovery key`(_ user: User) async throws {
        try await Scenario.run("passcodes.recovery", as: user)
    }

    @Test(arguments: User.allCases)
    func `opens with a device key that is kept elsewhere`(_ user: User) async throws {
        try await Scenario.run("passcodes.key_file", as: user)
    }
}
