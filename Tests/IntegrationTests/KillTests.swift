// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `A process killed at a system call` {
    @Test func `leaves the old value or the new one`() throws {
        try Scenario.run("kills.existing")
    }

    @Test(arguments: User.allCases)
    func `leaves a creation that the next write completes`(_ user: User) throws {
        try Scenario.run("kills.creation", as: user)
    }

    @Test func `leaves everything in place while it takes over the log`() throws {
        try Scenario.run("kills.checkpoint")
    }
}
