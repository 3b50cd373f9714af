// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetKeychainDatabase
import ValetKeychainModel
import ValetTestSupport

@testable import ValetKeychainServices
@testable import ValetKeychainStore

@Suite struct `The lock state` {
    private let keychain = TestKeychain()

    @Test func `The lock state of a missing keychain is absent, and asking creates nothing`() throws
    {
        #expect(try keychain.session.lockState() == .absent)
        #expect(try keychain.session.protectionLevel() == nil)
        #expect(!FileManager.default.fileExists(atPath: keychain.folder))
    }

    @Test func `The lock state follows passcode, lock and unlock`() throws {
        try keychain.add("a")
        #expect(try keychain.session.lockState() == .noPasscode)
        #expect(try keychain.session.protectionLevel() == .file)
        try keychain.setPasscode()
        #expect(try keychain.session.lockState() == .unlocked)
        #expect(try keychain.session.protectionLevel() == .passcode)
        try keychain.session.lock(all: false)
        #expect(try keychain.session.lockState() == .locked)
        try keychain.session.lock(all: true)
        #expect(try keychain.session.lockState() == .beforeFirstUnlock)
        #expect(try keychain.session.protectionLevel() == .passcode)
        try keychain.unlock()
        #expect(try keychain.session.lockState() == .unlocked)
    }

    @Test func `The lock state is locked after a timed unlock`() throws {
        try keychain.add("a")
        try keychain.setPasscode()
        try keychain.session.lock(all: false)
        try keychain.unlock(for: .milliseconds(1))
        usleep(20_000)
        #expect(try keychain.session.lockState() == .locked)
    }

    @Test func `The lock state says that the device key is missing once it is needed`() throws {
        try keychain.add("a")
        try keychain.setPasscode()
        try FileManager.default.removeItem(atPath: keychain.folder + "/device/device.key")
        #expect(try keychain.session.lockState() == .unlocked)
        try keychain.session.lock(all: false)
        #expect(try keychain.session.lockState() == .incomplete)
        let found = try keychain.store.keychain.availability()
        #expect(found.isAvailable(.afterFirstUnlock))
        #expect(!found.isAvailable(.whenUnlocked))
        #expect(found.fault?.code == .incomplete)
    }

    @Test func `The lock state says that the device key is another keychain's`() throws {
        let other = TestKeychain()
        for one in [keychain, other] { try one.add("a") }
        try keychain.setPasscode()
        try keychain.session.lock(all: true)
        let path = keychain.folder + "/device/device.key"
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.copyItem(
            atPath: other.folder + "/device/device.key", toPath: path)
        #expect(try keychain.session.lockState() == .keyUnavailable)
    }

    @Test func `The lock state of a device key without database is incomplete`() throws {
        try keychain.add("a")
        keychain.store.close()
        for name in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: keychain.folder + "/keychain.db" + name)
        }
        #expect(try keychain.session.lockState() == .incomplete)
    }

    @Test func `The lock state of unsafe files is a failure`() throws {
        try keychain.add("a")
        keychain.store.close()
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: keychain.folder)
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try keychain.session.lockState()
        }
        #expect(failure?.code == .insecureFiles)
        #expect(KeychainFailure.last == failure)
    }

    @Test(arguments: [
        (ValetKeychain.LockState.unlocked, ProtectionClass.allCases),
        (
            .locked,
            [
                .afterFirstUnlock, .always, .afterFirstUnlockThisDeviceOnly,
                .alwaysThisDeviceOnly,
            ]
        ), (.beforeFirstUnlock, []),
    ])
    func `The lock state tells which classes are open`(
        _ state: ValetKeychain.LockState, _ classes: [ProtectionClass]
    ) throws {
        try keychain.add("a")
        try keychain.setPasscode()
        if state != .unlocked { try keychain.session.lock(all: state == .beforeFirstUnlock) }
        let found = try keychain.store.keychain.availability()
        #expect(found.state == state)
        #expect(ProtectionClass.allCases.filter(found.isAvailable) == classes)
    }
}

@Suite struct `Protection levels` {
    @Test func `Protection levels rise with the effort to get in`() {
        let levels = ValetKeychain.ProtectionLevel.allCases
        #expect(levels == levels.sorted())
        #expect(Set(levels).count == 5)
        #expect(
            levels.map(\.rawValue) == ["file", "credential", "passcode", "tpm", "tpm+passcode"])
    }
}

@Suite struct `Unlocking with a passcode` {
    @Test func `An unlock refuses a wrong, an empty and an overlong passcode`() throws {
        let keychain = try TestKeychain.withItemsAndPasscode()
        try keychain.session.lock(all: false)
        for (text, code) in [
            ("wrong", KeychainFailure.Code.authenticationFailed), ("", .invalidRequest),
            (String(repeating: "p", count: 1025), .invalidRequest),
        ] {
            let failure = #expect(throws: KeychainFailure.self) { try keychain.unlock(text) }
            #expect(failure?.code == code)
            #expect(try keychain.session.lockState() == .locked)
        }
    }

    @Test func `An unlock fails without a keychain and does nothing without a passcode`() throws {
        let keychain = TestKeychain()
        let failure = #expect(throws: KeychainFailure.self) { try keychain.unlock() }
        #expect(failure?.code == .itemNotFound)
        try keychain.add("a")
        try keychain.unlock("whatever")
        let refusal = #expect(throws: KeychainFailure.self) {
            try keychain.session.lock(all: false)
        }
        #expect(refusal?.code == .passcodeNotSet)
    }
}
