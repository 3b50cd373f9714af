// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `A valet whose keys others change` {
    @Test(arguments: User.allCases)
    func `tells what they store`(_ user: User) async throws {
        try await Scenario.run("changes.told", as: user)
    }

    @Test(arguments: User.allCases)
    func `tells of it once it can be read`(_ user: User) async throws {
        try await Scenario.run("changes.locked_keys", as: user)
    }
}
