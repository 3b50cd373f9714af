// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `A damaged keychain` {
    @Test func `gives right values or errors whichever byte was flipped`() async throws {
        try await Scenario.run("damage.flipped_byte")
    }

    @Test func `is found out whichever cell was changed`() async throws {
        try await Scenario.run("damage.changed_cell")
    }

    @Test func `gives right values or errors wherever the database was cut`() async throws {
        try await Scenario.run("damage.cut_database")
    }

    @Test func `is refused whichever byte of the device key was flipped`() async throws {
        try await Scenario.run("damage.damaged_device_key")
    }

    @Test func `gets no new keys before somebody has dealt with the damage`() async throws {
        try await Scenario.run("setaside.rotation")
    }

    @Test func `is recovered, and says how many items that has cost`() async throws {
        try await Scenario.run("setaside.recovery")
    }

    @Test func `goes on without what its log has lost when somebody says so`() async throws {
        try await Scenario.run("logs.given_up")
    }

    @Test func `loses no more of its log when that is killed`() async throws {
        try await Scenario.run("logs.killed_giving_up")
    }

    @Test func `is whole again when its indexes are rebuilt from its items`() async throws {
        try await Scenario.run("repairs.damaged_indexes")
    }

    @Test func `is damaged as before, or whole, when a repair is killed`() async throws {
        try await Scenario.run("repairs.killed_repair")
    }

    @Test func `is told from one of a newer format`() async throws {
        try await Scenario.run("damage.newer_format")
    }
}
