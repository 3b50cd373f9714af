// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `A child that never calls exec` {
    @Test func `works beside its parent`() async throws {
        try await Scenario.run("forks.after_use")
    }

    @Test func `is refused when another thread was in the middle of a call`() async throws {
        try await Scenario.run("forks.in_the_middle")
    }

    @Test func `damages nothing whenever it was forked`() async throws {
        try await Scenario.run("forks.at_any_moment")
    }
}
