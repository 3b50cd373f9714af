// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `A damaged keychain` {
    @Test func `gives right values or errors whichever byte was flipped`() throws {
        try Scenario.run("damage.flipped_byte")
    }

    @Test func `is found out whichever cell was changed`() throws {
        try Scenario.run("damage.changed_cell")
    }

    @Test func `gives right values or errors wherever the database was cut`() throws {
        try Scenario.run("damage.cut_database")
    }

    @Test func `is refused whichever byte of the device key was flipped`() throws {
        try Scenario.run("damage.damaged_device_key")
    }

    @Test func `gets no new keys before somebody has dealt with the damage`() throws {
        try Scenario.run("setaside.rotation")
    }

    @Test func `is recovered, and says how many items that has cost`() throws {
        try Scenario.run("setaside.recovery")
    }

    @Test func `is told from one of a newer format`() throws {
        try Scenario.run("damage.newer_format")
    }
}
