// SPDX-License-Identifier: Apache-2.0

import Testing
import ValetDatabase
import ValetKeychainModel
import ValetLockState
import ValetSealing
import ValetSecretMemory
import ValetSystem

@testable import ValetKeychainKeys
@testable import ValetKeychainRows
@testable import ValetKeychainStore

/// docs/FORMAT.md §4.4: rows whose values are sealed to a pair of keys.
@Suite struct `New keys for items that need a person` {
    let epochs: EpochStore
    let first: KeychainPasscode
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

    /// The other process's handles: what this one kept in memory is gone.
    private func forget() throws {
        epochs.store.close()
    }

    @Test func `Items that need the user follow a change of passcode`() throws {
        try epochs.store.keychain.changePasscode(first, to: EpochStore.passcode(Self.second))
        #expect(try !epochs.store.keychain.status().isRotating)
        try expectAll(Self.second)
    }

    @Test func `Items that need the user follow a rotation and need a new proof`() throws {
        let old = try epochs.passcodeProof()
        try epochs.store.keychain.rotateKeys(first)
        #expect(try !epochs.store.keychain.status().isRotating)
        #expect(epochs.read("passcode", old).isDemand)
        try expectAll()
    }

    /// Between the transaction that begins an epoch and the rows.
    @Test func `Items that need the user are read in both epochs`() throws {
        let old = try epochs.passcodeProof()
        let begun = try epochs.beginEpoch(first)
        try epochs.add(
            EpochStore.item("new", accessControls["passcode"]), "value of new")
        let proof = try epochs.passcodeProof()
        #expect(epochs.read("passcode", proof) == .value("value of passcode"))
        #expect(epochs.read("person", try epochs.fingerProof()) == .value("value of person"))
        #expect(epochs.read("new", proof) == .value("value of new"))
        #expect(epochs.read("new", old).isDemand)
        try epochs.finishEpoch(begun)
        try expectAll()
        #expect(epochs.read("new", try epochs.passcodeProof()) == .value("value of new"))
    }

    /// A kill after the first transaction: only the passcode can finish it.
    @Test func `Items that need the user wait for the passcode after an unfinished change of keys`()
        throws
    {
        try epochs.beginEpoch(first)
        try forget()
        let isDone = try epochs.store.perform(.keys, "test") { keys in
            try EpochFinisher(keychain: keys.keychain).finish(before: .never)
        }
        #expect(!isDone)
        #expect(try epochs.store.keychain.status().isRotating)
        #expect(try epochs.rowCounts() == [5, 1])
        // Writers help with what they can, and are not kept waiting by what they cannot.
        for number in 0..<3 { try epochs.add("\(number)") }
        #expect(try epochs.rowCounts() == [5, 4])
        #expect(try epochs.store.keychain.status().isRotating)
        try expectAll()
        try epochs.store.keychain.unlock(first)
        #expect(try !epochs.store.keychain.status().isRotating)
        try expectAll()
    }

    /// docs/FORMAT.md §4.7.
    @Test
    func `A change of keys that stopped early leaves nothing that opens items that need the user`()
        throws
    {
        try epochs.beginEpoch(first)
        let kept = try epochs.store.perform(.keys, "test") { keys in
            keys.keychain.takeProofForResealing()
        }
        #expect(kept == nil)
        #expect(
            epochs.code {
                try epochs.store.keychain.changePasscode(EpochStore.passcode("wrong"), to: first)
            }
                == .authenticationFailed)
        let after = try epochs.store.perform(.keys, "test") { keys in
            keys.keychain.takeProofForResealing()
        }
        #expect(after == nil)
    }

    @Test func `Items that need the user wait for the passcode in a locked keychain`() throws {
        try epochs.beginEpoch(first)
        try epochs.store.keychain.lock(all: true)
        try forget()
        #expect(epochs.read("passcode") == .failed(.locked))
        try epochs.store.keychain.unlock(first)
        #expect(try !epochs.store.keychain.status().isRotating)
        try expectAll()
    }

    @Test func `An unlock that failed does not open items that need the user`() throws {
        try epochs.beginEpoch(first)
        try forget()
        let kept = try epochs.store.perform(.keys, "test") { keys in
            let header = try keys.header()
            // Keys of another keychain are not published.
            let elsewhere = LockStateStore(
                keychainID: .random(),
                places: SharingPlaces(folder: "/nowhere", deviceFolder: "/nowhere")
            ) {
                LockStateProvider(for: LockStateProvider.Circumstances())
            }
            let failing = KeychainHeader(
                header.settings, newest: header.newest, older: header.older, at: header.location,
                lockState: elsewhere)
            let protector = try keys.protector(of: failing, first)
            #expect(throws: LockStateError.self) {
                _ = try keys.publish(
                    failing, openedBy: protector, within: .none, since: nil, .never)
            }
            return keys.keychain.takeProofForResealing()
        }
        #expect(kept == nil)
    }

    @Test func `Items that need the user can be overwritten and deleted while they wait`() throws {
        try epochs.beginEpoch(first)
        try forget()
        try epochs.set(EpochStore.item("passcode", accessControls["passcode"]), "second")
        #expect(try epochs.delete(.exact("person")) == 1)
        let proof = try epochs.passcodeProof()
        #expect(epochs.read("passcode", proof) == .value("second"))
        try epochs.store.keychain.unlock(first)
        #expect(try !epochs.store.keychain.status().isRotating)
        #expect(epochs.read("passcode", try epochs.passcodeProof()) == .value("second"))
        #expect(epochs.read("person") == .failed(.itemNotFound))
    }

    @Test func `Items that need the user are finished before the next change of keys`() throws {
        try epochs.beginEpoch(first)
        try forget()
        try epochs.store.keychain.changePasscode(first, to: EpochStore.passcode(Self.second))
        #expect(try !epochs.store.keychain.status().isRotating)
        try expectAll(Self.second)
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
        #expect(try !epochs.store.keychain.status().isRotating)
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
