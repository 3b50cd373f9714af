// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `A child that never calls exec` {
    @Test func `works beside its parent`() throws {
        try Scenario.run("forks.after_use")
    }

    @Test func `is refused when another thread was in the middle of a call`() throws {
        try Scenario.run("forks.in_the_middle")
    }

    @Test func `damages nothing whenever it was forked`() throws {
        try Scenario.run("forks.at_any_moment")
    }
}
