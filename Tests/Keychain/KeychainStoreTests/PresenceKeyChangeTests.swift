// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetDatabase
import ValetKeychainModel
import ValetKeys
import ValetSealing
import ValetSystem

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// docs/FORMAT.md §4.4: rows whose values are sealed to a pair of keys.
@Suite struct `New keys for items that need a person` {
    let epochs: EpochStore
    let first: Passcode
    static let second = "second passcode"
    let accessControls: [String: AccessControl]

    init() throws {
        epochs = try EpochStore.withPasscode()
        first = try EpochStore.passcode(EpochStore.typed)
        accessControls = [
            "passcode": try EpochStore.accessControl(
                .devicePasscode, as: .whenPasscodeSetThisDeviceOnly),
            "person": try EpochStore.accessControl(.userPresence),
            "always": try EpochStore.accessControl(
                .biometryAny, as: .afterFirstUnlockThisDeviceOnly),
            "fingers": try EpochStore.accessControl(.biometryCurrentSet, [1]),
            "choice": try EpochStore.accessControl(
                [.biometryCurrentSet, .or, .devicePasscode], [1]),
        ]
        for (account, accessControl) in accessControls {
            try epochs.add(account, accessControl)
        }
        try epochs.add("plain")
    }

    /// What can be read with both proofs; nobody else reads anything of them.
    private func expectAll(_ typed: String = EpochStore.typed) throws {
        let proof = try epochs.passcodeProof(typed).adding(epochs.fingerProof())
        for account in accessControls.keys {
            #expect(epochs.read(account, proof) == .value("value of \(account)"))
            #expect(epochs.read(account).isDemand)
        }
        #expect(try epochs.value("plain") == "value of plain")
        #expect(epochs.keychain.damage() == [])
    }

    @Test func `Items that need the user follow a change of passcode`() throws {
        try epochs.store.keychain.changePasscode(first, to: EpochStore.passcode(Self.second))
        try expectAll(Self.second)
    }

    @Test func `Items that need the user follow a rotation and need a new proof`() throws {
        let old = try epochs.passcodeProof()
        try epochs.store.keychain.rotateKeys(first)
        #expect(epochs.read("passcode", old).isDemand)
        try expectAll()
    }

    /// spec/secitem.md §10.7.
    @Test func `Items that need the user end with the passcode and are counted first`() throws {
        try epochs.add("class", as: .whenPasscodeSetThisDeviceOnly)
        #expect(try epochs.store.keychain.itemsThatNeedPasscode() == 6)
        try epochs.store.keychain.removePasscode(first)
        for account in accessControls.keys {
            #expect(epochs.read(account) == .failed(.itemNotFound))
        }
        #expect(try epochs.value("plain") == "value of plain")
        #expect(try epochs.store.keychain.status().itemCount == 1)
        #expect(epochs.keychain.damage() == [])
        try epochs.store.keychain.setPasscode(first)
        #expect(epochs.read("person") == .failed(.itemNotFound))
    }

    /// docs/FORMAT.md §4.6.
    @Test func `A recovery loses the items that only the passcode opens`() throws {
        let paper = try epochs.store.keychain.createRecoveryKey(first)
        try epochs.store.keychain.lock(all: true)
        // akpu and pair passcode are one item here; the pair `person` comes back.
        #expect(try epochs.store.keychain.itemsLostByRecovery().count == 1)
        #expect(try epochs.store.keychain.itemsLostByRecovery(settingPasscode: false).count == 5)
        try epochs.store.keychain.recover(
            with: paper, settingPasscode: EpochStore.passcode(Self.second))
        let proof = try epochs.passcodeProof(Self.second)
        #expect(epochs.read("person", proof) == .value("value of person"))
        let finger = try epochs.fingerProof()
        for account in ["always", "fingers", "choice"] {
            #expect(epochs.read(account, finger) == .value("value of \(account)"))
        }
        #expect(epochs.read("passcode", proof) == .failed(.itemNotFound))
        #expect(try epochs.store.keychain.status().quarantinedRowCount == 1)
        #expect(try epochs.value("plain") == "value of plain")
    }

    @Test func `A recovery without a new passcode ends the items that need the user`() throws {
        let paper = try epochs.store.keychain.createRecoveryKey(first)
        try epochs.store.keychain.recover(with: paper, settingPasscode: nil)
        #expect(try epochs.store.keychain.status().itemCount == 1)
        #expect(try epochs.value("plain") == "value of plain")
        #expect(epochs.keychain.damage() == [])
    }
}
