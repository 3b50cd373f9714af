// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeyTestSupport
import ValetKeychainModel
import ValetKeys
import ValetSystem
import ValetTPM
import ValetTestSupport

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// spec/keys-and-states.md §2, rows D, T and Kpass; docs/FORMAT.md §4.8.
@Suite(.enabled(if: Swtpm.isThere, Swtpm.isMissing)) struct `A keychain bound to a TPM` {
    private let bound: BoundKeychain
    private let passcode: Passcode
    private let other: Passcode
    private static let classes = TestKeychain.classes.filter {
        $0 != .whenPasscodeSetThisDeviceOnly
    }
    private static let names = classes.map { "\($0)" }

    init() throws {
        bound = try BoundKeychain()
        passcode = try TestKeychain.passcode("the passcode")
        other = try TestKeychain.passcode("the other passcode")
        try bound.keychain.addItems(Self.classes)
    }

    private var store: ItemStore { bound.store }

    private func isWhole() -> Bool {
        bound.keychain.readable(of: Self.names) == Set(Self.names)
    }

    /// What needs nobody for an item that needs a person: to add, overwrite, look for, delete it.
    private func keepGuarded(_ constraints: AccessControl.Constraints) throws {
        let item = TestKeychain.item("guarded", try TestKeychain.accessControl(constraints))
        _ = try bound.keychain.add(item, "one")
        try bound.keychain.set(item, "two")
        #expect(try store.contains(.exact("guarded"), for: bound.keychain.caller))
        #expect(try bound.keychain.delete(.exact("guarded")) == 1)
    }

    // Promise: 11.7
    @Test func `A keychain bound to a TPM has its items and no device key on the disk`() throws {
        try bound.bind()
        let status = try store.keychain.status()
        #expect(status.level == .tpm && status.deviceKeySource == .tpm && status.epoch == 2)
        #expect(status.state == .noPasscode && !status.isErasePending)
        #expect(bound.deviceKeys == [])
        #expect(isWhole())
        try bound.forget()
        #expect(isWhole())
    }

    @Test func `A bound keychain is closed without its TPM and open again with it`() throws {
        try bound.bind()
        try bound.forget()
        bound.swtpm.kill()
        let failure = bound.failure { _ = try bound.keychain.value(Self.names[0]) }
        #expect(failure?.code == .keyUnavailable || failure?.code == .inputOutput)
        #expect(bound.failure { try bound.keychain.add("new") } != nil)
        try bound.swtpm.start()
        #expect(isWhole())
        #expect(try store.keychain.status().itemCount == Self.names.count)
    }

    // Promise: 17.5
    @Test func `A process asks the TPM of its keychain once`() throws {
        try bound.bind()
        try bound.forget()
        #expect(isWhole())
        let count = bound.count
        #expect(isWhole())
        try bound.keychain.add("later")
        #expect(try bound.keychain.named("later") == "value of later")
        #expect(bound.count == count)
        bound.swtpm.kill()
        #expect(isWhole())
    }

    // Promise: 17.5
    @Test func `A process does not ask the TPM while others wait for the lock`() throws {
        try bound.bind()
        try bound.forget()
        let folder = bound.keychain.folder
        // A holder of the lock keeps the TPM from nobody: here it is free whenever one is asked.
        bound.answer { _ in
            let lock = unsafe open(folder + "/keychain.lock", O_RDWR)
            defer { close(lock) }
            var request = flock()
            request.l_type = Int16(F_WRLCK)
            // F_OFD_GETLK
            unsafe _ = fcntl(lock, 36, &request)
            return request.l_type == Int16(F_UNLCK) ? .pass : .hangUp
        }
        try bound.keychain.add("written first")
        #expect(try bound.keychain.value("written first") == "value of written first")
    }

    @Test func `Where keys are shared the next program opens a bound keychain without its TPM`()
        throws
    {
        try bound.bind()
        try bound.forget()
        #expect(isWhole())
        let id = try #require(try store.keychain.status().keychainID)
        let isShared = try store.tryOnKeys("test") { keys in
            try keys.header().openedKeys.isShared
        }
        bound.swtpm.kill()
        store.close()
        #expect(isWhole() == isShared, "\(id)")
        // There is nothing to unlock; but what was shared is gone.
        try store.keychain.lock(all: true)
        store.close()
        #expect(!isWhole())
        try bound.swtpm.start()
    }

    @Test func `Binding a keychain binds its passcode`() throws {
        try store.keychain.setPasscode(passcode)
        try bound.keychain.addItems([.whenPasscodeSetThisDeviceOnly])
        try bound.bind(passcode)
        #expect(try store.keychain.status().level == .tpmAndPasscode)
        #expect(bound.deviceKeys == [])
        #expect(isWhole())
        try bound.forget()
        #expect(try bound.keychain.lockState() == .beforeFirstUnlock)
        try store.keychain.unlock(passcode)
        let names = TestKeychain.classes.map { "\($0)" }
        #expect(bound.keychain.readable(of: names) == Set(names))
    }

    // Promise: 17.5
    @Test func `An unlocked bound keychain is read without its TPM`() throws {
        try store.keychain.setPasscode(passcode)
        try bound.bind(passcode)
        try bound.forget()
        try store.keychain.unlock(passcode)
        let count = bound.count
        #expect(isWhole())
        try bound.keychain.add("later")
        for constraints in [.devicePasscode, .userPresence] as [AccessControl.Constraints] {
            try keepGuarded(constraints)
        }
        #expect(bound.count == count)
        bound.swtpm.kill()
        #expect(isWhole())
        try store.keychain.lock()
        #expect(failure { _ = try bound.keychain.value("whenUnlocked") } == .locked)
        #expect(try bound.keychain.value("afterFirstUnlock") == "value of afterFirstUnlock")
    }

    // Promise: 11.8
    @Test func `A keychain stays bound whatever becomes of its passcode`() throws {
        try bound.bind(pcrs: [16])
        try store.keychain.setPasscode(passcode)
        #expect(try store.keychain.status().level == .tpmAndPasscode)
        try bound.forget()
        try store.keychain.unlock(passcode)
        try store.keychain.changePasscode(passcode, to: other)
        #expect(try store.keychain.status().level == .tpmAndPasscode)
        try bound.forget()
        #expect(failure { try store.keychain.unlock(passcode) } == .authenticationFailed)
        try store.keychain.unlock(other)
        #expect(isWhole())
        try store.keychain.rotateKeys(other)
        try store.keychain.removePasscode(other)
        let status = try store.keychain.status()
        #expect(status.level == .tpm && status.pcrs == [16])
        try bound.forget()
        #expect(isWhole())
        #expect(bound.deviceKeys == [])
    }

    @Test(arguments: [false, true])
    func `An unbound keychain has its device key in a file again`(_ hasPasscode: Bool) throws {
        if hasPasscode { try store.keychain.setPasscode(passcode) }
        let given = hasPasscode ? passcode : nil
        try bound.bind(given)
        try store.keychain.rotateKeys(given, movingDeviceKeyTo: .ownFile)
        #expect(try store.keychain.status().level == (hasPasscode ? .passcode : .file))
        #expect(bound.deviceKeys == ["device.key"])
        try bound.forget()
        bound.swtpm.kill()
        if hasPasscode { try store.keychain.unlock(passcode) }
        #expect(isWhole())
    }

    // Promise: 11.7
    @Test func `A keychain is bound to platform registers on request`() throws {
        try bound.bind(pcrs: [16])
        try bound.forget()
        #expect(isWhole())
        try bound.forget()
        try RawTPM(bound.swtpm.socket).extend(16)
        let failure = bound.failure { _ = try bound.keychain.value(Self.names[0]) }
        #expect(failure?.code == .keyUnavailable)
        #expect(failure?.hint?.contains("valet recovery use") == true)
    }

    @Test func `Binding refuses registers that are missing, or registers without a TPM`() throws {
        #expect(failure { try bound.bind(pcrs: [24]) } == .invalidRequest)
        #expect(
            failure {
                try store.keychain.rotateKeys(nil, movingDeviceKeyTo: .ownFile, boundTo: [7])
            } == .invalidRequest)
        #expect(try store.keychain.status().epoch == 1)
    }

    @Test func `A bound keychain says what it is bound to`() throws {
        try bound.bind(pcrs: [16, 7])
        let status = try store.keychain.status()
        #expect(status.pcrs == [7, 16])
        let tpm = try #require(status.tpm)
        #expect(!tpm.hasPersistentStorageRootKey && !tpm.isLockedOut)
        #expect(tpm.triesLeft == tpm.tryLimit && tpm.tryLimit > 0)
        let findings = store.keychain.diagnose()
        #expect(findings.allSatisfy { $0.severity == .fine })
        #expect(findings.contains { $0.message.contains("bound to PCRs of the TPM: 7, 16") })
        try bound.forget()
        bound.swtpm.kill()
        #expect(store.keychain.diagnose().filter { $0.severity == .broken }.count == 1)
    }

    @Test func `A keychain is bound to the storage root key of the machine`() throws {
        try RawTPM(bound.swtpm.socket).persistStorageKey()
        try bound.bind()
        #expect(try store.keychain.status().tpm?.hasPersistentStorageRootKey == true)
        try bound.forget()
        #expect(isWhole())
    }
}
