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

@Suite struct `A program that closes what is not its own` {
    @Test func `goes on at once`() async throws {
        try await Scenario.run("descriptors.closed")
    }

    @Test func `goes on from whatever number it has closed`() async throws {
        try await Scenario.run("descriptors.closed_in_part")
    }

    @Test func `keeps what it has put in its place`() async throws {
        try await Scenario.run("descriptors.taken")
    }

    @Test func `is told what others store all the same`() async throws {
        try await Scenario.run("descriptors.watching")
    }

    @Test func `leaves its child the keychain`() async throws {
        try await Scenario.run("descriptors.forked")
    }
}
