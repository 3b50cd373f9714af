// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import ValetDatabase
import ValetKeyTestSupport
import ValetKeychainModel
import ValetSealing
import ValetSystem
import ValetTPM
import ValetTestSupport
import ValetTestValues

@testable import ValetKeychainDatabase
@testable import ValetKeychainStore

/// spec/keys-and-states.md §5, state K: a TPM that is lost, or does not want.
@Suite(.enabled(if: Swtpm.isThere, Swtpm.isMissing)) struct `A keychain whose TPM fails it` {
    private let bound: BoundKeychain
    private let passcode: Passcode
    private let wrong: Passcode
    private static let classes = TestKeychain.classes.filter {
        $0 != .whenPasscodeSetThisDeviceOnly
    }
    private static let names = Set(classes.map { "\($0)" })
    private static let migratable = Set(classes.filter { !$0.isThisDeviceOnly }.map { "\($0)" })

    init() throws {
        bound = try BoundKeychain()
        passcode = try TestKeychain.passcode("the passcode")
        wrong = try TestKeychain.passcode("another passcode")
        try bound.keychain.addItems(Self.classes)
    }

    private var store: ItemStore { bound.store }

    private func readable() -> Set<String> { bound.keychain.readable(of: Array(Self.names)) }

    // Promise: 11.7
    @Test func `A bound keychain reports the tries that its TPM has left and its lockout`() throws {
        try store.keychain.setPasscode(passcode)
        try bound.bind(passcode)
        try bound.forget()
        try RawTPM(bound.swtpm.socket).setDictionaryAttack(limit: 4, recoverySeconds: 1000)
        let first = bound.failure { try store.keychain.unlock(wrong) }
        #expect(first?.code == .authenticationFailed)
        #expect(first?.message == "wrong passcode: the TPM allows 3 more tries")
        #expect(
            bound.failure { try store.keychain.unlock(wrong) }?.message.contains("2 more tries")
                == true)
        _ = bound.failure { try store.keychain.unlock(wrong) }
        // Fewer than half are left: nothing is tried, but on request.
        let refused = bound.failure { try store.keychain.unlock(passcode) }
        #expect(refused?.code == .keyUnavailable)
        #expect(refused?.hint?.contains("--insist") == true)
        #expect(try store.keychain.status().tpm?.triesLeft == 1)
        #expect(store.keychain.diagnose().contains { $0.severity == .warning && $0.path != nil })
        let insisting = try Passcode(
            SecretBytes(copying: Array("another passcode".utf8).span), insisting: true)
        #expect(failure { try store.keychain.unlock(insisting) } == .authenticationFailed)
        let lockedOut = bound.failure { try store.keychain.unlock(passcode) }
        #expect(lockedOut?.code == .keyUnavailable)
        #expect(lockedOut?.message.contains("1000 s") == true)
        #expect(try store.keychain.status().tpm?.isLockedOut == true)
        try RawTPM(bound.swtpm.socket).resetLockout()
        try store.keychain.unlock(passcode)
        #expect(readable() == Self.names)
    }

    enum Loss: CaseIterable {
        case cleared, replaced
    }

    private func lose(_ loss: Loss) throws {
        switch loss {
        case .cleared: try RawTPM(bound.swtpm.socket).clear()
        case .replaced:
            bound.swtpm.kill()
            try bound.replaceTPM()
        }
    }

    // Promise: 11.7
    @Test(arguments: Loss.allCases)
    func `A keychain that lost its TPM names the recovery key, which restores what may migrate`(
        _ loss: Loss
    ) throws {
        let key = try store.keychain.createRecoveryKey(nil)
        try bound.bind()
        try bound.forget()
        try lose(loss)
        let failure = bound.failure { _ = try bound.keychain.value("whenUnlocked") }
        #expect(failure?.code == .keyUnavailable)
        #expect(failure?.hint == "run `valet recovery use`")
        let status = try store.keychain.status()
        #expect(status.state == .keyUnavailable && status.needsRecovery && status.level == .tpm)
        #expect(
            try store.keychain.itemsLostByRecovery().count == Self.names.count
                - Self.migratable.count)
        try store.keychain.recover(with: key, settingPasscode: nil)
        #expect(readable() == Self.migratable)
        #expect(try store.keychain.status().level == .file)
        #expect(bound.deviceKeys == ["device.key"])
        try bound.forget()
        bound.swtpm.kill()
        #expect(readable() == Self.migratable)
    }

    @Test func `A recovery binds the keychain to the next TPM on request`() throws {
        try store.keychain.setPasscode(passcode)
        let key = try store.keychain.createRecoveryKey(passcode)
        try bound.bind(passcode)
        try bound.forget()
        try lose(.replaced)
        #expect(failure { try store.keychain.unlock(passcode) } == .keyUnavailable)
        try store.keychain.recover(with: key, settingPasscode: wrong, deviceKeyFrom: .tpm)
        #expect(try store.keychain.status().level == .tpmAndPasscode)
        try bound.forget()
        try store.keychain.unlock(wrong)
        #expect(readable() == Self.migratable)
    }

    // Promise: 11.10
    @Test func `A recovery loses nothing while the TPM is there`() throws {
        try store.keychain.setPasscode(passcode)
        let key = try store.keychain.createRecoveryKey(passcode)
        try bound.bind(passcode)
        try bound.forget()
        try store.keychain.recover(with: key, settingPasscode: wrong)
        #expect(try store.keychain.status().level == .passcode)
        #expect(readable() == Self.names)
    }

    // Promise: 11.10
    /// That it is another TPM is believed of one that answers to the end.
    @Test func `A recovery loses nothing while the TPM's identity is unknown`() throws {
        let key = try store.keychain.createRecoveryKey(nil)
        try bound.bind()
        try bound.forget()
        try lose(.replaced)
        bound.answer { _ in .pass }
        let before = bound.count
        #expect(failure { try store.keychain.checkDeviceKey() } == .keyUnavailable)
        let asked = bound.count - before
        bound.answer { $0 > asked ? .hangUp : .pass }
        let failure = bound.failure { try store.keychain.recover(with: key, settingPasscode: nil) }
        #expect(failure?.code == .keyUnavailable)
        bound.answer { _ in .pass }
        #expect(try store.keychain.status().level == .tpm)
        try store.keychain.recover(with: key, settingPasscode: nil)
        #expect(readable() == Self.migratable)
    }

    // Promise: 17.5
    @Test func `A bound keychain waits for its TPM until the deadline of the call`() throws {
        let bound = try BoundKeychain(timeLimit: .milliseconds(500))
        try bound.keychain.add("item")
        #expect(failure { try bound.bindPatiently() } == nil)
        try bound.forget()
        bound.answer { _ in .silence }
        #expect(failure { _ = try bound.keychain.value("item") } == .timedOut)
        #expect(failure { try bound.keychain.add("new") } == .timedOut)
        bound.answer { _ in .pass }
        #expect(try bound.keychain.value("item") == "value of item")
    }

    @Test func `A TPM that disappears during a call is an input or output error`() throws {
        try bound.bind()
        try bound.forget()
        bound.answer { $0 > 2 ? .hangUp : .pass }
        #expect(failure { _ = try bound.keychain.value("whenUnlocked") } == .inputOutput)
        bound.answer { _ in .pass }
        #expect(readable() == Self.names)
    }

    // Promise: 11.10
    /// A program that may not use the TPM is told so, and loses nothing.
    @Test func `A bound keychain is not given up if TPM libraries are missing`() throws {
        let key = try store.keychain.createRecoveryKey(nil)
        try bound.bind()
        try bound.forget()
        let location = KeychainLocation(
            folder: bound.keychain.folder + "/.",
            tpm: TPMDevice(
                .socket(path: bound.swtpm.socket), libraries: .init(esys: "libno-such.so.0")))
        let store = ItemStore(location, stretching: .lowest)
        #expect(failure { try store.keychain.checkDeviceKey() } == .keyUnavailable)
        let failure = bound.failure { try store.keychain.recover(with: key, settingPasscode: nil) }
        #expect(failure?.code == .keyUnavailable)
        #expect(failure?.hint?.contains("apt-get install") == true)
        store.close()
        #expect(readable() == Self.names)
    }

    // Promise: 11.10
    @Test func `A key change leaves the old or the new ones wherever the TPM disappears`()
        throws
    {
        try store.keychain.setPasscode(passcode)
        try store.keychain.lock()
        var binds = 0
        for number in 1...40 where binds == 0 {
            bound.answer { $0 >= number ? .hangUp : .pass }
            let isBound = failure { try bound.bind(passcode) } == nil
            bound.answer { _ in .pass }
            binds += isBound ? 1 : 0
            try bound.forget()
            if number % 4 == 1 || isBound {
                try store.keychain.unlock(passcode)
                #expect(readable() == Self.names, "\(number)")
                #expect(
                    try store.keychain.status().level == (isBound ? .tpmAndPasscode : .passcode))
                #expect(bound.deviceKeys == (isBound ? [] : ["device.key"]))
            }
        }
        #expect(bound.count > 12)
        if binds == 0 { try bound.bind(passcode) }
        #expect(try store.keychain.status().level == .tpmAndPasscode)
    }
}

/// Where there is no TPM to use: these need none.
@Suite struct `Binding to a TPM that is not there` {
    @Test(.enabled(if: TPMDevice.isBuilt, "needs the trait TPM"))
    func `Binding to a missing TPM fails with a hint and changes nothing`() throws {
        let keychain = TestKeychain(tpm: TPMDevice(.device(path: "/dev/no-such-tpm")))
        try keychain.add("item")
        let status = try keychain.store.keychain.status()
        let failure = #expect(throws: KeychainFailure.self) {
            try keychain.store.keychain.rotateKeys(nil, movingDeviceKeyTo: .tpm)
        }
        #expect(failure?.code == .keyUnavailable && failure?.path == "/dev/no-such-tpm")
        #expect(failure?.hint?.contains("/dev/tpmrm0") == true)
        #expect(try keychain.store.keychain.status().epoch == status.epoch)
        #expect(try keychain.value("item") == "value of item")
    }
}
