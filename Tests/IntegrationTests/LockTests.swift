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
