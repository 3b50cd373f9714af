// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing

@testable internal import Valet

@Suite struct `Names of valets` {
    @Test(arguments: [nil, ""])
    func `An identifier must not be empty`(_ text: String?) {
        #expect(Identifier(nonEmpty: text) == nil)
    }

    @Test func `An identifier describes itself as its text`() {
        #expect(Identifier(nonEmpty: "a b")?.description == "a b")
    }

    @Test(arguments: [("", "group"), ("prefix", ""), ("prefix", nil)])
    func `A shared group needs a prefix and a name`(_ prefix: String, _ group: String?) {
        #expect(SharedGroupIdentifier(appIDPrefix: prefix, nonEmptyGroup: group) == nil)
    }

    @Test func `A shared group describes itself as prefix and name`() {
        let group = SharedGroupIdentifier(appIDPrefix: "ABC", nonEmptyGroup: "com.example")
        #expect(group?.description == "ABC.com.example")
    }

    @Test func `An app group has the prefix "group"`() {
        let group = SharedGroupIdentifier(groupPrefix: "group", nonEmptyGroup: "com.example")
        #expect(group?.description == "group.com.example")
    }

    @Test(arguments: ["", "grou", "ABC", "Group"])
    func `An app group has no other prefix on Linux`(_ prefix: String) {
        #expect(SharedGroupIdentifier(groupPrefix: prefix, nonEmptyGroup: "com.example") == nil)
    }

    @Test(arguments: [
        (Accessibility.whenUnlocked, 1, "AccessibleWhenUnlocked", "ak"),
        (.afterFirstUnlock, 2, "AccessibleAfterFirstUnlock", "ck"),
        (
            .whenPasscodeSetThisDeviceOnly, 4, "AccessibleWhenPasscodeSetThisDeviceOnly", "akpu"
        ),
        (.whenUnlockedThisDeviceOnly, 5, "AccessibleWhenUnlockedThisDeviceOnly", "aku"),
        (.afterFirstUnlockThisDeviceOnly, 6, "AccessibleAfterFirstUnlockThisDeviceOnly", "cku"),
    ])
    func `An accessibility keeps its number, name and code`(
        _ accessibility: Accessibility, _ number: Int, _ name: String, _ code: String
    ) {
        #expect(accessibility.rawValue == number)
        #expect(accessibility.description == name)
        #expect(accessibility.secAccessibilityAttribute == code)
    }

    @Test(arguments: CloudAccessibility.allCases)
    func `A cloud accessibility is that of the same name`(_ cloud: CloudAccessibility) {
        #expect(cloud.rawValue == cloud.accessibility.rawValue)
        #expect(cloud.description == cloud.accessibility.description)
        #expect(
            cloud.secAccessibilityAttribute == cloud.accessibility.secAccessibilityAttribute)
    }

    @Test(arguments: [
        (SecureEnclaveAccessControl.userPresence, 1, ""),
        (.biometricAny, 2, "_AccessControlTouchIDAnyFingerprint"),
        (.biometricCurrentSet, 3, "_AccessControlTouchIDCurrentFingerprintSet"),
        (.devicePasscode, 4, "_AccessControlDevicePasscode"),
    ])
    func `An access control keeps its number and name`(
        _ control: SecureEnclaveAccessControl, _ number: Int, _ name: String
    ) {
        #expect(control.rawValue == number)
        #expect(control.description == name)
    }
}
