// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `The two files of a keychain` {
    @Test func `are incomplete without the device key`() async throws {
        try await Scenario.run("keys.no_device_key")
    }

    @Test(arguments: User.allCases)
    func `are untouched under the device key of another keychain`(_ user: User) async throws {
        try await Scenario.run("keys.other_device_key", as: user)
    }

    @Test(arguments: User.allCases)
    func `are not made anew when one is missing`(_ user: User) async throws {
        try await Scenario.run("keys.lone_files", as: user)
    }

    @Test(arguments: User.allCases)
    func `are bound to the credential of a service, and back only when asked`(
        _ user: User
    ) async throws {
        try await Scenario.run("keys.bound_to_credential", as: user)
    }

    @Test func `are incomplete when the database is empty`() async throws {
        try await Scenario.run("keys.empty_database")
    }

    @Test func `are not mixed with the log of an earlier keychain`() async throws {
        try await Scenario.run("keys.leftover_log")
    }
}
