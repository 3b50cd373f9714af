// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `Many writers at once` {
    @Test(arguments: User.allCases)
    func `lose nothing that was acknowledged, as eight processes`(_ user: User) async throws {
        try await Scenario.run("writers.many_processes", as: user)
    }

    @Test func `stores one of many that are set at once if absent`() async throws {
        try await Scenario.run("writers.if_absent")
    }

    @Test func `lose nothing as two processes of four threads`() async throws {
        try await Scenario.run("writers.threads")
    }

    @Test func `write to the database under the lock only`() async throws {
        try await Scenario.run("writers.checkpoints")
    }

    @Test func `keeps no log from being taken over by a reader that stops`() async throws {
        try await Scenario.run("repairs.stopped_list")
    }

    @Test func `are watched by a reader of traces that misses nothing`() async throws {
        try await Scenario.run("writers.traces_are_read")
    }

    @Test(arguments: User.allCases)
    func `make one keychain of fifty first writes`(_ user: User) async throws {
        try await Scenario.run("keys.creation_race", as: user)
    }

    @Test func `go on with the keychain that another has made meanwhile`() async throws {
        try await Scenario.run("keys.created_meanwhile")
    }
}

/// spec/keys-and-states.md §8, case 16.
@Suite struct `Programs of an earlier version` {
    @Test func `write and read no more once a later one demands it`() async throws {
        try await Scenario.run("writers.newer_program")
    }
}

/// spec/keys-and-states.md §8, cases 5, 7 and 16.
@Suite struct `A change of all keys` {
    @Test func `keeps nobody beyond a deadline`() async throws {
        try await Scenario.run("rotations.beside_others")
    }

    @Test func `loses nothing of a writer that stood still meanwhile`() async throws {
        try await Scenario.run("rotations.stopped_writer")
    }

    @Test func `is followed by programs that run through it`() async throws {
        try await Scenario.run("rotations.running_reader")
    }
}
