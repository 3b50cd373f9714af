// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetDatabase
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §4.4: rows whose values are sealed to a pair of keys.
@Suite struct `New keys for items that need a person` {
    let keychain: TestKeychain
    let first: Passcode
    static let second = "second passcode"
    let accessControls: [String: AccessControl]

    init() throws {
        keychain = try TestKeychain.withPasscode()
        first = try TestKeychain.passcode(TestKeychain.passcode)
        accessControls = [
            "passcode": try TestKeychain.accessControl(
                .devicePasscode, as: .whenPasscodeSetThisDeviceOnly),
            "person": try TestKeychain.accessControl(.userPresence),
            "always": try TestKeychain.accessControl(
                .biometryAny, as: .afterFirstUnlockThisDeviceOnly),
            "fingers": try TestKeychain.accessControl(.biometryCurrentSet, [1]),
            "choice": try TestKeychain.accessControl(
                [.biometryCurrentSet, .or, .devicePasscode], [1]),
        ]
        for (account, accessControl) in accessControls {
            try keychain.add(account, accessControl)
        }
        try keychain.add("plain")
    }

    /// What can be read with both proofs; nobody else reads anything of them.
    private func expectAll(_ typed: String = TestKeychain.passcode) throws {
        let proof = try keychain.passcodeProof(typed).adding(keychain.fingerProof())
        for account in accessControls.keys {
            #expect(keychain.read(account, proof) == .value("value of \(account)"))
            #expect(keychain.read(account).isDemand)
        }
        #expect(try keychain.value("plain") == "value of plain")
        #expect(keychain.damage() == [])
    }

    // Promise: 15.1
    @Test func `Items that need the user follow a change of passcode`() throws {
        try keychain.store.keychain.changePasscode(first, to: TestKeychain.passcode(Self.second))
        try expectAll(Self.second)
    }

    // Promise: 9.1
    @Test func `Items that need the user follow a rotation and need a new proof`() throws {
        let old = try keychain.passcodeProof()
        try keychain.store.keychain.rotateKeys(first)
        #expect(keychain.read("passcode", old).isDemand)
        try expectAll()
    }

    // Promise: 15.1
    /// spec/secitem.md §10.7.
    @Test func `Items that need the user end with the passcode and are counted first`() throws {
        try keychain.add("class", as: .whenPasscodeSetThisDeviceOnly)
        #expect(try keychain.store.keychain.lossWithoutPasscode().itemCount == 6)
        try keychain.store.keychain.removePasscode(first)
        for account in accessControls.keys {
            #expect(keychain.read(account) == .failed(.itemNotFound))
        }
        #expect(try keychain.value("plain") == "value of plain")
        #expect(try keychain.store.keychain.status().itemCount == 1)
        #expect(keychain.damage() == [])
        try keychain.store.keychain.setPasscode(first)
        #expect(keychain.read("person") == .failed(.itemNotFound))
    }

    // Promise: 14.12, 15.1
    /// docs/FORMAT.md §4.6.
    @Test func `A recovery loses the items that only the passcode opens`() throws {
        let paper = try keychain.store.keychain.createRecoveryKey(first)
        try keychain.store.keychain.lock(all: true)
        // akpu and pair passcode are one item here; the pair `person` comes back.
        #expect(try keychain.store.keychain.itemsLostByRecovery().count == 1)
        #expect(try keychain.store.keychain.itemsLostByRecovery(settingPasscode: false).count == 5)
        try keychain.store.keychain.recover(
            with: paper, settingPasscode: TestKeychain.passcode(Self.second))
        let proof = try keychain.passcodeProof(Self.second)
        #expect(keychain.read("person", proof) == .value("value of person"))
        let finger = try keychain.fingerProof()
        for account in ["always", "fingers", "choice"] {
            #expect(keychain.read(account, finger) == .value("value of \(account)"))
        }
        #expect(keychain.read("passcode", proof) == .failed(.itemNotFound))
        #expect(try keychain.store.keychain.status().quarantinedRowCount == 1)
        #expect(try keychain.value("plain") == "value of plain")
    }

    // Promise: 14.12
    @Test func `A recovery without a new passcode ends the items that need the user`() throws {
        let paper = try keychain.store.keychain.createRecoveryKey(first)
        try keychain.store.keychain.recover(with: paper, settingPasscode: nil)
        #expect(try keychain.store.keychain.status().itemCount == 1)
        #expect(try keychain.value("plain") == "value of plain")
        #expect(keychain.damage() == [])
    }
}
