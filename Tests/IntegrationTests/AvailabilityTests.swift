// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `The lock state of a process` {
    @Test(arguments: User.allCases)
    func `is told to all who watch, in every process`(_ user: User) async throws {
        try await Scenario.run("availability.shared", as: user)
    }

    @Test(arguments: User.allCases)
    func `is told when the time of an unlock is over`(_ user: User) async throws {
        try await Scenario.run("availability.deadline", as: user)
    }

    @Test(arguments: User.allCases)
    func `is told when the keychain was not used for its idle time`(_ user: User) async throws {
        try await Scenario.run("availability.auto_lock", as: user)
    }

    @Test(arguments: User.allCases)
    func `stays unlocked while another process uses the keychain`(_ user: User) async throws {
        try await Scenario.run("availability.used_by_another", as: user)
    }

    @Test(arguments: User.allCases)
    func `ends with a change of keys where it is its own, and says what helps`(
        _ user: User
    ) async throws {
        try await Scenario.run("availability.changed_keys", as: user)
    }

    @Test func `is of one process where no file can be touched`() async throws {
        try await Scenario.run("availability.read_only")
    }

    @Test func `is told from before there is a keychain on`() async throws {
        try await Scenario.run("availability.creation")
    }

    @Test(arguments: User.allCases)
    func `is waited for until another process unlocks`(_ user: User) async throws {
        try await Scenario.run("availability.waiting", as: user)
    }

    @Test(arguments: User.allCases)
    func `is its own where it unlocks for itself`(_ user: User) async throws {
        try await Scenario.run("availability.own", as: user)
    }

    @Test(arguments: User.allCases)
    func `is what canAccessKeychain goes by`(_ user: User) async throws {
        try await Scenario.run("availability.canary", as: user)
    }
}

@Suite struct `A passcode from a descriptor` {
    @Test(arguments: User.allCases)
    func `unlocks at the first call, and is read once`(_ user: User) async throws {
        try await Scenario.run("availability.descriptor", as: user)
    }

    @Test func `is not tried again when it was wrong`() async throws {
        try await Scenario.run("availability.wrong")
    }

    @Test func `does not unlock what processes share`() async throws {
        try await Scenario.run("availability.shared_descriptor")
    }
}

@Suite struct `A level that a program requires` {
    @Test(arguments: User.allCases)
    func `lets no call through below it, and no keychain be made`(_ user: User) async throws {
        try await Scenario.run("availability.level", as: user)
    }
}
