// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite struct `The name of a program` {
    @Test func `is that of its user when it is setuid, whatever the variables say`() async throws {
        try await Scenario.run("identity.setuid")
    }

    @Test func `stays when its file is replaced or removed`() async throws {
        try await Scenario.run("identity.replaced")
    }

    @Test func `is the one that --app gives, whatever the entitlements say`() async throws {
        try await Scenario.run("identity.app_outranks")
    }

    @Test func `is the one in the Info.plist that the command writes`() async throws {
        try await Scenario.run("identity.named_by_bundle")
    }

    @Test func `is what the command stores things for`() async throws {
        try await Scenario.run("identity.set_down")
    }
}
