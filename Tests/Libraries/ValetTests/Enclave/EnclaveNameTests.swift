// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Testing
internal import ValetAppleKeychainRequests
internal import ValetKeychainModel
internal import ValetTestValues

@testable internal import Valet

private let identifier = Identifier.named("id")
private let group = SharedGroupIdentifier.sample("ABC")
private let accessibility = "AccessibleWhenPasscodeSetThisDeviceOnly"

@Suite struct `The stored names of a SecureEnclaveValet` {
    static let endings: [(SecureEnclaveAccessControl, String)] = [
        (.userPresence, ""), (.biometricAny, "_AccessControlTouchIDAnyFingerprint"),
        (.biometricCurrentSet, "_AccessControlTouchIDCurrentFingerprintSet"),
        (.devicePasscode, "_AccessControlDevicePasscode"),
    ]

    @Test(arguments: endings)
    func `The service of a SecureEnclaveValet is the one that earlier versions stored`(
        _ accessControl: SecureEnclaveAccessControl, _ ending: String
    ) {
        let one = SecureEnclaveValet.valet(with: identifier, accessControl: accessControl)
        #expect(
            one.enclave.sandbox.service == "VAL_VALSecureEnclaveValet_initWithIdentifier:"
                + "accessibility:_id_\(accessibility)\(ending)")
        let two = SinglePromptSecureEnclaveValet.valet(
            with: identifier, accessControl: accessControl)
        #expect(
            two.enclave.sandbox.service == "VAL_VALSinglePromptSecureEnclaveValet_"
                + "initWithIdentifier:accessibility:_id_\(accessibility)\(ending)")
        let three = SecureEnclaveValet.sharedGroupValet(with: group, accessControl: accessControl)
        #expect(
            three.enclave.sandbox.service == "VAL_VALSecureEnclaveValet_"
                + "initWithSharedAccessGroupIdentifier:accessibility:_com.example_"
                + "\(accessibility)\(ending)")
        let four = SinglePromptSecureEnclaveValet.sharedGroupValet(
            with: group, identifier: identifier, accessControl: accessControl)
        #expect(
            four.enclave.sandbox.service == "VAL_VALSinglePromptSecureEnclaveValet_"
                + "initWithSharedAccessGroupIdentifier:accessibility:_com.example_id_"
                + "\(accessibility)\(ending)")
        #expect(four.enclave.sandbox.accessGroup == AccessGroup("ABC.com.example"))
    }

    @Test(arguments: endings.map(\.0))
    func `The access control of a SecureEnclaveValet is in the item, without a separate class`(
        _ accessControl: SecureEnclaveAccessControl
    ) throws {
        let sample = try EnclaveSample(.fake)
        try sample.valet(accessControl).setString("value", forKey: "key")
        let stored = try #require(sample.fake.stored.first)
        #expect(sample.fake.stored.count == 1)
        #expect(stored["accc"] as? AnyHashable == accessControl.object)
        #expect(stored["acct"] as? String == "key")
        #expect(sample.fake.received.allSatisfy { $0["accc"] == nil || $0["pdmn"] == nil })
        #expect(sample.fake.received.allSatisfy { $0["nleg"] as? Bool == true })
    }
}

@Suite struct `Objects of SecureEnclaveValet` {
    private let name = Identifier.named(UUID().uuidString)

    @Test func `One configuration of a SecureEnclaveValet has one object while that is alive`() {
        let one = SecureEnclaveValet.valet(with: name, accessControl: .userPresence)
        #expect(one === SecureEnclaveValet.valet(with: name, accessControl: .userPresence))
        let two = SinglePromptSecureEnclaveValet.valet(with: name, accessControl: .userPresence)
        #expect(
            two === SinglePromptSecureEnclaveValet.valet(with: name, accessControl: .userPresence))
        let group = SinglePromptSecureEnclaveValet.sharedGroupValet(
            with: group, identifier: name, accessControl: .devicePasscode)
        #expect(
            group
                === SinglePromptSecureEnclaveValet.sharedGroupValet(
                    with: .sample("ABC"), identifier: name, accessControl: .devicePasscode))
    }

    @Test func `SecureEnclaveValets that read and write the same items are equal`() {
        let one = SecureEnclaveValet.valet(with: name, accessControl: .userPresence)
        let same = SecureEnclaveValet(one.enclave)
        let other = SecureEnclaveValet.valet(with: name, accessControl: .devicePasscode)
        let single = SinglePromptSecureEnclaveValet.valet(with: name, accessControl: .userPresence)
        #expect(one == same && one.hash == same.hash)
        #expect(one != other)
        #expect(!one.isEqual(single) && !single.isEqual(one))
        #expect(single == SinglePromptSecureEnclaveValet(single.enclave))
    }

    @Test func `A SecureEnclaveValet describes itself by identifier, access control and kind`() {
        #expect("\(SecureEnclave.self)" == "SecureEnclave")
        let one = SecureEnclaveValet.valet(with: name, accessControl: .userPresence)
        #expect(one.identifier == name && one.accessControl == .userPresence)
        #expect(one.description == "\(name) \(accessibility) (SecureEnclaveValet)")
        let two = SinglePromptSecureEnclaveValet.valet(with: name, accessControl: .devicePasscode)
        #expect(two.identifier == name && two.accessControl == .devicePasscode)
        let control = "\(accessibility)_AccessControlDevicePasscode"
        #expect(two.description == "\(name) \(control) (SinglePromptSecureEnclaveValet)")
    }
}

extension SecureEnclaveAccessControl {
    /// What the SecItem functions get.
    fileprivate var object: AnyHashable? {
        var item = NewItem(.genericPassword, attributes: [:])
        item.accessControl = demand.accessControl
        return item.dictionary["accc"] as? AnyHashable
    }
}
