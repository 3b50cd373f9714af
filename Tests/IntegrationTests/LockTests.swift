// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `The lock of writers` {
    @Test func `is waited for until the deadline when its holder is stopped`() async throws {
        try await Scenario.run("locks.stopped_holder")
    }

    @Test func `is free when its holder is killed`() async throws {
        try await Scenario.run("locks.killed_holder")
    }

    @Test(arguments: User.allCases)
    func `is not dropped by looking at the files`(_ user: User) async throws {
        try await Scenario.run("locks.stray_close", as: user)
    }
}

@Suite struct `A process that is stopped` {
    @Test func `while it writes keeps nobody beyond the deadline, and no reader at all`()
        async throws
    {
        try await Scenario.run("stops.setting")
    }

    @Test func `while it reads keeps nobody from reading on`() async throws {
        try await Scenario.run("stops.getting")
    }

    @Test func `in its first opening keeps nobody beyond the deadline`() async throws {
        try await Scenario.run("stops.opening")
    }

    @Test func `in its first opening, to write, keeps nobody beyond the deadline`() async throws {
        try await Scenario.run("stops.opening_to_write")
    }

    @Test func `while it changes the keys keeps nobody beyond the deadline`() async throws {
        try await Scenario.run("stops.rotating")
    }
}

@Suite struct `Locks that the system does not give` {
    @Test func `are an error that says so, by the deadline`() async throws {
        try await Scenario.run("stops.no_locks")
    }
}
